"""The job that looks at the rows a second time: how far they are from their centroids, and how many each one has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from qckm.common.arrays import Floats
from qckm.engines.jobs import Block, Job
from qckm.models import Model, read_model, to_json


class LabelJob(Job):
    """Return Σ w·d² and the rows of each centroid, as 1 + K float64."""

    kind = "label"

    def __init__(self, model: Model, n_jobs: int = 1) -> None:
        self._model, self._n_jobs = model, n_jobs

    def settings(self) -> tuple[dict[str, object], bytes]:
        """Return what `restore` needs; the model travels as JSON."""
        return {"n_jobs": self._n_jobs}, to_json(self._model)

    @classmethod
    def restore(cls, settings: dict[str, Any], data: bytes) -> LabelJob:
        """Return the job of such settings."""
        return cls(read_model(data, "model"), **settings)

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Return the sums of a partition."""
        total = np.zeros(1 + len(self._model.centers))
        for rows, weights in blocks:
            labels, distances = self._model.nearest(rows, self._n_jobs)
            total[0] += (distances**2).sum() if weights is None else np.asarray(weights) @ distances**2
            total[1:] += np.bincount(labels, minlength=len(total) - 1)
        return total.astype("<f8").tobytes()

    def merge(self, parts: Sequence[bytes]) -> bytes:
        """Return the sums of all."""
        return np.sum([sums_of(part) for part in parts], axis=0).astype("<f8").tobytes()


def sums_of(part: bytes) -> Floats:
    """Return the numbers of a result: Σ w·d², then the rows of each centroid."""
    return np.frombuffer(part, "<f8").astype(np.float64)
