"""A sample of rows, read from files that the user names."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from qckm.cli.console import Console, say_assumptions
from qckm.common.arrays import Floats
from qckm.errors import RowsError
from qckm.planning.pilot import Pilot
from qckm.planning.sampling import draw_pilot_of
from qckm.sketch import SketchOperator
from qckm.sources.opening import open_source
from qckm.sources.source import Source
from qckm.sources.text_format import UNKNOWN, TextFormat

# Rows that a decoder looks at: of more it takes some.
_MOST = 50_000


def read_all(source: Source) -> Floats:
    """Read every row of a file, in its order."""
    found = []
    for batch in source.batches():
        batch.require_finite()
        found.append(np.asarray(batch.rows, np.float64))
    source.require_unchanged()
    if not found:
        raise RowsError(f"{source.tables[0].label}: expected rows, found none.")
    return np.concatenate(found)


def read_some(path: str, operator: SketchOperator, seed: int, console: Console) -> Pilot:
    """Read the rows of a file, or as many, drawn from all of them, as a decoder needs; equal ones come once."""
    source = open_sample(path, operator, console)
    return draw_pilot_of(source, np.random.default_rng(seed), _MOST)


def open_sample(
    path: str,
    operator: SketchOperator,
    console: Console,
    columns: tuple[str, ...] | None = None,
    dtype: str = "auto",
    text: TextFormat = UNKNOWN,
) -> Source:
    """Open a file of rows like those that an operator measures."""
    source = open_source([path], columns, dtype, operator.feature_names, **asdict(text))
    say_assumptions(source, console)
    if source.n_features != operator.n_features:
        raise RowsError(f"{path}: expected {operator.n_features} columns, as the sketch has, got {source.n_features}.")
    return source
