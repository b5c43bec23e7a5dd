"""Rows as estimators take them: in memory, read in batches, or held by an engine; sampled and sketched alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np

from qckm.common.arrays import Floats, Rows, Weights
from qckm.errors import RowsError
from qckm.models import Model
from qckm.planning.row_sample import RowSample
from qckm.planning.sampling import SampledRows, sample_by_leverage, sample_of, sample_rows
from qckm.sketch import Sketch, SketchOperator
from qckm.sketch.sketch import State, last_state, require_columns
from qckm.sources.rows import OnBad, require_finite
from qckm.sources.source import Source

# Rows that are looked through at a time.
_BLOCK = 1 << 16


class HeldRows(SampledRows, Protocol):
    """Rows, wherever they are, as estimators ask for them."""

    weighted: bool  # whether the rows have weights

    def require_columns(self, operator: SketchOperator) -> None:
        """Refuse rows whose columns are not the operator's, before any work is done."""

    def sketch(self, operator: SketchOperator, on_bad: OnBad = "error") -> Sketch:
        """Sketch the rows where they are."""

    def sketch_and_sample(self, operator: SketchOperator, on_bad: OnBad, empty: RowSample) -> tuple[Sketch, RowSample]:
        """Sketch the rows and sample them: all of them, but where they are held by an engine in many parts."""


class EngineRows(HeldRows, Protocol):
    """Rows in the parts that an engine holds them in."""

    lazy: bool  # whether `nearest` and `distances` are there: results of a row each that stay with the engine

    def misfit(self, model: Model) -> tuple[float, Floats]:
        """Return Σ w·d² of the rows to their centroids, and the number of rows of each centroid, (K,)."""

    def nearest(self, model: Model) -> Any:
        """Return the nearest centroid of each row, as the engine holds such things, not computed yet."""

    def distances(self, model: Model, origin: Floats) -> Any:
        """Return the distance of each row to each centroid, likewise."""


class ArrayRows:
    """Rows in memory that scikit-learn has validated."""

    once = False

    def __init__(self, rows: Rows, weights: Weights | None, names: tuple[str, ...] | None) -> None:
        self.rows, self.weights, self.names = rows, weights, names
        self.n_features, self.weighted = rows.shape[1], weights is not None

    def require_columns(self, operator: SketchOperator) -> None:
        """Do nothing: scikit-learn has compared them."""

    def sketch(self, operator: SketchOperator, on_bad: OnBad = "error") -> Sketch:
        """Sketch the rows."""
        return operator.sketch(self.rows, self.weights, on_bad=on_bad)

    def sketch_and_sample(self, operator: SketchOperator, on_bad: OnBad, empty: RowSample) -> tuple[Sketch, RowSample]:
        """Sketch the rows, and sample all of them; of 64 MB and more, those far away and one in a few."""
        sketch = self.sketch(operator, on_bad)
        if sketch.skipped:  # some are not finite
            return sketch, empty.added(self.rows, self.weights)
        return sketch, sample_by_leverage(self.rows, self.weights, empty)

    def sample(self, empty: RowSample, rng: np.random.Generator) -> RowSample:
        """Sample the rows; if none of them is finite, name the first."""
        found = sample_rows(self.rows, self.weights, empty, rng)
        if not found.total:
            for start in range(0, len(self.rows), _BLOCK):
                block = self.rows[start : start + _BLOCK]
                require_finite(block, start)
        return found


class SourceRows:
    """Rows that are read in batches: paths, sources, lazy frames, relations."""

    weighted = False

    def __init__(
        self, data: object, columns: Sequence[Any] | None, usual: Sequence[str] | None, sample_weight: object
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

    def sketch(self, operator: SketchOperator, on_bad: OnBad = "error") -> Sketch:
        """Sketch the rows in one pass."""
        return operator.sketch(self._source, on_bad=on_bad)

    def sketch_and_sample(self, operator: SketchOperator, on_bad: OnBad, empty: RowSample) -> tuple[Sketch, RowSample]:
        """Sketch the rows and sample all of them, in one pass."""
        last = last_state(operator, self._source, State(operator.empty(), sample=empty), on_bad)
        return last.sketch, cast(RowSample, last.sample)

    def sample(self, empty: RowSample, rng: np.random.Generator) -> RowSample:
        """Sample the rows as a pilot is drawn of them."""
        return sample_of(self._source, empty, rng)
