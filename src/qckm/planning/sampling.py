"""A sample of the rows, from all over the data: where they are sorted, the first rows are like no others."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from qckm.clustering.centroids import nearest
from qckm.common.arrays import Rows
from qckm.errors import RowsError
from qckm.planning.pilot import PILOT_ROWS, Pilot
from qckm.planning.row_sample import RowSample
from qckm.sources.source import Position, Source

# Bytes that are looked at, as float64. Of larger data some rows are: a look at all of them would be a second pass.
LOOKED_AT = 1 << 26
# Rows of a larger array that are looked at, for each row of the pilot: repeats among them are counted.
LOOKED_AT_A_ROW = 16
# Of a larger array one row in so many is looked at, and every row that is further away than a quarter as many mean
# squares: no row that may be missed is a large part of the SSE.
_FAR = 4
_BLOCK = 1 << 20  # rows whose distances are worked out at a time
# Parts of a larger source that are looked into, where parts can be read alone.
_PARTS = 32


class SampledRows(Protocol):
    """Rows, wherever they are, of which a sample can be drawn."""

    n_features: int
    names: tuple[str, ...] | None  # of the columns, where they have names
    once: bool  # whether they can be read only once, so that the first of them have to do

    def sample(self, empty: RowSample, rng: np.random.Generator) -> RowSample:
        """Sample the rows before they are sketched: all of them, or some that are drawn."""


def draw_pilot(rows: Source | SampledRows, rng: np.random.Generator, size: int = PILOT_ROWS) -> Pilot:
    """Draw a pilot of some rows, in proportion to their weights: the same one, wherever all of them are looked at."""
    empty = RowSample.empty(rows.n_features, int(rng.integers(2**63)), size)
    return (sample_of(rows, empty, rng) if isinstance(rows, Source) else rows.sample(empty, rng)).pilot()


def sample_rows(
    X: npt.NDArray[Any], sample_weight: npt.NDArray[Any] | None, sample: RowSample, rng: np.random.Generator
) -> RowSample:
    """Add rows X: (rows, n) to an empty sample; of 64 MB and more, some of them."""
    most = LOOKED_AT_A_ROW * sample.size
    if len(X) <= max(most, LOOKED_AT // (8 * X.shape[1])):
        return sample.added(X, sample_weight)
    places = np.sort(rng.choice(len(X), most, replace=False, shuffle=False))
    return sample.added(X[places], None if sample_weight is None else sample_weight[places])


def sample_by_leverage(X: npt.NDArray[Any], sample_weight: npt.NDArray[Any] | None, sample: RowSample) -> RowSample:
    """Add finite rows X: (rows, n), in units of 1, to a sample; of 64 MB and more, those far away and one in a few."""
    every = len(X) // (LOOKED_AT_A_ROW * sample.size)
    if every < 2 or len(X) <= LOOKED_AT // (8 * X.shape[1]):
        return sample.added(X, sample_weight)
    bar, blocks = every / (_FAR * sample.factors[0] ** 2), range(0, len(X), _BLOCK)
    squares = (nearest(X[start : start + _BLOCK], sample.center[np.newaxis])[1] for start in blocks)
    far = np.concatenate([start + np.flatnonzero(some > bar) for start, some in zip(blocks, squares, strict=True)])
    starts = np.arange(0, len(X), every)
    sizes = np.minimum(every, len(X) - starts)
    some = starts + np.random.default_rng(sample.seed).integers(sizes)
    near = ~np.isin(some, far, assume_unique=True)
    chosen, counts = np.concatenate([some[near], far]), np.concatenate([sizes[near], np.ones_like(far)])
    return sample.added(X[chosen], counts if sample_weight is None else counts * sample_weight[chosen])


def sample_of(source: Source, sample: RowSample, rng: np.random.Generator) -> RowSample:
    """Add finite rows of a source to an empty sample.

    All rows of 64 MB at most are, and those of a CSV or a stream in a file, which cannot be entered in the middle. Of
    larger files with parts (Parquet, NumPy) some parts are read, at even distances; of a pipe, the first rows, which
    are then sketched like the rest.
    """
    if source.once:
        sample = _of_head(source, sample)
    else:
        parts = _parts(source)
        rows = sum(rows for _, _, rows in parts or [])
        if parts is None or 8 * source.n_features * rows <= LOOKED_AT or rows <= sample.size:
            for found in source.look(LOOKED_AT):
                sample = sample.added(found)
        else:
            sample = _of_parts(source, parts, sample, rng)
    if not sample.total:
        table = source.tables[0]
        why = "".join(f": {words}" for words in table.faults.values())
        raise RowsError(f"{table.label}: expected rows of finite numbers, found none{why}.")
    return sample


def _parts(source: Source) -> list[tuple[int, int, int]] | None:
    """Return the parts that can be read alone: their table, first row and rows; None where some cannot."""
    blocks = [table.blocks() for table in source.tables]
    if any(some is None for some in blocks):
        return None
    return [(number, *block) for number, some in enumerate(blocks) for block in some or [] if block[1]]


def _of_parts(
    source: Source, parts: list[tuple[int, int, int]], sample: RowSample, rng: np.random.Generator
) -> RowSample:
    """Look into parts at even distances: each counts for as many rows as lie between, however few of them are read."""
    edges = np.cumsum([rows for _, _, rows in parts])
    between = float(edges[-1] / _PARTS)
    marks = (np.arange(_PARTS) + rng.random()) * between
    chosen, hits = np.unique(np.searchsorted(edges, marks, side="right"), return_counts=True)
    limit = max(sample.size // _PARTS, LOOKED_AT // (8 * source.n_features * _PARTS))
    for part, many in zip(chosen, hits, strict=True):
        table, first, rows = parts[part]
        found = _read_part(source, table, first, min(rows, limit * many))
        sample = sample.added(found, np.full(len(found), between * many / max(1, len(found))))
    return sample


def _read_part(source: Source, table: int, first: int, rows: int) -> Rows:
    found, count = [], 0
    row_bytes = 8 * source.n_features
    for batch in source.batches(Position(table, first), batch_bytes=rows * row_bytes):
        found.append(batch.rows[: rows - count])
        count += len(found[-1])
        if count >= rows or batch.after.table > table:
            break
    return np.concatenate(found)


def _of_head(source: Source, sample: RowSample) -> RowSample:
    """Look at the first rows of a pipe, and put them back."""
    left = sample.size
    for rows in source.peek(sample.size):
        sample, left = sample.added(rows[:left]), max(0, left - len(rows))
    return sample
