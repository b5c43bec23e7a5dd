"""Names to groups, times to windows: which cell of the store something belongs to, and which ones are asked for.

Times are in seconds, UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from qckm.collector.refusals import Reason, Refused
from qckm.collector.settings import DAY, HOUR, Settings

_NAME = re.compile(r"[A-Za-z0-9_.:+@=~-]{1,80}(/[A-Za-z0-9_.:+@=~-]{1,80}){0,7}")
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:T(\d{2})Z?)?")
_YEAR_9999 = 253_370_764_800
_FOREVER = 1 << 62
# The condition for the rows of one cell, whose values are the cell itself.
OF_CELL: Final = "grp = ? AND start = ? AND span = ?"


class Cell(NamedTuple):
    """A group and a window of it."""

    group: str
    start: int
    span: int

    @property
    def end(self) -> int:
        """The first second after it."""
        return self.start + self.span


def require_name(name: str) -> str:
    """Return the name of a part or a device, or refuse it.

    Examples
    --------
    >>> require_name("berlin/2026-11-16")
    'berlin/2026-11-16'
    """
    if not _NAME.fullmatch(name) or any(set(word) == {"."} for word in name.split("/")):
        raise Refused(
            Reason.NAME,
            "Expected a name of letters, digits and _.:+@=~- in up to eight words between slashes, "
            f"such as berlin/2026-11-16, got {name!r:.80}.",
        )
    return name


def group_of(name: str, depth: int) -> str:
    """Return the group of a part or a device.

    Examples
    --------
    >>> group_of("berlin/hall-2/press-3", 1), group_of("berlin/hall-2/press-3", 2), group_of("berlin", 2)
    ('berlin', 'berlin/hall-2', 'berlin')
    """
    return "/".join(name.split("/")[:depth])


def cell_of_part(name: str, at: int | None, now: int, settings: Settings) -> Cell:
    """Return where a part belongs: by the time given, the date at the end of its name, or the time of its arrival.

    Examples
    --------
    >>> cell_of_part("berlin/2026-11-16", None, 1_800_000_000, Settings(keep_hours=100))
    Cell(group='berlin', start=1794787200, span=86400)
    """
    group = group_of(name, settings.group_depth)
    dated = _DATE.fullmatch(name.split("/")[-1])
    span = HOUR if settings.window == "hour" else DAY
    if at is None and dated:
        day, hour = dated.groups()
        at = parse_time(day if hour is None else f"{day}T{hour}:00")
        span = DAY if hour is None else span
    time = now if at is None else at
    if time > now + DAY:
        raise Refused(Reason.BAD_REQUEST, f"Expected a part of today or before, got one of {show_time(time)}.")
    start = time - time % span
    return Cell(group, *_coarse(start, span, now, settings))


def cell_of_message(name: str, time: int, now: int, settings: Settings) -> tuple[Cell, bool]:
    """Return where a device's message belongs, and whether its clock was believed."""
    believed = not time or now - settings.late * DAY <= time <= now + HOUR
    at = time if time and believed else now
    start = at - at % settings.span
    return Cell(group_of(name, settings.group_depth), *_coarse(start, settings.span, now, settings)), believed


def _coarse(start: int, span: int, now: int, settings: Settings) -> tuple[int, int]:
    """Return the window that a window is within by now: hours of long ago have been added up to days."""
    if span < DAY and start < rolled_up_before(now, settings):
        return start - start % DAY, DAY
    return start, span


def rolled_up_before(now: int, settings: Settings) -> int:
    """Return the time before which all windows are days."""
    return days_ago(settings.keep_hours, now)


def forgotten_before(now: int, settings: Settings) -> int:
    """Return the time before which no window is kept."""
    return days_ago(settings.keep_days, now) if settings.keep_days else 0


def days_ago(days: int, now: int) -> int:
    """Return when the day that many days ago began."""
    return now - now % DAY - days * DAY


def parse_time(text: str) -> int:
    """Return the time of `2026-11-16`, `2026-11-16T05:00` or seconds since 1970; without a zone it is UTC.

    Examples
    --------
    >>> parse_time("2026-11-16T01:00"), parse_time("2026-11-16T02:00+01:00"), parse_time("1794790800")
    (1794790800, 1794790800, 1794790800)
    """
    try:
        if text.isdigit() and len(text) > 8:
            found = int(text)
        else:
            time = datetime.fromisoformat(text)
            found = int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
        if 0 <= found < _YEAR_9999:
            return found
    except (ValueError, OverflowError):
        pass
    raise Refused(Reason.BAD_REQUEST, f"Expected a time such as 2026-11-16 or 2026-11-16T05:00Z, got {text!r:.80}.")


def show_time(time: int) -> str:
    """Return a time as people write it.

    Examples
    --------
    >>> show_time(1794787200), show_time(1794790800)
    ('2026-11-16', '2026-11-16T01:00Z')
    """
    moment = datetime.fromtimestamp(time, UTC)
    return moment.strftime("%Y-%m-%d" if time % DAY == 0 else "%Y-%m-%dT%H:%MZ")


@dataclass(frozen=True)
class Asked:
    """A span of time, from its first second to the one after its last, and a group, with what is below it or not."""

    begin: int = 0
    end: int = _FOREVER
    group: str = ""
    below: bool = True

    @classmethod
    def parse(cls, begin: object = None, end: object = None, group: object = None) -> Asked:
        """Return what is asked for in words; what is not said is everything."""
        first = 0 if begin is None else parse_time(str(begin))
        last = _FOREVER if end is None else parse_time(str(end))
        if first >= last:
            raise Refused(Reason.BAD_REQUEST, f"Expected a span that begins before it ends, got {begin} to {end}.")
        return cls(first, last, require_name(str(group)) if group else "")

    @property
    def where(self) -> tuple[str, list[Any]]:
        """A condition for windows that lie within, and its values."""
        sql, values = "start >= ? AND start + span <= ?", list[Any]((self.begin, self.end))
        if not self.below:
            sql, values = f"{sql} AND grp = ?", [*values, self.group]
        elif self.group:
            sql += " AND (grp = ? OR substr(grp, 1, ?) = ?)"
            values += [self.group, len(self.group) + 1, self.group + "/"]
        return sql, values
