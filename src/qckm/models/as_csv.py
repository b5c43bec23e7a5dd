"""A model as CSV: cluster, weight, spread, then the columns; a row "unit" above, if it is standardised."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

import numpy as np

from qckm.common.csv_text import is_number, line
from qckm.errors import FileError
from qckm.models.column_names import OURS, headings, names_of
from qckm.models.model import Model

_UNIT = "unit"
# Of one cell, for Python's reader; others have limits of their own.
_LONGEST = 100_000
# A name that no encoding knows is written as what it is, so that it comes back; all else is plain UTF-8.
_ERRORS = "surrogatepass"


def to_csv(model: Model) -> bytes:
    """Return the centroids as CSV: cluster, weight, spread, then the columns; a row "unit" above, if standardised."""
    if model.covariances is not None:
        raise FileError(
            "A CSV has no place for the covariances of a mixture: use .json, .parquet or .npz.", about="output"
        )
    above = headings(model.feature_names, model.centers.shape[1])
    long = next((cell for cell in above if len(cell) > _LONGEST), None)
    if long is not None:
        raise FileError(f"Expected names of at most {_LONGEST} characters for CSV, got {long!r:.80}…: use .json.")
    lines = [line([*OURS, *above])]
    if (model.units != 1).any():
        lines.append(line([_UNIT, "", "", *_written(model.units)]))
    for number, center in enumerate(model.centers):
        lines.append(line([str(number), *_written([model.weights[number], model.spreads[number], *center])]))
    return "".join(lines).encode("utf-8", _ERRORS)


def from_csv(data: bytes) -> Model:
    """Undo `to_csv`, also of a file that a spreadsheet has written anew."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", _ERRORS)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    first = next(reader, [])
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
        raise FileError("expected a line a cluster, got none")
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
