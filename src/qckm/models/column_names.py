"""Names of columns in the first line of a table whose other columns are ours.

The rule: a name of theirs gets an apostrophe in front where it would be taken for something else. These are the names
of our own columns; a name that is the number of its place, as columns without names have; and one that a spreadsheet
would take for a formula. A name that is one of these behind apostrophes gets one more: so all names come back.
"""

from __future__ import annotations

from collections.abc import Sequence

OURS = ("cluster", "weight", "spread")
_PREFIX = "'"
# What spreadsheets begin a formula with, also in its wide form; a tab or a line's end in front of it is passed over.
_FORMULA = tuple("=+-@＝＋－＠\t\r\n")


def headings(names: Sequence[str] | None, n: int) -> list[str]:
    """Return what stands above the n columns: their names, or their numbers where they have none.

    Examples
    --------
    >>> headings(["weight", "height", "=1+1", "3"], 4), headings(None, 2)
    (["'weight", 'height', "'=1+1", "'3"], ['0', '1'])
    """
    if names is None:
        return [str(place) for place in range(n)]
    return [_PREFIX + name if _is_mistaken(name, place) else name for place, name in enumerate(names)]


def names_of(cells: Sequence[str]) -> tuple[str, ...] | None:
    """Undo `headings`. In older files names have no prefix, and columns without names are feature 0, feature 1, ….

    Examples
    --------
    >>> names_of(["'weight", "height", "'=1+1", "'3"]), names_of(["feature 0", "feature 1"])
    (('weight', 'height', '=1+1', '3'), None)
    """
    if [cell.removeprefix("feature ") for cell in cells] == [str(place) for place in range(len(cells))]:
        return None
    return tuple(
        cell[1:] if cell.startswith(_PREFIX) and _is_mistaken(cell, place) else cell for place, cell in enumerate(cells)
    )


def _is_mistaken(name: str, place: int) -> bool:
    """Whether a name, without apostrophes in front of it, would be taken for something else."""
    stem = name.lstrip(_PREFIX)
    number = stem.removeprefix("feature ")
    return stem in (*OURS, "unit") or number == str(place) or stem.lstrip(" ").startswith(_FORMULA)
