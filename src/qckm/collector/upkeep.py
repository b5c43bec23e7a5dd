"""What is done now and then: hours become days, sketches of old parts and old windows are forgotten, exactly once."""

from __future__ import annotations

from qckm.collector import parts, schema
from qckm.collector.database import Database
from qckm.collector.message_sums import TABLES, Key, Vector
from qckm.collector.settings import DAY, Settings
from qckm.collector.windows import Asked, Cell, forgotten_before, rolled_up_before
from qckm.sketch import SketchOperator, files

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
        since = db.one("SELECT due FROM jobs WHERE name = 'steady'")
    return since is not None and int(since[0]) <= now - _LEAP


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
        insert = "INSERT INTO part_sums (grp, start, span, rows, sketch) VALUES (?, ?, ?, ?, ?)"
        db.execute(insert, (*day, total.count, files.dumps(total)))


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
