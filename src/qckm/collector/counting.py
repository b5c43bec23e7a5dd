"""Messages in a store: the transaction that counts them, the sums of their rows, and what is taken out of these.

A sum is a vector: counts, then M sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from qckm.collector import schema
from qckm.collector.database import Database
from qckm.collector.messages import BLOCK, Arrival, Boot, forgotten, room_for
from qckm.collector.parts import note_withdrawal
from qckm.collector.refusals import Reason, Refused
from qckm.collector.settings import Settings
from qckm.collector.windows import Asked, Cell, group_of, show_time
from qckm.common.arrays import Int64s

Vector = Int64s
Key = tuple[Any, ...]
# Whether a message was new, or why it was refused.
Outcome = bool | Reason
_PIECE = 500  # sums that are read at a time
_MOST_KEYS = 5000  # of which the values are in one statement: PostgreSQL takes 65535, SQLite 32766


@dataclass(frozen=True)
class Table:
    """One kind of sums."""

    name: str
    keys: tuple[str, ...]
    counts: tuple[str, ...]

    def add(self, db: Database, sums: Mapping[Key, Vector]) -> None:
        """Add to sums within a transaction. Everybody locks them in the order of their keys."""
        match = " AND ".join(f"{name} = ?" for name in self.keys)
        columns = (*self.keys, *self.counts, "total")
        sets = ", ".join(f"{name} = {name} + ?" for name in self.counts)
        for key in sorted(sums):
            counts, added = np.split(sums[key], [len(self.counts)])
            db.execute(
                f"INSERT INTO {self.name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
                f"ON CONFLICT ({', '.join(self.keys)}) DO NOTHING",
                [*key, *([0] * len(counts)), bytes(added.nbytes)],
            )
            found = db.value(f"SELECT total FROM {self.name} WHERE {match}{db.for_update}", key)
            total = (_integers(found) + added).astype("<i8").tobytes()
            db.execute(f"UPDATE {self.name} SET {sets}, total = ? WHERE {match}", [*counts.tolist(), total, *key])

    def read(self, db: Database, where: str, values: Sequence[Any]) -> dict[Key, Vector]:
        """Return the sums that meet a condition."""
        columns = ", ".join((*self.keys, *self.counts, "total"))
        rows = db.rows(f"SELECT {columns} FROM {self.name} WHERE {where} ORDER BY {', '.join(self.keys)}", values)
        at = len(self.keys)
        return {row[:at]: np.concatenate([np.array(row[at:-1], np.int64), _integers(row[-1])]) for row in rows}

    def total(self, db: Database, where: str, values: Sequence[Any]) -> Vector | None:
        """Return what the sums that meet a condition add up to, if there are any; they need not fit in memory."""
        total: Vector | None = None
        query = f"SELECT {', '.join(self.counts)}, total FROM {self.name} WHERE {where}"
        for piece in db.stream(query, _PIECE, values):
            counts = np.sum([row[:-1] for row in piece], axis=0, dtype=np.int64)
            added = np.concatenate([counts, np.sum([_integers(row[-1]) for row in piece], axis=0)])
            total = added if total is None else total + added
        return total

    def take(self, db: Database, where: str, values: Sequence[Any]) -> dict[Key, Vector]:
        """Return the sums that meet a condition, and remove them; the caller has locked the table."""
        found = self.read(db, where, values)
        db.execute(f"DELETE FROM {self.name} WHERE {where}", values)
        return found


def _integers(data: bytes) -> Vector:
    return np.frombuffer(bytes(data), "<i8").astype(np.int64, copy=False)


CELL: Final = ("grp", "start", "span")
DEVICES: Final = Table("device_sums", CELL, ("rows", "saturated"))
# Private reports add up where they kept their bits with the same chance, in 2³²ths, and have as many of them.
REPORTS: Final = Table("report_sums", (*CELL, "kept", "bits"), ("reports",))
TABLES: Final = (DEVICES, REPORTS)


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
    if not room_for(device.boots, arrival.boot):
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
        starts = f"SELECT device, boot, top, messages, floor FROM boots WHERE device {among}"
        for number, boot, *told in db.rows(starts, some):
            if number in devices:
                devices[number].boots[boot] = Boot(*told)
    keys = sorted({(arrival.device, arrival.boot, arrival.sequence // BLOCK) for arrival in arrivals})
    for these in _pieces(keys):
        values = ", ".join(["(?, ?, ?)"] * len(these))
        known = f"SELECT device, boot, block, marks FROM seen WHERE (device, boot, block) IN (VALUES {values})"
        for number, boot, block, marks in db.rows(known, [part for key in these for part in key]):
            if number in devices and boot in devices[number].boots:
                devices[number].boots[boot].blocks[block] = bytearray(marks)
    return devices


def _remember(db: Database, devices: dict[int, _Seen], now: int) -> None:
    boots, blocks, old_blocks, old_boots = [], [], [], []
    for number, device in devices.items():
        gone = forgotten(device.boots)
        old_boots += [(number, boot) for boot in gone]
        for changed in device.changed.difference(gone):
            boot = device.boots[changed]
            boots.append((number, changed, boot.top, boot.messages, boot.floor))
            blocks += [(number, changed, block, bytes(marks)) for block, marks in boot.blocks.items()]
            if boot.floor:
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
    db.many("DELETE FROM seen WHERE device = ? AND boot = ? AND block < ?", old_blocks)
    db.many("DELETE FROM seen WHERE device = ? AND boot = ?", old_boots)
    db.many("DELETE FROM boots WHERE device = ? AND boot = ?", old_boots)


def _pieces(keys: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (keys[at : at + _MOST_KEYS] for at in range(0, len(keys), _MOST_KEYS))


@dataclass(frozen=True)
class Withdrawal:
    """What was taken out, and which windows the span only touches, that were left as they are."""

    rows: int
    windows: int
    untouched: tuple[str, ...]


def withdraw(db: Database, asked: Asked, device: int | None, sender: str, now: int) -> Withdrawal:
    """Take out what all devices of a group sent within a span, or a device that is a group of its own."""
    if device is not None:
        asked = replace(asked, group=_group_of_one(db, device), below=False)
    elif not asked.group:
        raise Refused(Reason.BAD_REQUEST, "Expected the name of a group.")
    db.lock(*(table.name for table in TABLES))
    where, values = Asked(group=asked.group, below=asked.below).where
    meets = f"{where} AND start < ? AND start + span > ?"
    touched: set[Cell] = set()
    inside: set[Cell] = set()
    rows = 0
    for table in TABLES:
        touched |= {Cell(*key[:3]) for key in table.read(db, meets, [*values, asked.end, asked.begin])}
        taken = table.take(db, *asked.where)
        inside |= {Cell(*key[:3]) for key in taken}
        rows += sum(int(total[0]) for total in taken.values())
    left = tuple(f"{cell.group}, {show_time(cell.start)} to {show_time(cell.end)}" for cell in sorted(touched - inside))
    if rows:
        what = {"group": asked.group} if device is None else {"device": device}
        span = {"from": show_time(min(cell.start for cell in inside)), "to": show_time(max(c.end for c in inside))}
        note_withdrawal(db, {**what, **span}, rows, sender, now)
    return Withdrawal(rows, len(inside), left)


def _group_of_one(db: Database, number: int) -> str:
    """Return the group of a device that has it for itself: within the sum of a group, nobody can tell it apart."""
    names: dict[int, str] = dict(db.rows("SELECT number, name FROM devices"))
    if number not in names:
        raise Refused(Reason.NOT_FOUND, f"Expected the number of a device, got {number}.")
    depth = int(schema.meta(db, "group_depth") or 1)
    group = group_of(names[number], depth)
    others = sum(group_of(name, depth) == group for name in names.values()) - 1
    if others:
        raise Refused(
            Reason.BAD_REQUEST,
            f"{names[number]} is in group {group} with {others} other device(s), and only the group's sums are kept: "
            "its rows cannot be told apart. Withdraw the group for that span, or keep deeper groups (--group-depth) in "
            "a new store.",
        )
    return group
