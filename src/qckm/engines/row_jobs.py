"""The jobs that every engine does on rows: a sketch of them, a sample, how far they are from centroids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from qckm.engines.jobs import Block, CountingJob, Job
from qckm.kernels.sketcher import computing_on
from qckm.models import Model, read_model, to_json
from qckm.planning.row_sample import RowSample
from qckm.sketch import Sketch, SketchOperator, files
from qckm.sketch.files import dumps_sums, loads_sums
from qckm.sketch.sketch import sketch_batch
from qckm.sources.rows import OnBad, as_weights
from qckm.sources.source import Batch, Position

# Partitions that are looked into for a sample: it should not cost a pass.
SAMPLED_PARTS = 32


class SketchJob(Job):
    """Sketch a partition: sums without their operator, merged by adding.

    Parameters
    ----------
    operator : SketchOperator
    names : sequence of str, optional
        What errors call the columns.
    on_bad : {"error", "skip"}
    n_jobs : int
        Threads of one task. Engines run a task on each core already, hence 1.
    device : str, optional
        Where a task sketches its rows: "cuda" on the worker's GPU.
    """

    kind = "sketch"

    def __init__(
        self,
        operator: SketchOperator,
        names: Sequence[str] | None = None,
        on_bad: OnBad = "error",
        n_jobs: int = 1,
        device: str | None = None,
    ) -> None:
        self._operator, self._on_bad, self._n_jobs, self._device = operator, on_bad, n_jobs, device
        self._names = tuple(names or operator.feature_names or map(str, range(operator.n_features)))

    def settings(self) -> tuple[dict[str, object], bytes]:
        """Return what `restore` needs; the operator travels as the sketch of no rows."""
        settings: dict[str, object] = {"names": self._names, "on_bad": self._on_bad, "n_jobs": self._n_jobs}
        settings["device"] = self._device
        return settings, files.dumps(self._operator.empty())

    @classmethod
    def restore(cls, settings: dict[str, Any], data: bytes) -> SketchJob:
        """Return the job of such settings."""
        return cls(files.loads(data).operator, **settings)

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Return the sketch of a partition."""
        total, row = self._operator.empty(), 0
        with computing_on(self._device):
            for rows, weights, found, _ in blocks:
                batch = found or Batch(rows, "rows", row, self._names, Position(), 0)
                total += sketch_batch(self._operator, batch, self._on_bad, weights, self._n_jobs)
                row += len(rows)
        return dumps_sums(total)

    def merge(self, parts: Sequence[bytes]) -> bytes:
        """Return the sum."""
        return dumps_sums(sum((self.result(part) for part in parts), self._operator.empty()))

    def result(self, part: bytes) -> Sketch:
        """Return the sketch of a result; of no partitions, that of no rows."""
        return loads_sums(part, self._operator) if part else self._operator.empty()


class SampleJob(Job):
    """Sample the finite rows of a partition; samples merge, so that partitions do not matter.

    Parameters
    ----------
    empty : RowSample
        Of no rows.
    """

    kind = "sample"

    def __init__(self, empty: RowSample) -> None:
        self._empty = empty

    def settings(self) -> tuple[dict[str, object], bytes]:
        """Return what `restore` needs."""
        return {}, self._empty.dumps()

    @classmethod
    def restore(cls, settings: dict[str, Any], data: bytes) -> SampleJob:
        """Return the job of such settings."""
        return cls(RowSample.loads(data))

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Return the sample of a partition."""
        kept = self._empty
        for rows, weights, *_ in blocks:
            kept = kept.added(rows, None if weights is None else as_weights(weights, len(rows)))
        return kept.dumps() if kept.total else b""

    def merge(self, parts: Sequence[bytes]) -> bytes:
        """Return the sample of all."""
        kept = [RowSample.loads(part) for part in parts if part]
        return reduce(RowSample.merged, kept).dumps() if kept else b""


def choose_parts(n_parts: int, rng: np.random.Generator) -> list[int]:
    """Choose at most 32 of the partitions, at even distances: where the data are sorted, neighbours are alike."""
    if n_parts <= SAMPLED_PARTS:
        return list(range(n_parts))
    marks = (np.arange(SAMPLED_PARTS) + rng.random()) * (n_parts / SAMPLED_PARTS)
    return [int(mark) for mark in marks]


class MisfitJob(CountingJob):
    """Look at the rows a second time: return Σ w·d² and the rows of each centroid, as 1 + K float64."""

    kind, number = "misfit", "<f8"

    def __init__(self, model: Model, n_jobs: int = 1) -> None:
        self._model, self._n_jobs = model, n_jobs

    def settings(self) -> tuple[dict[str, object], bytes]:
        """Return what `restore` needs; the model travels as JSON."""
        return {"n_jobs": self._n_jobs}, to_json(self._model)

    @classmethod
    def restore(cls, settings: dict[str, Any], data: bytes) -> MisfitJob:
        """Return the job of such settings."""
        return cls(read_model(data, "model"), **settings)

    @property
    def size(self) -> int:
        """How many numbers a result is: Σ w·d², then the rows of each centroid."""
        return 1 + len(self._model.centers)

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Return the sums of a partition."""
        total = np.zeros(self.size)
        for rows, weights, *_ in blocks:
            labels, distances = self._model.nearest(rows, self._n_jobs)
            total[0] += (distances**2).sum() if weights is None else np.asarray(weights) @ distances**2
            total[1:] += np.bincount(labels, minlength=len(total) - 1)
        return total.astype(self.number).tobytes()
