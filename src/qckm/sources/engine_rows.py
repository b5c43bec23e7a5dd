"""Rows that an engine holds: told by where their type comes from, and opened by whoever has registered for it.

No engine is known here, nor imported to find out: `qckm` itself registers those it has (engines/), and others may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from qckm.common.arrays import Floats
from qckm.errors import SourceError
from qckm.kernels.placement import is_on_gpu

if TYPE_CHECKING:  # what engines do with the rows is known above only
    from qckm.models import Model
    from qckm.planning.pilot import Pilot
    from qckm.planning.row_sample import RowSample
    from qckm.sketch import Sketch, SketchOperator
    from qckm.sketch.runs import OnBad


class HeldRows(Protocol):
    """Rows in the parts that an engine holds them in: what operators, estimators and planners ask of them."""

    n_features: int
    names: tuple[str, ...] | None  # of the columns, where they have names
    weighted: bool  # whether the rows have weights
    lazy: bool  # whether `nearest` and `distances` are there: results of a row each that stay with the engine

    def sketch(self, operator: SketchOperator, on_bad: OnBad = "error", n_jobs: int | None = None) -> Sketch:
        """Sketch the rows where they are."""

    def sample(self, seed: int, rng: np.random.Generator, size: int = ...) -> RowSample:
        """Sample the rows, across the parts."""

    def pilot(self, rng: np.random.Generator, size: int = ...) -> Pilot:
        """Draw a pilot across the parts."""

    def misfit(self, model: Model) -> tuple[float, Floats]:
        """Return Σ w·d² of the rows to their centroids, and the number of rows of each centroid, (K,)."""

    def nearest(self, model: Model) -> Any:
        """Return the nearest centroid of each row, as the engine holds such things, not computed yet."""

    def distances(self, model: Model, origin: Floats) -> Any:
        """Return the distance of each row to each centroid, likewise."""

    def require_columns(self, operator: SketchOperator) -> None:
        """Refuse rows whose columns are not the operator's, before any work is done."""


# The library of arrays that lie on a GPU, whoever made them.
GPU = "arrays on a GPU"

Opener = Callable[[object, Sequence[str] | str | None, Sequence[str] | None, object], HeldRows]

_ENGINES: dict[str, tuple[str, Opener]] = {}


def register(engines: Mapping[str, str], opener: Opener) -> None:
    """Say who opens the types of some libraries, and what their engines are called: {"pyspark": "spark"}."""
    _ENGINES.update({library: (name, opener) for library, name in engines.items()})


def engine_of(data: object) -> str | None:
    """Return the engine ("dask", "spark", "ray" or "gpu") that holds some data; None for what lies in this process.

    Examples
    --------
    >>> engine_of([[0.0, 1.0]]) is None
    True
    """
    return _ENGINES.get(_library_of(data), (None,))[0]


def open_held(
    data: object,
    columns: Sequence[str] | str | None = None,
    usual: Sequence[str] | None = None,
    sample_weight: object = None,
) -> HeldRows:
    """Open rows that an engine holds; `usual` are the columns to read where none are asked for, if all are there."""
    if engine_of(data) is None:
        known = ", ".join(sorted({name for name, _ in _ENGINES.values()}))
        raise SourceError(f"Expected rows held by {known}, got {type(data).__name__}.")
    return _ENGINES[_library_of(data)][1](data, columns, usual, sample_weight)


def _library_of(data: object) -> str:
    return GPU if is_on_gpu(data) else type(data).__module__.split(".", 1)[0]
