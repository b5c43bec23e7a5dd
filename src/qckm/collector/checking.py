"""Whether a store agrees with itself: sums are made anew from what they are sums of, and compared."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from qckm.collector import parts, schema
from qckm.collector.database import Database
from qckm.collector.message_sums import DEVICES
from qckm.collector.windows import OF_CELL, Cell, show_time
from qckm.errors import QckmError
from qckm.sketch import Sketch, SketchOperator, files
from qckm.sketch.bounds import unknown


def check(db: Database) -> Iterator[str]:
    """Yield what is wrong with a store, as sentences; look at one state of it, whatever is written meanwhile."""
    with db.reading():
        operator = schema.load_operator(db)
        yield from _check_parts(db, operator)
        yield from _check_messages(db, operator)
        yield from _check_boots(db)


def _check_parts(db: Database, operator: SketchOperator) -> Iterator[str]:
    cells = {
        Cell(*row[:3])
        for table in ("parts WHERE state <> 'withdrawn'", "part_sums")
        for row in db.rows(f"SELECT DISTINCT grp, start, span FROM {table}")
    }
    closed = {Cell(*row) for row in db.rows("SELECT DISTINCT grp, start, span FROM parts WHERE state = 'closed'")}
    for cell in sorted(cells):
        where = f"{cell.group}, {show_time(cell.start)}"
        found = db.one(f"SELECT rows, sketch FROM part_sums WHERE {OF_CELL}", cell)
        told = db.one(f"SELECT coalesce(sum(rows), 0) FROM parts WHERE {OF_CELL} AND state <> 'withdrawn'", cell)
        rows = 0 if found is None else int(found[0])
        expected = int(told[0]) if told else 0
        forgotten = found is None and cell in closed  # windows may be kept less long than names
        if rows != expected and not forgotten:
            yield f"{where}: the parts have {expected} rows, their sum {rows}."
        if found is None or cell in closed:
            continue
        try:
            again, total = parts.sum_of_parts(db, cell, operator), files.loads(bytes(found[1]))
        except QckmError as error:
            yield f"{where}: {error}"
            continue
        if files.dumps(again) != files.dumps(total):
            yield f"{where}: the sum of {again.count} rows, made anew from the parts, differs from the one kept."


def _check_messages(db: Database, operator: SketchOperator) -> Iterator[str]:
    for (grp, start, _), (rows, saturated, *sums) in DEVICES.read(db, "1 = 1", ()).items():
        try:
            total = np.array(sums, np.int64)
            Sketch(operator, total, int(rows), int(saturated), unknown(operator.n_features)).require_consistent()
        except (QckmError, ValueError) as error:
            yield f"{grp}, {show_time(start)}: messages: {error}"
    kept = db.one("SELECT coalesce(sum(rows), 0) FROM device_sums")
    reports = db.one("SELECT coalesce(sum(reports), 0) FROM report_sums")
    sent = db.one("SELECT coalesce(sum(rows), 0) FROM devices")
    taken = sum(rows for what, rows in db.rows("SELECT what, rows FROM withdrawals") if "part" not in json.loads(what))
    there = sum(int(found[0]) for found in (kept, reports) if found) + taken
    expected = int(sent[0]) if sent else 0
    if there > expected or (there < expected and schema.meta(db, "forgets") is None):
        yield f"Devices have sent {expected} rows; {there - taken} are in windows and {taken} were withdrawn."


def _check_boots(db: Database) -> Iterator[str]:
    for device, boot, top, messages in db.rows(
        "SELECT device, boot, top, messages FROM boots WHERE messages > top + 1"
    ):
        yield f"Device {device}, boot {boot}: {messages} messages were counted up to sequence {top}: one twice."
