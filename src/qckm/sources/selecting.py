"""Which columns are read: names, or positions; they must be there, once, and hold numbers."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from qckm.errors import SourceError, Topic
from qckm.sources.table import Column, Selection, Table

PATH_KEY = "a key of the path"
_DECIMAL_COMMA = re.compile(r"text such as ' *[+-]?[0-9]*,[0-9]+ *'")


def resolve(columns: Sequence[Any], held: Sequence[Any]) -> list[Any]:
    """Return the names of columns that are asked for by name or position; what is neither stays as it is.

    A whole number, 0 or "0", is a position, unless a column has that very name.

    Examples
    --------
    >>> resolve(["weight", 0], ["height", "weight"])
    ['weight', 'height']
    >>> resolve(["0"], ["1", "0"])
    ['0']
    """
    if isinstance(columns, (str, bytes)):
        raise SourceError(f"Expected columns as a sequence of names, got {columns!r}: use [{columns!r}].")
    names = set(held)
    return [wanted if wanted in names else _by_position(wanted, held, names) for wanted in columns]


def _by_position(wanted: Any, held: Sequence[Any], names: set[Any]) -> Any:
    whole = isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool)
    if whole and str(wanted) in names:
        return str(wanted)
    if whole or (isinstance(wanted, str) and wanted.isascii() and wanted.isdecimal()):
        place = int(wanted) if len(str(wanted)) < 10 else -1
        if 0 <= place < len(held):
            return held[place]
    return wanted


def select(
    tables: Sequence[Table], columns: Sequence[Any] | None, usual: Sequence[str] | None, dtype: str
) -> Selection:
    """Choose the columns: as asked for, else the usual ones, if columns have names, else all but an index of pandas.

    All tables must have them, and they must be numbers.
    """
    first = tables[0]
    left_out: tuple[str, ...] = ()
    found = first.columns()
    if columns is not None:
        names = resolve(columns, [column.name for column in found])
    elif usual is not None and first.named:
        names = list(usual)
    else:
        usable = [column for column in found if column.kind != PATH_KEY and not column.index]
        names = [column.name for column in usable]
        left_out = tuple(column.name for column in found if column.index)
        _require_numeric(first, usable)
    if len(set(names)) != len(names):
        raise SourceError(f"{first.label}: expected each column once, got {_listed(names)}.")
    if not names:
        raise SourceError(f"{first.label}: expected columns, got none.")
    for table in tables:
        _require_held(table, names)
    return Selection(tuple(names), dtype, left_out)


def _require_numeric(table: Table, columns: list[Column]) -> None:
    text = [column for column in columns if not column.numeric]
    if text:
        numeric = [column.name for column in columns if column.numeric]
        hint = f"Choose columns={numeric[:30]}." if numeric else "There is no column of numbers."
        listed = "; ".join(f"{column.name!r} ({column.kind})" for column in text[:5])
        if any(_DECIMAL_COMMA.fullmatch(column.kind) for column in text):
            raise SourceError(
                f"{table.label}: expected columns of numbers, got {listed}. Numbers with a decimal comma are read with "
                "decimal=','.",
                about="decimal",
            )
        about: Topic | None = "columns" if numeric else None
        raise SourceError(f"{table.label}: expected columns of numbers, got {listed}. {hint}", about)


def _require_held(table: Table, names: list[Any]) -> None:
    """Refuse a table without the columns, with one of them twice, or with one that cannot be read as numbers."""
    held = require_names(table, names)
    wrong = [f"{name!r} ({held[name][0].kind})" for name in names if not held[name][0].readable]
    if wrong:
        raise SourceError(f"{table.label}: expected columns of numbers, got {'; '.join(wrong[:5])}. Convert them.")


def require_names(table: Table, names: Sequence[Any]) -> dict[Any, list[Column]]:
    """Refuse a table without the columns, or with one of them twice; return its columns by name."""
    held: dict[Any, list[Column]] = {}
    for column in table.columns():
        held.setdefault(column.name, []).append(column)
    missing = [name for name in names if name not in held]
    if missing:
        hint = f" Note that {table.assumed}." if table.assumed else ""
        what = "column" if len(missing) == 1 else "columns"
        raise SourceError(
            f"{table.label}: expected the {what} {', '.join(map(repr, missing[:30]))}"
            f"{_nearest(missing, list(held))}, got {_listed(list(held))}.{hint}"
        )
    twice = [name for name in names if len(held[name]) > 1]
    if twice:
        raise SourceError(f"{table.label}: expected different column names, got {_listed(twice)} more than once.")
    return held


def _nearest(missing: Sequence[Any], held: Sequence[Any]) -> str:
    """Return which columns may be meant, as a question."""
    found = []
    for name in missing[:30]:
        lower = {str(other).lower(): other for other in held}
        found += [lower[near] for near in difflib.get_close_matches(str(name).lower(), list(lower), 1)]
    return f" (did you mean {', '.join(map(repr, dict.fromkeys(found)))}?)" if found else ""


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names[:30])) + (f", … ({len(names)})" if len(names) > 30 else "")
