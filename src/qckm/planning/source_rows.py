"""Rows in files, as estimators ask for them: sketched and sampled in batches, never held as a whole."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from qckm.errors import RowsError
from qckm.planning.pilot import PILOT_ROWS, Pilot
from qckm.planning.row_sample import RowSample
from qckm.planning.sampling import draw_pilot_of, sample_of
from qckm.sketch import Sketch, SketchOperator
from qckm.sketch.runs import OnBad, require_columns, sketch_source
from qckm.sources.opening import open_source
from qckm.sources.source import Source

if TYPE_CHECKING:
    from qckm.common.arrays import Floats
    from qckm.models import Model


def is_in_files(X: object) -> bool:
    """Whether rows are given by where they are: a path, or what `qckm.open_source` gives."""
    return isinstance(X, (str, os.PathLike, Source))


class SourceRows:
    """The rows of a source, as those that an engine holds (`HeldRows`); there are no results of a row each."""

    weighted = lazy = False

    def __init__(self, data: Any, sample_weight: object = None) -> None:
        if sample_weight is not None:
            raise RowsError("Expected rows in memory beside sample_weight, got a file: its rows count once each.")
        self._source = data if isinstance(data, Source) else open_source(data)
        self.n_features, self.names = self._source.n_features, self._source.feature_names

    def sketch(self, operator: SketchOperator, on_bad: OnBad = "error", n_jobs: int | None = None) -> Sketch:
        """Sketch the rows in one pass."""
        return sketch_source(operator, self._source, on_bad=on_bad)

    def sample(self, seed: int, rng: np.random.Generator, size: int = PILOT_ROWS) -> RowSample:
        """Sample the rows as a pilot is drawn of them."""
        return sample_of(self._source, RowSample.empty(self.n_features, seed, size), rng)

    def pilot(self, rng: np.random.Generator, size: int = PILOT_ROWS) -> Pilot:
        """Draw a pilot."""
        return draw_pilot_of(self._source, rng, size)

    def require_columns(self, operator: SketchOperator) -> None:
        """Refuse columns that are not the operator's."""
        require_columns(operator, self._source)

    def misfit(self, model: Model) -> tuple[float, Floats]:
        """Refuse: nobody asks where there are no results of a row each."""
        raise NotImplementedError

    def nearest(self, model: Model) -> Any:
        """Refuse, likewise."""
        raise NotImplementedError

    def distances(self, model: Model, origin: Floats) -> Any:
        """Refuse, likewise."""
        raise NotImplementedError
