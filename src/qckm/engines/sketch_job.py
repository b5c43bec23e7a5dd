"""The job that gives a sketch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from qckm.engines.jobs import Block, Job
from qckm.kernels.placement import computing_on
from qckm.sketch import Sketch, SketchOperator, files
from qckm.sketch.sketch_operator import sketch_batch
from qckm.sources.rows import OnBad
from qckm.sources.source import Batch, Position


class SketchJob(Job):
    """Sketch a partition: a .qckm file each, merged by adding.

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
            for rows, weights in blocks:
                batch = Batch(rows, "rows", row, self._names, Position(), 0)
                total += sketch_batch(self._operator, batch, self._on_bad, weights, self._n_jobs)
                row += len(rows)
        return files.dumps(total)

    def merge(self, parts: Sequence[bytes]) -> bytes:
        """Return the sum."""
        return files.dumps(add(self._operator, parts))


def add(operator: SketchOperator, parts: Iterable[bytes]) -> Sketch:
    """Return the sum of sketches that are .qckm bytes."""
    return sum((files.loads(part) for part in parts), operator.empty())
