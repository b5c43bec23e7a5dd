"""Taking out what devices sent within a span, as far as the windows and groups that are kept allow."""

from __future__ import annotations

from dataclasses import dataclass

from qckm.collector import parts
from qckm.collector.database import Database
from qckm.collector.refusals import Reason, Refused
from qckm.collector.settings import Settings
from qckm.collector.sums import Asked
from qckm.collector.windows import Cell, group_of, show_time

_SUMS = ("device_sums", "report_sums")


@dataclass(frozen=True)
class Withdrawal:
    """What was taken out, and which windows the span only touches, that were left as they are."""

    rows: int
    windows: int
    untouched: tuple[str, ...]


def withdraw_device(db: Database, number: int, asked: Asked, settings: Settings, sender: str, now: int) -> Withdrawal:
    """Take out what a device sent, if it is a group of its own: within the sum of a group, nobody can tell it apart."""
    found = db.one("SELECT name FROM devices WHERE number = ?", (number,))
    if found is None:
        raise Refused(Reason.NOT_FOUND, f"Expected the number of a device, got {number}.")
    name = str(found[0])
    group = group_of(name, settings.group_depth)
    others = [
        other
        for (other,) in db.rows("SELECT name FROM devices WHERE number <> ?", (number,))
        if group_of(other, settings.group_depth) == group
    ]
    if others:
        raise Refused(
            Reason.BAD_REQUEST,
            f"{name} is in group {group} with {len(others)} other device(s), and only the group's sums are kept: its "
            "rows cannot be told apart. Withdraw the group for that span, or keep deeper groups (--group-depth) in a "
            "new store.",
        )
    return _withdraw(db, Asked(asked.begin, asked.end, group), {"device": number}, sender, now)


def withdraw_group(db: Database, asked: Asked, sender: str, now: int) -> Withdrawal:
    """Take out what all devices of a group sent; parts are withdrawn one by one, by their names."""
    return _withdraw(db, asked, {"group": asked.group}, sender, now)


def _withdraw(db: Database, asked: Asked, what: dict[str, object], sender: str, now: int) -> Withdrawal:
    where, values = asked.where
    inside, touched = set(), set()
    rows = 0
    for table, count in zip(_SUMS, ("rows", "reports"), strict=True):
        found = db.rows(f"SELECT grp, start, span, {count} FROM {table} WHERE {where}{db.for_update}", values)
        rows += sum(row[3] for row in found)
        inside |= {Cell(*row[:3]) for row in found}
        edges = Asked(0, group=asked.group).where
        touched |= {
            Cell(*row)
            for row in db.rows(
                f"SELECT grp, start, span FROM {table} WHERE {edges[0]} AND start < ? AND start + span > ?",
                [*edges[1], asked.end, asked.begin],
            )
        }
        db.execute(f"DELETE FROM {table} WHERE {where}", values)
    left = tuple(f"{cell.group}, {show_time(cell.start)} to {show_time(cell.end)}" for cell in sorted(touched - inside))
    if rows:
        span = {"from": show_time(min(cell.start for cell in inside)), "to": show_time(max(c.end for c in inside))}
        parts.note_withdrawal(db, {**what, **span}, rows, sender, now)
    return Withdrawal(rows, len(inside), left)
