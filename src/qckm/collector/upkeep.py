"""What is done now and then: hours become days, sketches of old parts and old windows are forgotten, exactly once."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from qckm.collector import parts
from qckm.collector.database import Database
from qckm.collector.settings import DAY, Settings
from qckm.collector.sums import Asked
from qckm.collector.windows import rolled_up_before
from qckm.sketch import SketchOperator, files


def is_due(db: Database, job: str, now: int, every: int) -> bool:
    """Whether a job is to be done now, by us: of several collectors that ask, one gets to hear yes."""
    with db.writing():
        db.execute("INSERT INTO jobs (name, due) VALUES (?, 0) ON CONFLICT (name) DO NOTHING", (job,))
        due = now - now % every + every
        return db.execute("UPDATE jobs SET due = ? WHERE name = ? AND due <= ?", (due, job, now)) > 0


def roll_up(db: Database, operator: SketchOperator, settings: Settings, now: int) -> int:
    """Add up hours of long ago to days, each day of a group in a transaction; return how many days were made."""
    before, made = rolled_up_before(now, settings), 0
    days: set[tuple[str, int]] = set()
    for table in ("part_sums", "device_sums", "report_sums", "parts"):
        rows = db.rows(f"SELECT DISTINCT grp, start FROM {table} WHERE span < ? AND start < ?", (DAY, before))
        days |= {(grp, start - start % DAY) for grp, start in rows}
    for grp, day in sorted(days):
        with db.writing():
            _roll_up_messages(db, "device_sums", ("rows", "saturated"), grp, day)
            _roll_up_messages(db, "report_sums", ("reports",), grp, day)
            _roll_up_parts(db, operator, grp, day)
        made += 1
    return made


def _roll_up_messages(db: Database, table: str, counts: tuple[str, ...], grp: str, day: int) -> None:
    keys = ("kept", "bits") if table == "report_sums" else ()
    columns = (*keys, *counts, "total")
    where = "grp = ? AND start >= ? AND start + span <= ?"
    rows = db.rows(
        f"SELECT {', '.join(columns)} FROM {table} WHERE {where} ORDER BY start{db.for_update}", (grp, day, day + DAY)
    )
    db.execute(f"DELETE FROM {table} WHERE {where}", (grp, day, day + DAY))
    sums: defaultdict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        sums[row[: len(keys)]].append(row[len(keys) :])
    for key, these in sums.items():
        numbers = [sum(row[i] for row in these) for i in range(len(counts))]
        total = np.sum([np.frombuffer(bytes(row[-1]), "<i8") for row in these], axis=0)
        values = [grp, day, DAY, *key, *numbers, total.astype("<i8").tobytes()]
        db.execute(
            f"INSERT INTO {table} (grp, start, span, {', '.join(columns)}) VALUES ({', '.join('?' * len(values))})",
            values,
        )


def _roll_up_parts(db: Database, operator: SketchOperator, grp: str, day: int) -> None:
    where = "grp = ? AND start >= ? AND start + span <= ?"
    names = [
        row[0]
        for row in db.rows(f"SELECT name FROM parts WHERE {where} ORDER BY name{db.for_update}", (grp, day, day + DAY))
    ]
    if not names:
        return
    rows = db.rows(f"SELECT sketch FROM part_sums WHERE {where} ORDER BY start{db.for_update}", (grp, day, day + DAY))
    total = operator.empty()
    for (data,) in rows:
        total = total + files.loads(bytes(data))
    db.execute(f"UPDATE parts SET start = ?, span = ? WHERE {where}", (day, DAY, grp, day, day + DAY))
    db.execute(f"DELETE FROM part_sums WHERE {where}", (grp, day, day + DAY))
    if total.count:
        db.execute(
            "INSERT INTO part_sums (grp, start, span, rows, sketch) VALUES (?, ?, ?, ?, ?)",
            (grp, day, DAY, total.count, files.dumps(total)),
        )


def close_parts(db: Database, settings: Settings, now: int) -> int:
    """Forget the sketches of parts of windows of long ago; their names and sums stay. Return how many."""
    before = now - settings.keep_parts * DAY
    with db.writing():
        return db.execute(
            "UPDATE parts SET state = ?, sketch = NULL WHERE state = ? AND start + span <= ?",
            (parts.CLOSED, parts.KEPT, before - before % DAY),
        )


def forget_windows(db: Database, settings: Settings, now: int) -> int:
    """Forget windows of very long ago, if that is wanted; names of parts stay, so that none counts twice."""
    if not settings.keep_days:
        return 0
    before = now - settings.keep_days * DAY
    where, values = Asked(end=before - before % DAY).where
    with db.writing():
        tables = ("part_sums", "device_sums", "report_sums", "drifts")
        done = sum(db.execute(f"DELETE FROM {table} WHERE {where}", values) for table in tables)
        if done:
            forgets = "INSERT INTO meta (name, value) VALUES ('forgets', ?) ON CONFLICT (name) DO NOTHING"
            db.execute(forgets, (b"1",))
    return done


def forget_models(db: Database, now: int) -> None:
    """Forget models that somebody asked for more than a week ago: they can be decoded again."""
    with db.writing():
        db.execute("DELETE FROM models WHERE key <> 'watch' AND created < ?", (now - 7 * DAY,))
