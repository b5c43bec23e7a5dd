"""What comes out of a store: the sketch of a span of time and a group, whole windows only, or a private one of it."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import Any

import numpy as np

from qckm.collector import schema
from qckm.collector.counting import DEVICES, REPORTS, TABLES, Vector
from qckm.collector.database import Database
from qckm.collector.refusals import Reason, Refused
from qckm.collector.settings import Settings
from qckm.collector.windows import OF_CELL, Asked, Cell, show_time
from qckm.privacy.local import debiased
from qckm.privacy.release import release
from qckm.sketch import Sketch, SketchOperator, files
from qckm.sketch.columns import unknown_bounds
from qckm.sketch.ledger import Ledger

OF_ROWS = ("device_sums", "part_sums")  # reports are no rows
_PIECE = 500  # sketches that are read at a time


def require_whole(db: Database, asked: Asked) -> None:
    """Refuse a span that cuts a window in two: its rows cannot be told apart."""
    for table in (*(table.name for table in TABLES), "part_sums"):
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
    for piece in db.stream(f"SELECT sketch FROM part_sums WHERE {where}", _PIECE, values):
        for (data,) in piece:
            total = total + files.loads(bytes(data))
    return total + _of_messages(operator, DEVICES.total(db, where, values))


def _of_messages(operator: SketchOperator, total: Vector | None) -> Sketch:
    if total is None:
        return operator.empty()
    rows, saturated = total[:2]
    return Sketch(operator, total[2:], int(rows), int(saturated), unknown_bounds(operator.n_features))


def private_sketch_of(db: Database, operator: SketchOperator, asked: Asked) -> Sketch:
    """Return the sum of the private reports within what is asked for, all of one ε."""
    require_whole(db, asked)
    sums = REPORTS.read(db, *asked.where)
    settings = {key[3:] for key in sums}
    if len(settings) != 1:
        words = "none" if not settings else f"reports of {len(settings)} different ε, which do not add up"
        raise Refused(Reason.NOT_FOUND, f"Expected private reports of one ε, got {words}: ask for a shorter span.")
    ((kept, bits),) = settings
    reports, *_ = total = np.sum(list(sums.values()), axis=0)
    # A device spends with every report. How many fell into this span is not kept; all that it ever sent are no fewer.
    most = int(db.value("SELECT max(reports) FROM devices") or 1)
    # Windows have names, so that nobody adds the same ones twice.
    store = schema.meta(db, "store")
    names = sorted(hashlib.sha256(f"{store} {key[:3]}".encode()).hexdigest()[:16] for key in sums)
    return debiased(operator, total[1:], int(reports), kept, bits, reports_per_device=most, names=names)


def cells_of(db: Database, asked: Asked) -> dict[Cell, int]:
    """Return the windows within what is asked for, with their rows."""
    where, values = asked.where
    found: dict[Cell, int] = {}
    for table in OF_ROWS:
        for grp, start, span, rows in db.rows(f"SELECT grp, start, span, rows FROM {table} WHERE {where}", values):
            found[Cell(grp, start, span)] = found.get(Cell(grp, start, span), 0) + rows
    return dict(sorted(found.items()))


def sketch_of_cell(db: Database, operator: SketchOperator, cell: Cell) -> Sketch:
    """Return the sum of one window of one group, and of nothing below it."""
    found = db.value(f"SELECT sketch FROM part_sums WHERE {OF_CELL}", cell)
    of_parts = operator.empty() if found is None else files.loads(bytes(found))
    return of_parts + _of_messages(operator, DEVICES.total(db, OF_CELL, cell))


# What may be said of a release, as in `qckm.privacy.release`.
WISHES = ("epsilon", "delta", "rho", "mechanism", "neighbours", "rows_per_person", "operator_is_public")


def release_span(
    db: Database, operator: SketchOperator, settings: Settings, asked: Asked, wishes: dict[str, Any], now: int
) -> bytes:
    """Return a private sketch of a span and a group, as a file, and write down what it has spent.

    Whatever was released before may be of the same rows, so all that it spent is counted in.
    """
    unknown = set(wishes) - set(WISHES)
    if unknown:
        raise Refused(Reason.BAD_REQUEST, f"Expected of a release {', '.join(WISHES)}, got {min(unknown)!r:.40}.")
    if not isinstance(wishes.get("operator_is_public", False), bool):  # "no" must not pass for true
        raise Refused(Reason.BAD_REQUEST, "Expected operator_is_public to be true or false.")
    db.execute("INSERT INTO jobs (name, due) VALUES ('release', 0) ON CONFLICT (name) DO NOTHING")
    db.one(f"SELECT due FROM jobs WHERE name = 'release'{db.for_update}")  # one at a time, whichever collector it is
    spent = [Ledger.from_facts(json.loads(text)) for (text,) in db.rows("SELECT ledger FROM releases")]
    private = release(sketch_of(db, operator, asked), after=spent, **wishes)
    assert private.ledger is not None
    if private.ledger.rho > settings.rho:
        before = max((ledger.rho for ledger in spent), default=0.0)
        raise Refused(
            Reason.BUDGET,
            f"The budget is ρ = {settings.rho:g}, of which {before:.6g} is spent: this release would make it "
            f"{private.ledger.rho:.6g}.",
        )
    told = {"from": asked.begin, "to": asked.end, "group": asked.group, **wishes}
    db.execute(
        "INSERT INTO releases (id, at, asked, ledger) VALUES (?, ?, ?, ?)",
        (uuid.uuid4().hex, now, json.dumps(told), json.dumps(private.ledger.as_facts())),
    )
    return files.dumps(private)
