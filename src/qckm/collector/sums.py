"""What comes out of a store: the sketch of a span of time and a group, whole windows only."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from qckm.collector import schema
from qckm.collector.database import Database
from qckm.collector.refusals import Reason, Refused
from qckm.collector.windows import Cell, show_time
from qckm.privacy.local import debiased
from qckm.sketch import Sketch, SketchOperator, files
from qckm.sketch.bounds import unknown

_FOREVER = 1 << 62


@dataclass(frozen=True)
class Asked:
    """A span of time, from its first second to the one after its last, and a group with all that is below it."""

    begin: int = 0
    end: int = _FOREVER
    group: str = ""

    @property
    def where(self) -> tuple[str, list[Any]]:
        """A condition for windows that lie within, and its values."""
        sql, values = "start >= ? AND start + span <= ?", list[Any]((self.begin, self.end))
        if self.group:
            sql += " AND (grp = ? OR substr(grp, 1, ?) = ?)"
            values += [self.group, len(self.group) + 1, self.group + "/"]
        return sql, values


def require_whole(db: Database, asked: Asked) -> None:
    """Refuse a span that cuts a window in two: its rows cannot be told apart."""
    for table in ("device_sums", "part_sums", "report_sums"):
        for begin, edge in ((True, asked.begin), (False, asked.end)):
            found = db.one(
                f"SELECT start, span FROM {table} WHERE start < ? AND start + span > ? ORDER BY span DESC", (edge, edge)
            )
            if found is not None:
                start, span = found
                raise Refused(
                    Reason.BAD_REQUEST,
                    f"The window from {show_time(start)} to {show_time(start + span)} is kept as one: expected "
                    f"{'from' if begin else 'to'} to be one of these, got {show_time(edge)}.",
                )


def sketch_of(db: Database, operator: SketchOperator, asked: Asked) -> Sketch:
    """Return the sum of all rows, of parts and of messages, within what is asked for."""
    require_whole(db, asked)
    where, values = asked.where
    total = operator.empty()
    for (data,) in db.rows(f"SELECT sketch FROM part_sums WHERE {where} ORDER BY grp, start, span", values):
        total = total + files.loads(bytes(data))
    return total + _of_messages(
        operator, db.rows(f"SELECT rows, saturated, total FROM device_sums WHERE {where}", values)
    )


def _of_messages(operator: SketchOperator, rows: list[tuple[Any, ...]]) -> Sketch:
    count, saturated = sum(row[0] for row in rows), sum(row[1] for row in rows)
    if not count:
        return operator.empty()
    total = np.zeros(operator.n_measurements, np.int64)
    for row in rows:
        total += np.frombuffer(bytes(row[2]), "<i8")
    return Sketch(operator, total, count, saturated, unknown(operator.n_features))


def private_sketch_of(db: Database, operator: SketchOperator, asked: Asked) -> Sketch:
    """Return the sum of the private reports within what is asked for, all of one ε."""
    require_whole(db, asked)
    where, values = asked.where
    rows = db.rows(f"SELECT kept, bits, reports, total, grp, start, span FROM report_sums WHERE {where}", values)
    settings = {row[:2] for row in rows}
    if len(settings) != 1:
        words = "none" if not settings else f"reports of {len(settings)} different ε, which do not add up"
        raise Refused(Reason.NOT_FOUND, f"Expected private reports of one ε, got {words}: ask for a shorter span.")
    ((kept, bits),) = settings
    total = np.sum([np.frombuffer(bytes(row[3]), "<i8") for row in rows], axis=0)
    # A device spends with every report. How many fell into this span is not kept; all that it ever sent are no fewer.
    found = db.one("SELECT max(reports) FROM devices")
    most = 1 if found is None or not found[0] else int(found[0])
    # Windows have names, so that nobody adds the same ones twice.
    store = schema.meta(db, "store")
    names = sorted(hashlib.sha256(f"{store} {row[4:]}".encode()).hexdigest()[:16] for row in rows)
    return debiased(operator, total, sum(row[2] for row in rows), kept, bits, reports_per_device=most, names=names)


def cells_of(db: Database, asked: Asked) -> dict[Cell, int]:
    """Return the windows within what is asked for, with their rows."""
    where, values = asked.where
    found: dict[Cell, int] = {}
    for table in ("device_sums", "part_sums"):
        for grp, start, span, rows in db.rows(f"SELECT grp, start, span, rows FROM {table} WHERE {where}", values):
            found[Cell(grp, start, span)] = found.get(Cell(grp, start, span), 0) + rows
    return dict(sorted(found.items()))


def sketch_of_cell(db: Database, operator: SketchOperator, cell: Cell) -> Sketch:
    """Return the sum of one window of one group, and of nothing below it."""
    key = (cell.group, cell.start, cell.span)
    match = "grp = ? AND start = ? AND span = ?"
    found = db.one(f"SELECT sketch FROM part_sums WHERE {match}", key)
    of_parts = operator.empty() if found is None else files.loads(bytes(found[0]))
    return of_parts + _of_messages(
        operator, db.rows(f"SELECT rows, saturated, total FROM device_sums WHERE {match}", key)
    )
