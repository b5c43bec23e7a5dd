"""Sums of messages as the store keeps them, and what is taken out of them. Each is a vector: counts, then M sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from qckm.collector import schema
from qckm.collector.database import Database
from qckm.collector.parts import note_withdrawal
from qckm.collector.refusals import Reason, Refused
from qckm.collector.windows import Asked, Cell, group_of, show_time

Vector = npt.NDArray[np.int64]
Key = tuple[Any, ...]
_PIECE = 500  # sums that are read at a time


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
            found = db.one(f"SELECT total FROM {self.name} WHERE {match}{db.for_update}", key)
            assert found is not None
            total = (_integers(found[0]) + added).astype("<i8").tobytes()
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
        for piece in db.stream(
            f"SELECT {', '.join(self.counts)}, total FROM {self.name} WHERE {where}", _PIECE, values
        ):
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
