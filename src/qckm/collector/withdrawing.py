"""Taking out what devices sent within a span, as far as the windows and groups that are kept allow."""

from __future__ import annotations

from dataclasses import dataclass

from qckm.collector import parts
from qckm.collector.database import Database
from qckm.collector.message_sums import TABLES
from qckm.collector.refusals import Reason, Refused
from qckm.collector.sums import Asked
from qckm.collector.windows import Cell, group_of, show_time


@dataclass(frozen=True)
class Withdrawal:
    """What was taken out, and which windows the span only touches, that were left as they are."""

    rows: int
    windows: int
    untouched: tuple[str, ...]


def withdraw_device(db: Database, number: int, asked: Asked, depth: int, sender: str, now: int) -> Withdrawal:
    """Take out what a device sent, if it is a group of its own: within the sum of a group, nobody can tell it apart."""
    found = db.one("SELECT name FROM devices WHERE number = ?", (number,)) if 0 <= number < 1 << 32 else None
    if found is None:
        raise Refused(Reason.NOT_FOUND, f"Expected the number of a device, got {number}.")
    name = str(found[0])
    group = group_of(name, depth)
    others = [
        other
        for (other,) in db.rows("SELECT name FROM devices WHERE number <> ?", (number,))
        if group_of(other, depth) == group
    ]
    if others:
        raise Refused(
            Reason.BAD_REQUEST,
            f"{name} is in group {group} with {len(others)} other device(s), and only the group's sums are kept: its "
            "rows cannot be told apart. Withdraw the group for that span, or keep deeper groups (--group-depth) in a "
            "new store.",
        )
    return _withdraw(db, Asked(asked.begin, asked.end, group, below=False), {"device": number}, sender, now)


def withdraw_group(db: Database, asked: Asked, sender: str, now: int) -> Withdrawal:
    """Take out what all devices of a group sent; parts are withdrawn one by one, by their names."""
    if not asked.group:
        raise Refused(Reason.BAD_REQUEST, "Expected the name of a group.")
    return _withdraw(db, asked, {"group": asked.group}, sender, now)


def _withdraw(db: Database, asked: Asked, what: dict[str, object], sender: str, now: int) -> Withdrawal:
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
        span = {"from": show_time(min(cell.start for cell in inside)), "to": show_time(max(c.end for c in inside))}
        parts.note_withdrawal(db, {**what, **span}, rows, sender, now)
    return Withdrawal(rows, len(inside), left)
