"""Rows, wherever they are: drawn from before they are sketched, and sampled beside.

Where rows are sorted, the first are like no others: those that are drawn are from all over the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from qckm.clustering.centroids import nearest
from qckm.common.arrays import Rows, Weights
from qckm.errors import RowsError
from qckm.planning.pilot import PILOT_ROWS, Pilot
from qckm.planning.row_sample import RowSample
from qckm.sketch import Sketch, SketchOperator
from qckm.sketch.sketch import State, last_state, require_columns
from qckm.sources.rows import OnBad, require_finite
from qckm.sources.source import Position, Source

# Bytes that are looked at, as float64. Of larger data some rows are: a look at all of them would be a second pass.
LOOKED_AT = 1 << 26
# Rows of a larger array that are looked at, for each row of the pilot: repeats among them are counted.
LOOKED_AT_PER_ROW = 16
# Of a larger array one row in so many is looked at, and every row that is further away than a quarter as many mean
# squares: no row that may be missed is a large part of the SSE.
_FAR = 4
_BLOCK = 1 << 20  # rows that are looked through at a time
# Parts of a larger source that are looked into, where parts can be read alone.
_PARTS = 32


class HeldRows(ABC):
    """Rows in memory, in files, or where an engine holds them. A class sets what differs of these."""

    n_features: int
    names: tuple[str, ...] | None  # of the columns, where they have names
    weighted = False  # whether the rows have weights
    once = False  # whether they can be read only once, so that the first of them have to do
    lazy = False  # whether labels and distances of them stay where the rows are

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns, where they have names."""
        return self.names

    @abstractmethod
    def require_columns(self, operator: SketchOperator) -> None:
        """Refuse rows whose columns are not the operator's, before any work is done."""

    @abstractmethod
    def sample(self, empty: RowSample, rng: np.random.Generator) -> RowSample:
        """Sample the rows before they are sketched: all of them, or some that are drawn."""

    @abstractmethod
    def sketch(self, operator: SketchOperator, on_bad: OnBad = "error", n_jobs: int | None = None) -> Sketch:
        """Sketch the rows where they are."""

    def sketch_and_sample(self, operator: SketchOperator, on_bad: OnBad, empty: RowSample) -> tuple[Sketch, RowSample]:
        """Sketch the rows, and sample those that `sample` looks at."""
        return self.sketch(operator, on_bad), self.sample(empty, np.random.default_rng(empty.seed))


def draw_pilot(rows: Source | HeldRows, rng: np.random.Generator, size: int = PILOT_ROWS) -> Pilot:
    """Draw a pilot of some rows, in proportion to their weights: the same one, wherever all of them are looked at."""
    held = SourceRows(rows) if isinstance(rows, Source) else rows
    return held.sample(RowSample.empty(rows.n_features, int(rng.integers(2**63)), size), rng).pilot()


class ArrayRows(HeldRows):
    """Rows in memory, (rows, n), as scikit-learn has validated them."""

    def __init__(self, rows: Rows, weights: Weights | None, names: tuple[str, ...] | None) -> None:
        self.rows, self.weights, self.names = rows, weights, names
        self.n_features, self.weighted = rows.shape[1], weights is not None

    def require_columns(self, operator: SketchOperator) -> None:
        """Do nothing: scikit-learn has compared them."""

    def sample(self, empty: RowSample, rng: np.random.Generator) -> RowSample:
        """Sample the rows; of 64 MB and more, some of them. If none is finite, name the first."""
        X, weights, most = self.rows, self.weights, LOOKED_AT_PER_ROW * empty.size
        if len(X) > max(most, LOOKED_AT // (8 * X.shape[1])):
            places = np.sort(rng.choice(len(X), most, replace=False, shuffle=False))
            X, weights = X[places], None if weights is None else weights[places]
        found = empty.added(X, weights)
        if not found.total:
            for start in range(0, len(self.rows), _BLOCK):
                require_finite(self.rows[start : start + _BLOCK], start)
        return found

    def sketch(self, operator: SketchOperator, on_bad: OnBad = "error", n_jobs: int | None = None) -> Sketch:
        """Sketch the rows."""
        return operator.sketch(self.rows, self.weights, n_jobs, on_bad=on_bad)

    def sketch_and_sample(self, operator: SketchOperator, on_bad: OnBad, empty: RowSample) -> tuple[Sketch, RowSample]:
        """Sketch the rows, and sample all of them; of 64 MB and more, those far away and one in a few."""
        sketch = self.sketch(operator, on_bad)
        if sketch.skipped:  # some are not finite
            return sketch, empty.added(self.rows, self.weights)
        return sketch, self.sample_by_leverage(empty)

    def sample_by_leverage(self, empty: RowSample) -> RowSample:
        """Sample rows that are finite, in units of 1."""
        X, weights = self.rows, self.weights
        every = len(X) // (LOOKED_AT_PER_ROW * empty.size)
        if every < 2 or len(X) <= LOOKED_AT // (8 * X.shape[1]):
            return empty.added(X, weights)
        bar, blocks = every / (_FAR * empty.factors[0] ** 2), range(0, len(X), _BLOCK)
        squares = (nearest(X[start : start + _BLOCK], empty.center[np.newaxis])[1] for start in blocks)
        far = np.concatenate([start + np.flatnonzero(some > bar) for start, some in zip(blocks, squares, strict=True)])
        starts = np.arange(0, len(X), every)
        sizes = np.minimum(every, len(X) - starts)
        some = starts + np.random.default_rng(empty.seed).integers(sizes)
        near = ~np.isin(some, far, assume_unique=True)
        chosen, counts = np.concatenate([some[near], far]), np.concatenate([sizes[near], np.ones_like(far)])
        return empty.added(X[chosen], counts if weights is None else counts * weights[chosen])


class SourceRows(HeldRows):
    """Rows that are read in batches: paths, sources, lazy frames, relations."""

    def __init__(
        self,
        data: object,
        columns: Sequence[Any] | None = None,
        usual: Sequence[str] | None = None,
        sample_weight: object = None,
    ) -> None:
        from qckm.sources.opening import open_source

        if sample_weight is not None:
            raise RowsError(
                f"Expected rows in memory beside sample_weight, got {type(data).__name__}: its rows count once each."
            )
        self._source = data if isinstance(data, Source) else open_source(data, columns, usual=usual)
        self.n_features, self.names = self._source.n_features, self._source.feature_names
        self.once = self._source.once

    def require_columns(self, operator: SketchOperator) -> None:
        """Refuse columns that are not the operator's."""
        require_columns(operator, self._source)

    def sample(self, empty: RowSample, rng: np.random.Generator) -> RowSample:
        """Sample finite rows: all rows of 64 MB at most, and those of a CSV or a stream in a file, read from its start.

        Of larger files with parts (Parquet, NumPy) some parts are read, at even distances; of a pipe, the first rows,
        which are then sketched like the rest.
        """
        source, found = self._source, empty
        if source.once:
            left = empty.size
            for rows in source.peek(empty.size):
                found, left = found.added(rows[:left]), max(0, left - len(rows))
        else:
            parts = _parts(source)
            count = sum(rows for _, _, rows in parts or [])
            if parts is None or 8 * source.n_features * count <= LOOKED_AT or count <= empty.size:
                for rows in source.look(LOOKED_AT):
                    found = found.added(rows)
            else:
                found = _of_parts(source, parts, empty, rng)
        if not found.total:
            table = source.tables[0]
            why = "".join(f": {words}" for words in table.faults.values())
            raise RowsError(f"{table.label}: expected rows of finite numbers, found none{why}.")
        return found

    def sketch(self, operator: SketchOperator, on_bad: OnBad = "error", n_jobs: int | None = None) -> Sketch:
        """Sketch the rows in one pass."""
        return operator.sketch(self._source, n_jobs=n_jobs, on_bad=on_bad)

    def sketch_and_sample(self, operator: SketchOperator, on_bad: OnBad, empty: RowSample) -> tuple[Sketch, RowSample]:
        """Sketch the rows and sample all of them, in one pass."""
        last = last_state(operator, self._source, State(operator.empty(), sample=empty), on_bad)
        return last.sketch, cast(RowSample, last.sample)


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
