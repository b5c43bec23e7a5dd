"""Sums of messages as the store keeps them. As numbers each is one vector: its counts, then its M sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from qckm.collector.database import Database

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
