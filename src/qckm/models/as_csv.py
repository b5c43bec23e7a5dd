"""A model as CSV, a table that any tool reads: cluster, weight, spread, then the columns.

A table has no place for the units of a standardised model. Its column of spreads is then called "spread in units", so
that nobody takes the table for a model of plain distances.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

import numpy as np

from qckm.common.text import PREFIX, is_formula, is_number, line
from qckm.errors import FileError
from qckm.models.model import Model

# Older files have a line of units above the clusters.
_UNIT = "unit"
# Of one cell, for Python's reader; others have limits of their own.
_LONGEST = 100_000
# A name that no encoding knows is written as what it is, so that it comes back; all else is plain UTF-8.
_ERRORS = "surrogatepass"


def to_csv(model: Model) -> bytes:
    """Return the centroids as CSV: cluster, weight, spread, then the columns."""
    if model.covariances is not None:
        raise FileError(
            "A CSV has no place for the covariances of a mixture: use .json, .parquet or .npz.", about="output"
        )
    above = headings(model.feature_names, model.centers.shape[1])
    long = next((cell for cell in above if len(cell) > _LONGEST), None)
    if long is not None:
        raise FileError(f"Expected names of at most {_LONGEST} characters for CSV, got {long!r:.80}…: use .json.")
    lines = [line([*(OURS if (model.units == 1).all() else (*OURS[:2], STANDARDISED)), *above])]
    for number, center in enumerate(model.centers):
        lines.append(line([str(number), *_written([model.weights[number], model.spreads[number], *center])]))
    return "".join(lines).encode("utf-8", _ERRORS)


def from_csv(data: bytes) -> Model:
    """Undo `to_csv`, also of a file that a spreadsheet has written anew."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", _ERRORS)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    first = next(reader, [])
    if tuple(first[:3]) == (*OURS[:2], STANDARDISED):
        raise FileError("got the centroids of standardised columns, without their units: use .json")
    if tuple(first[:3]) != OURS:
        raise FileError(f"expected a first line {','.join(OURS)},…")
    names = first[3:]
    units: list[float] | None = None
    rows: list[list[float]] = []
    for cells in reader:
        if not cells:
            continue
        where = f"line {reader.line_num}"
        if len(cells) != len(first):
            raise FileError(f"{where}: expected {len(first)} cells, got {len(cells)}")
        if cells[:3] == [_UNIT, "", ""] and units is None and not rows:
            units = _numbers(cells[3:], where)
        elif cells[0] != str(len(rows)):
            raise FileError(f"{where}: expected cluster {len(rows)}, got {cells[0]!r:.80}: clusters are in order")
        else:
            rows.append(_numbers(cells[1:], where))
    if not rows:
        raise FileError("expected a line per cluster, got none")
    table = np.array(rows)
    return Model(
        table[:, 2:],
        table[:, 0],
        table[:, 1],
        np.ones(len(names)) if units is None else np.array(units),
        names_of(names),
    )


def _written(numbers: Iterable[float]) -> list[str]:
    return [repr(float(number)) for number in numbers]


def _numbers(cells: list[str], where: str) -> list[float]:
    for cell in cells:
        if not is_number(cell):
            raise FileError(f"{where}: expected numbers, got {cell!r:.80}")
    return [float(cell) for cell in cells]


# Names of columns in the first line of a table whose other columns are ours.
#
# The rule is that of all texts in a CSV (common/text.py), with more that gets an apostrophe: the names of our own
# columns, a name that is the number of its place, as columns without names have, and a number with a sign.

OURS = ("cluster", "weight", "spread")
STANDARDISED = "spread in units"  # in the place of the last, where columns are standardised


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
    return stem in (*OURS, "unit", STANDARDISED) or number == str(place) or is_formula(stem)
