"""A fleet that does not exist, for trying a collector: sensors in halls, shops with a file a night, and their troubles.

It sends some days of the past first, so that there is something to see, and then as time goes by. Some messages come
twice, some are forged, one hall's rows change on the second last day.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from qckm.collector import schema, senders
from qckm.collector.client import Client
from qckm.collector.database import Database
from qckm.collector.senders import Device
from qckm.collector.settings import DAY, HOUR
from qckm.collector.windows import show_time
from qckm.common.arrays import Floats
from qckm.errors import CollectorError
from qckm.sensor import signed, wire
from qckm.sketch import SketchOperator, files

_CLUSTERS = 5
_HALLS = ("aachen", "bergen", "cork")
# Rows of a message of the past, of a live one, and of a shop's day, at most.
_ROWS, _LIVE_ROWS, _ROWS_OF_A_SHOP = 400, 5, 4000
_BATCH = 200
_REPEATED, _FORGED = 0.05, 0.002
# How often a device sends: in the past every so many hours, at night less; live every so many seconds.
_EVERY, _LIVE_EVERY = 3, 30


class _World:
    """Where rows come from: clusters, in proportions that may change."""

    def __init__(self, operator: SketchOperator, seed: int) -> None:
        rng, shape = np.random.default_rng(seed), (_CLUSTERS, operator.n_features)
        if operator.ranges is None:
            units = operator.units * (operator.scale or 1.0)
            self.centers, self.width = operator.origin + 3 * units * rng.normal(size=shape), 0.7 * units
        else:
            lower, upper = operator.ranges
            self.centers = lower + rng.uniform(0.15, 0.85, shape) * (upper - lower)
            self.width = 0.05 * (upper - lower)
        self.shares = np.random.default_rng(seed).dirichlet(np.full(_CLUSTERS, 8.0))

    def rows(self, rng: np.random.Generator, count: int, changed: bool = False) -> Floats:
        """Draw rows; where something has changed, one kind has become rare and another frequent."""
        shares = self.shares.copy()
        if changed:
            shares[0], shares[1] = shares[0] + 0.8 * shares[1], 0.2 * shares[1]
        kinds = rng.choice(_CLUSTERS, count, p=shares)
        rows: Floats = self.centers[kinds] + self.width * rng.normal(size=(count, self.centers.shape[1]))
        return rows


class Fleet:
    """Devices and shops that send to a collector; they are registered in its store first."""

    def __init__(self, store: str, url: str, devices: int, shops: int, seed: int = 0) -> None:
        with Database(store) as db:
            self.operator = schema.load_operator(db)
            if not self.operator.signature.is_one_bit:
                raise CollectorError("Expected an operator of one bit per measurement, as sensors have.")
            now = int(time.time())
            names = [f"{_HALLS[i % len(_HALLS)]}/press-{i}" for i in range(devices)]
            rows = db.rows("SELECT number, name, key FROM devices")
            known = {name: Device(number, name, bytes(key)) for number, name, key in rows}
            new = [name for name in names if name not in known]
            known |= {device.name: device for device in senders.create_devices(db, new, None, None, now)}
            token = senders.create_token(db, "simulator", ["send", "relay"], ["*"], now)
        self.devices = [known[name] for name in names]
        self.shops = [f"shop-{i:02}" for i in range(shops)]
        self.client = Client(url, token)
        self.world, self.rng = _World(self.operator, seed), np.random.default_rng(seed)
        self.boot, self.sequences = now, dict.fromkeys(names, 0)
        self.rows = 0

    def message(self, device: Device, at: int, count: int, changed: bool) -> bytes:
        """Return a device's next message, of so many rows."""
        rows = self.world.rows(self.rng, count, changed)
        sequence = self.sequences[device.name]
        self.sequences[device.name] += 1
        self.rows += count
        made = wire.counters_message(self.operator.sketch(rows).without_column_sums(), device.number, sequence)
        return signed.dumps(replace(made, boot=self.boot, time=at), device.key)

    def send(self, sent: list[bytes]) -> None:
        """Send messages as a gateway does, not in order, some twice, some forged."""
        again = [each for each in sent if self.rng.random() < _REPEATED]
        forged = [each[:-1] + bytes([each[-1] ^ 1]) for each in sent if self.rng.random() < _FORGED]
        messages = [*sent, *again, *forged]
        order = self.rng.permutation(len(messages))
        for at in range(0, len(order), _BATCH):
            self.client.post_messages(b"".join(messages[i] for i in order[at : at + _BATCH]))

    def send_shops(self, day: int) -> None:
        """Send each shop's file of a day."""
        for shop in self.shops:
            rows = self.world.rows(self.rng, int(self.rng.integers(_ROWS_OF_A_SHOP // 2, _ROWS_OF_A_SHOP)))
            self.rows += len(rows)
            self.client.put_part(f"{shop}/{show_time(day)}", files.dumps(self.operator.sketch(rows)))

    def past(self, days: int, now: int) -> Iterator[str]:
        """Send what would have come in some days before today, and today up to this hour; yield the days."""
        today = now - now % DAY
        for day in range(today - days * DAY, today + 1, DAY):
            if day < today:
                self.send_shops(day)
            for hour in range(min(24, (now - day) // HOUR)):
                at, awake = day + hour * HOUR, (0.6 + 0.4 * np.sin((hour - 7) / 24 * 2 * np.pi)) / _EVERY
                busy = [device for device in self.devices if self.rng.random() < awake]
                self.send([self.message(device, at, _ROWS, self._changed(device, at, today)) for device in busy])
            yield show_time(day)

    def live(self, seconds: float) -> None:
        """Send as time goes by, each device twice a minute, until so many seconds have passed."""
        today = int(time.time()) // DAY * DAY
        until, turn = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            began = time.monotonic()
            some = self.devices[turn % _LIVE_EVERY :: _LIVE_EVERY]
            now = int(time.time())
            self.send([self.message(device, now, _LIVE_ROWS, self._changed(device, now, today)) for device in some])
            turn += 1
            time.sleep(max(0.0, min(began + 1, until) - time.monotonic()))

    def _changed(self, device: Device, at: int, today: int) -> bool:
        return device.name.startswith(_HALLS[1]) and at >= today - 2 * DAY


def simulate(
    store: str, url: str, devices: int, shops: int, days: int, seconds: float, seed: int, say: Callable[[str], None]
) -> int:
    """Run a fleet; return how many rows it has sent."""
    fleet = Fleet(store, url, devices, shops, seed)
    for day in fleet.past(days, int(time.time())):
        say(f"{day}: {fleet.rows:,} rows so far")
    if seconds:
        say(f"live: {len(fleet.devices)} devices; Ctrl-C ends it")
        fleet.live(seconds)
    return fleet.rows
