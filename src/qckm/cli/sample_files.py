"""A sample of rows, read from files that the user names."""

from __future__ import annotations

import numpy as np

from qckm.cli.console import Console, say_assumptions
from qckm.common.arrays import Floats
from qckm.errors import RowsError
from qckm.planning.pilot import Pilot
from qckm.planning.sampling import draw_pilot_of
from qckm.sketch import SketchOperator
from qckm.sources.opening import open_source
from qckm.sources.source import Source

# Rows that a decoder looks at: of more it takes some.
_MOST = 50_000


def read_all(
    path: str,
    operator: SketchOperator,
    columns: tuple[str, ...] | None,
    dtype: str,
    header: bool | None,
    console: Console,
) -> Floats:
    """Read every row of a file, in its order."""
    source = _open(path, operator, columns, dtype, header, console)
    found = []
    for batch in source.batches():
        batch.require_finite()
        found.append(np.asarray(batch.rows, np.float64))
    source.require_unchanged()
    if not found:
        raise RowsError(f"{path}: expected rows, found none.")
    return np.concatenate(found)


def read_some(path: str, operator: SketchOperator, seed: int, console: Console) -> Pilot:
    """Read the rows of a file, or as many, drawn from all of them, as a decoder needs; equal ones come once."""
    source = _open(path, operator, None, "auto", None, console)
    return draw_pilot_of(source, np.random.default_rng(seed), _MOST)


def _open(
    path: str,
    operator: SketchOperator,
    columns: tuple[str, ...] | None,
    dtype: str,
    header: bool | None,
    console: Console,
) -> Source:
    source = open_source([path], columns, dtype, operator.feature_names, header)
    say_assumptions(source, console)
    if source.n_features != operator.n_features:
        raise RowsError(f"{path}: expected {operator.n_features} columns, as the sketch has, got {source.n_features}.")
    return source
