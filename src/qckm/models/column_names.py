"""Names of columns in the first line of a table whose other columns are ours.

The rule is that of all texts in a CSV (common/csv_text.py), with more that gets an apostrophe: the names of our own
columns, a name that is the number of its place, as columns without names have, and a number with a sign.
"""

from __future__ import annotations

from collections.abc import Sequence

from qckm.common.csv_text import PREFIX, is_formula

OURS = ("cluster", "weight", "spread")


def headings(names: Sequence[str] | None, n: int) -> list[str]:
    """Return what stands above the n columns: their names, or their numbers where they have none.

    Examples
    --------
    >>> headings(["weight", "height", "=1+1", "3"], 4), headings(None, 2)
    (["'weight", 'height', "'=1+1", "'3"], ['0', '1'])
    """
    if names is None:
        return [str(place) for place in range(n)]
    return [PREFIX + name if _is_mistaken(name, place) else name for place, name in enumerate(names)]


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
        cell[1:] if cell.startswith(PREFIX) and _is_mistaken(cell, place) else cell for place, cell in enumerate(cells)
    )


def _is_mistaken(name: str, place: int) -> bool:
    """Whether a name, without apostrophes in front of it, would be taken for something else."""
    stem = name.lstrip(PREFIX)
    number = stem.removeprefix("feature ")
    return stem in (*OURS, "unit") or number == str(place) or is_formula(stem)
