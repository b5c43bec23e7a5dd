"""What is done to a store as a whole.

Now and then, hours become days, and sketches of old parts and old windows are forgotten, exactly once. When somebody
asks, sums are made anew from what they are sums of, and compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from qckm.collector import parts, schema
from qckm.collector.counting import DEVICES, TABLES, Key, Vector
from qckm.collector.database import Database
from qckm.collector.settings import DAY, Settings
from qckm.collector.windows import OF_CELL, Asked, Cell, days_ago, forgotten_before, rolled_up_before, show_time
from qckm.errors import QckmError
from qckm.sketch import Sketch, SketchOperator, files
from qckm.sketch.columns import unknown_bounds

# A clock that is this far from where it was an hour ago has leapt, or nobody was there to look at it.
_LEAP = DAY


def is_due(db: Database, job: str, now: int, every: int) -> bool:
    """Whether a job is to be done now, by us: of several collectors that ask, one gets to hear yes.

    A time that lies further ahead than the next turn was set by a clock that was wrong.
    """
    with db.writing():
        db.execute("INSERT INTO jobs (name, due) VALUES (?, 0) ON CONFLICT (name) DO NOTHING", (job,))
        due = now - now % every + every
        sql = "UPDATE jobs SET due = ? WHERE name = ? AND (due <= ? OR due > ?)"
        return db.execute(sql, (due, job, now, due + every)) > 0


def is_steady(db: Database, now: int) -> bool:
    """Whether the clock has gone on for a day without a leap: one that leaps a year ahead must not age what is kept."""
    with db.writing():
        for name in ("clock", "steady"):
            db.execute("INSERT INTO jobs (name, due) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (name, now))
        db.execute(
            "UPDATE jobs SET due = ? WHERE name = 'steady' AND EXISTS "
            "(SELECT 1 FROM jobs WHERE name = 'clock' AND (due < ? OR due > ?))",
            (now, now - _LEAP, now + _LEAP),
        )
        db.execute("UPDATE jobs SET due = ? WHERE name = 'clock'", (now,))
        return int(db.value("SELECT due FROM jobs WHERE name = 'steady'")) <= now - _LEAP


def roll_up(db: Database, operator: SketchOperator, settings: Settings, now: int) -> int:
    """Add up hours of long ago to days, each day of a group in a transaction; return how many days were made."""
    before = rolled_up_before(now, settings)
    days: set[tuple[str, int]] = set()
    for table in (*(table.name for table in TABLES), "parts"):
        rows = db.rows(f"SELECT DISTINCT grp, start FROM {table} WHERE span < ? AND start < ?", (DAY, before))
        days |= {(grp, start - start % DAY) for grp, start in rows}
    for grp, start in sorted(days):
        with db.writing():
            # In the order in which others lock them.
            db.lock(*(table.name for table in TABLES), "parts", "part_sums")
            day = Cell(grp, start, DAY)
            _roll_up_messages(db, day)
            _roll_up_parts(db, operator, day)
    return len(days)


_WITHIN = "grp = ? AND start >= ? AND start + span <= ?"


def _roll_up_messages(db: Database, day: Cell) -> None:
    for table in TABLES:
        sums: dict[Key, Vector] = {}
        for (_, _, _, *setting), total in table.take(db, _WITHIN, (day.group, day.start, day.end)).items():
            key = (*day, *setting)
            sums[key] = sums[key] + total if key in sums else total
        table.add(db, sums)


def _roll_up_parts(db: Database, operator: SketchOperator, day: Cell) -> None:
    within = (day.group, day.start, day.end)
    total = operator.empty()
    for (data,) in db.rows(f"SELECT sketch FROM part_sums WHERE {_WITHIN} ORDER BY start", within):
        total = total + files.loads(bytes(data))
    db.execute(f"DELETE FROM part_sums WHERE {_WITHIN}", within)
    db.execute(f"UPDATE parts SET start = ?, span = ? WHERE {_WITHIN}", (day.start, day.span, *within))
    if total.count:
        parts.write_sum(db, day, total)


def close_parts(db: Database, settings: Settings, now: int) -> int:
    """Forget the sketches of parts of windows of long ago; their names and sums stay. Return how many."""
    close = "UPDATE parts SET state = ?, sketch = NULL WHERE state = ? AND start + span <= ?"
    with db.writing():
        return db.execute(close, (parts.CLOSED, parts.KEPT, days_ago(settings.keep_parts, now)))


def forget_windows(db: Database, settings: Settings, now: int) -> int:
    """Forget windows of very long ago, if that is wanted; names of parts stay, so that none counts twice."""
    before = forgotten_before(now, settings)
    if before <= 0:
        return 0
    where, values = Asked(end=before).where
    with db.writing():
        tables = ("part_sums", "device_sums", "report_sums", "drifts")
        done = sum(db.execute(f"DELETE FROM {table} WHERE {where}", values) for table in tables)
        if done:
            schema.set_meta(db, "forgets", "1")
    return done


def forget_models(db: Database, now: int) -> None:
    """Forget models that somebody asked for more than a week ago: they can be decoded again."""
    with db.writing():
        db.execute("DELETE FROM models WHERE key <> 'watch' AND created < ?", (now - 7 * DAY,))


def check(db: Database) -> Iterator[str]:
    """Yield what is wrong with a store, as sentences; look at one state of it, whatever is written meanwhile."""
    with db.reading():
        operator = schema.load_operator(db)
        yield from _check_parts(db, operator)
        yield from _check_messages(db, operator)
        yield from _check_boots(db)


def _check_parts(db: Database, operator: SketchOperator) -> Iterator[str]:
    def cells_in(table: str) -> set[Cell]:
        return {Cell(*row) for row in db.rows(f"SELECT DISTINCT grp, start, span FROM {table}")}

    closed = cells_in("parts WHERE state = 'closed'")
    for cell in sorted(cells_in("parts WHERE state <> 'withdrawn'") | cells_in("part_sums")):
        where = f"{cell.group}, {show_time(cell.start)}"
        found = db.one(f"SELECT rows, sketch FROM part_sums WHERE {OF_CELL}", cell)
        rows = 0 if found is None else int(found[0])
        told = f"SELECT coalesce(sum(rows), 0) FROM parts WHERE {OF_CELL} AND state <> 'withdrawn'"
        expected = int(db.value(told, cell))
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
            Sketch(operator, total, int(rows), int(saturated), unknown_bounds(operator.n_features)).require_consistent()
        except (QckmError, ValueError) as error:
            yield f"{grp}, {show_time(start)}: messages: {error}"
    kept = sum(int(db.value(f"SELECT coalesce(sum({table.counts[0]}), 0) FROM {table.name}")) for table in TABLES)
    sent = int(db.value("SELECT coalesce(sum(rows), 0) FROM devices"))
    taken = sum(rows for what, rows in db.rows("SELECT what, rows FROM withdrawals") if "part" not in json.loads(what))
    if kept + taken > sent or (kept + taken < sent and schema.meta(db, "forgets") is None):
        yield f"Devices have sent {sent} rows; {kept} are in windows and {taken} were withdrawn."


def _check_boots(db: Database) -> Iterator[str]:
    too_many = "SELECT device, boot, top, messages FROM boots WHERE messages > top + 1"
    for device, boot, top, messages in db.rows(too_many):
        yield f"Device {device}, boot {boot}: {messages} messages were counted up to sequence {top}: one twice."
