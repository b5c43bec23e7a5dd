"""The transaction that counts messages: it looks whether they are new, remembers them, and adds up their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qckm.collector import replay
from qckm.collector.database import Database
from qckm.collector.message_sums import DEVICES, REPORTS, TABLES, Key, Table, Vector
from qckm.collector.messages import Arrival
from qckm.collector.refusals import Reason
from qckm.collector.replay import BLOCK, Boot
from qckm.collector.settings import Settings

# Of values in one statement: PostgreSQL takes 65535, SQLite 32766.
_MOST_KEYS = 5000
# Whether a message was new, or why it was refused.
Outcome = bool | Reason


@dataclass
class _Seen:
    """What one device did in this transaction."""

    messages: int = 0
    rows: int = 0
    saturated: int = 0
    repeated: int = 0
    reports: int = 0
    wrong_clock: int = 0
    boots: dict[int, Boot] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)


def count_messages(db: Database, arrivals: Sequence[Arrival], settings: Settings, now: int) -> list[Outcome]:
    """Count messages within a transaction of the caller's; return, for each, whether it was new or why it was refused.

    Rows are locked in one order by everybody: devices, then sums, each by their keys.
    """
    devices = _look_up(db, arrivals)
    sums: dict[Table, dict[Key, Vector]] = {table: {} for table in TABLES}
    outcomes: list[Outcome] = []
    for arrival in arrivals:
        device = devices.get(arrival.device)
        outcome = Reason.UNKNOWN_DEVICE if device is None else _judge(device, arrival, settings)
        outcomes.append(outcome)
        if outcome is True and arrival.rows:
            _add(sums, arrival)
    _remember(db, devices, now)
    for table, added in sums.items():
        table.add(db, added)
    return outcomes


def _add(sums: dict[Table, dict[Key, Vector]], arrival: Arrival) -> None:
    assert arrival.total is not None  # there are rows
    table = DEVICES if arrival.setting is None else REPORTS
    key = (*arrival.cell, *(arrival.setting or ()))
    counts = (arrival.rows, arrival.saturated)[: len(table.counts)]
    total = sums[table].get(key)
    if total is None:
        sums[table][key] = np.concatenate([np.array(counts, np.int64), arrival.total])
    else:
        total[: len(counts)] += counts
        total[len(counts) :] += arrival.total


def _judge(device: _Seen, arrival: Arrival, settings: Settings) -> Outcome:
    if not replay.room_for(device.boots, arrival.boot):
        return Reason.OLD_BOOT
    boot = device.boots.get(arrival.boot)
    outcome = True if boot is None else boot.judge(arrival.sequence, arrival.mark)
    if outcome is False:
        device.repeated += 1
    if outcome is not True:
        return outcome
    boot = device.boots.setdefault(arrival.boot, Boot())
    boot.count(arrival.sequence, arrival.mark, settings.replay_window)
    device.changed.add(arrival.boot)
    device.messages += 1
    device.rows += arrival.rows
    device.saturated += arrival.saturated
    device.reports += arrival.setting is not None
    device.wrong_clock += not arrival.believed
    return True


def _look_up(db: Database, arrivals: Sequence[Arrival]) -> dict[int, _Seen]:
    """Lock the devices of some messages; return them, with their boots, and the blocks that the messages are in."""
    numbers = sorted({arrival.device for arrival in arrivals})
    devices: dict[int, _Seen] = {}
    for some in _pieces(numbers):
        among = f"IN ({', '.join('?' * len(some))})"
        locked = f"SELECT number FROM devices WHERE number {among} AND revoked IS NULL ORDER BY number{db.for_update}"
        devices |= {number: _Seen() for (number,) in db.rows(locked, some)}
        for number, boot, *told in db.rows(
            f"SELECT device, boot, top, messages, floor FROM boots WHERE device {among}", some
        ):
            if number in devices:
                devices[number].boots[boot] = Boot(*told)
    keys = sorted({(arrival.device, arrival.boot, arrival.sequence // BLOCK) for arrival in arrivals})
    for these in _pieces(keys):
        values = ", ".join(["(?, ?, ?)"] * len(these))
        for number, boot, block, marks in db.rows(
            f"SELECT device, boot, block, marks FROM seen WHERE (device, boot, block) IN (VALUES {values})",
            [part for key in these for part in key],
        ):
            if number in devices and boot in devices[number].boots:
                devices[number].boots[boot].blocks[block] = bytearray(marks)
    return devices


def _remember(db: Database, devices: dict[int, _Seen], now: int) -> None:
    boots, blocks, old_blocks, old_boots = [], [], [], []
    for number, device in devices.items():
        gone = replay.forgotten(device.boots)
        old_boots += [(number, boot) for boot in gone]
        for changed in device.changed.difference(gone):
            boot = device.boots[changed]
            boots.append((number, changed, boot.top, boot.messages, boot.floor))
            blocks += [(number, changed, block, bytes(marks)) for block, marks in boot.blocks.items()]
            old_blocks.append((number, changed, boot.floor))
    db.many(
        "UPDATE devices SET last_seen = ?, messages = messages + ?, rows = rows + ?, saturated = saturated + ?, "
        "repeated = repeated + ?, reports = reports + ?, wrong_clock = wrong_clock + ? WHERE number = ?",
        [
            (now, d.messages, d.rows, d.saturated, d.repeated, d.reports, d.wrong_clock, number)
            for number, d in devices.items()
        ],
    )
    db.many(
        "INSERT INTO boots (device, boot, top, messages, floor) VALUES (?, ?, ?, ?, ?) ON CONFLICT (device, boot) "
        "DO UPDATE SET top = excluded.top, messages = excluded.messages, floor = excluded.floor",
        boots,
    )
    db.many(
        "INSERT INTO seen (device, boot, block, marks) VALUES (?, ?, ?, ?) ON CONFLICT (device, boot, block) "
        "DO UPDATE SET marks = excluded.marks",
        blocks,
    )
    db.many(
        "DELETE FROM seen WHERE device = ? AND boot = ? AND block < ?",
        [(number, boot, floor) for number, boot, floor in old_blocks if floor],
    )
    db.many("DELETE FROM seen WHERE device = ? AND boot = ?", old_boots)
    db.many("DELETE FROM boots WHERE device = ? AND boot = ?", old_boots)


def _pieces(keys: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (keys[at : at + _MOST_KEYS] for at in range(0, len(keys), _MOST_KEYS))
