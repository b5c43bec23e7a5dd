"""The rows that an estimator keeps to decode with: a pilot, or a sample of all that have passed."""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats, Rows
from qckm.errors import RowsError
from qckm.planning.pilot import Pilot
from qckm.planning.row_sample import RowSample, seed_of
from qckm.planning.sampling import draw_pilot
from qckm.sketch import Sketch
from qckm.sources.engine_rows import HeldRows
from qckm.sources.rows import require_finite

# Rows that are looked through at a time.
_BLOCK = 1 << 16


def draw_pilot_of_rows(rows: Rows, weights: Floats | None, rng: np.random.Generator, size: int) -> Pilot:
    """Draw a pilot of rows; if none of them is finite, name the first."""
    try:
        return draw_pilot(rows, weights, rng, size)
    except RowsError:
        _require_finite(rows)
        raise


def begin_sample(rows: Rows, weights: Floats | None, rng: np.random.Generator, size: int) -> RowSample:
    """Return the sample of a first batch, to which others are added."""
    sample = RowSample.empty(rows.shape[1], seed_of(rng), size).added(rows, weights)
    if not sample.total:
        _require_finite(rows)
    return sample


def sample_like(like: RowSample, held: HeldRows, sketch: Sketch) -> RowSample:
    """Return a sample of rows that an engine holds, to merge with another; it stands for all of a sketch's rows."""
    return stand_for(sketch, held.sample(like.seed, np.random.default_rng(like.seed), like.size))


def stand_for(sketch: Sketch, sample: RowSample) -> RowSample:
    """Return a sample that stands for all rows of a sketch: an engine may have looked into some partitions only."""
    whole = float(sketch.count)
    return sample if not sample.total or sample.total == whole else sample.scaled(whole / sample.total)


def _require_finite(rows: Rows) -> None:
    """Refuse rows of which one has a NaN or an infinity, and name it."""
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        require_finite(block, block.min(axis=0), block.max(axis=0), start)
