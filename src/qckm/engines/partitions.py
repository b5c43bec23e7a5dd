"""Partitions: rows that an engine holds in parts. An engine says how a job is done on all of them; the rest is here."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from qckm.common.arrays import Floats
from qckm.engines.jobs import Job, MisfitJob, SampleJob, SketchJob
from qckm.errors import RowsError, SourceError
from qckm.kernels.sketcher import current_gpu
from qckm.models import Model
from qckm.planning.held_rows import HeldRows
from qckm.planning.row_sample import RowSample
from qckm.sketch import Sketch, SketchOperator
from qckm.sources.rows import OnBad
from qckm.sources.table import resolve

_NOT_LAZY = (
    "Only Dask arrays and frames are labelled by predict and transform. On Spark, qckm.engines.spark_ml "
    "has a CompressiveKMeans with a model whose transform adds a column; on Ray, dataset.map_batches calls a function, "
    "such as one with model.predict (to_model())."
)


class EngineRows(HeldRows):
    """Rows that lie somewhere else than in arrays of this process: with an engine, or on a GPU."""

    @abstractmethod
    def misfit(self, model: Model) -> tuple[float, Floats]:
        """Return Σ w·d² of the rows to their centroids, and the number of rows of each centroid, (K,)."""

    def nearest(self, model: Model) -> Any:
        """Return the nearest centroid of each row, as the engine holds such things, not computed yet."""
        raise SourceError(_NOT_LAZY)

    def distances(self, model: Model, origin: Floats) -> Any:
        """Return the distance of each row to each centroid, as the engine holds such things, not computed yet."""
        raise SourceError(_NOT_LAZY)

    def require_columns(self, operator: SketchOperator) -> None:
        """Refuse rows whose columns are not the operator's, before any work is done."""
        if self.n_features != operator.n_features:
            raise RowsError(
                f"Expected rows of {operator.n_features} features, as the operator has, got {self.n_features}."
                + (f" Columns: {', '.join(self.names[:12])}." if self.names else "")
            )
        expected = operator.feature_names
        if self.names and expected and self.names != expected:
            raise RowsError(
                f"Expected columns {', '.join(expected[:12])}, as the operator has, got {', '.join(self.names[:12])}. "
                "Select them in this order: qckm.sketch_source(operator, data, columns=[…]).",
                about="columns",
            )


class Partitions(EngineRows):
    """Rows that an engine holds in parts."""

    @abstractmethod
    def fold(self, job: Job, some: np.random.Generator | None = None) -> bytes:
        """Do a job on every partition and merge the results in a tree; b"" if there is no partition.

        With `some`, a generator, only a few dozen of the partitions are chosen: enough for a sample.
        """

    def sketch(self, operator: SketchOperator, on_bad: OnBad = "error", n_jobs: int | None = None) -> Sketch:
        """Sketch the rows; a task has one thread unless told otherwise, as engines run a task on each core."""
        self.require_columns(operator)
        device = None if current_gpu() is None else "cuda"  # a worker's own: dask-cuda shows each one GPU
        job = SketchJob(operator, self.names, on_bad, n_jobs or 1, device)
        return job.result(self.fold(job))

    def sample(self, empty: RowSample, rng: np.random.Generator) -> RowSample:
        """Sample the rows: of all partitions, or of some dozens where there are more."""
        job = SampleJob(empty)
        found = self.fold(job, some=rng) or self.fold(job)  # the few that were looked into were empty, perhaps
        return RowSample.loads(found) if found else empty

    def misfit(self, model: Model) -> tuple[float, Floats]:
        """Return Σ w·d² of the rows to their centroids, and the number of rows of each centroid, (K,)."""
        job = MisfitJob(model)
        sums = job.result(self.fold(job))
        return float(sums[0]), sums[1:]


def select_names(held: Sequence[Any], columns: Sequence[Any] | None, usual: Sequence[str] | None) -> list[Any]:
    """Return the columns to read: as asked for, by name or position, else the usual ones if all are there, else all."""
    if columns is None and usual is not None and set(usual) <= set(held):
        columns = usual
    wanted = list(held) if columns is None else resolve(columns, held)
    missing = [str(name) for name in wanted if name not in held]
    if missing:
        raise SourceError(
            f"Expected the column(s) {', '.join(missing)}, got {', '.join(str(name) for name in list(held)[:30])}."
        )
    if len(set(wanted)) != len(wanted):
        raise SourceError(f"Expected each column once, got {', '.join(map(str, wanted))}.")
    if not wanted:
        raise SourceError("Expected columns, got none.")
    return wanted


def columns_beside(weight: object, names: Sequence[str]) -> list[str]:
    """Return the columns of a table that are not its weights, if it has those."""
    if weight is not None and not isinstance(weight, str):
        raise SourceError(f"Expected the name of a column as sample_weight, got {type(weight).__name__}.")
    held = [name for name in names if name != weight]
    if weight is not None and weight not in names:
        raise SourceError(f"Expected the column {weight!r} of weights, got {', '.join(held[:30])}.")
    return held
