"""The job that draws a pilot: a sample that merges like a sketch, the same in whatever partitions the rows are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from qckm.engines.jobs import Block, Job
from qckm.planning.pilot import PILOT_ROWS
from qckm.planning.row_sample import RowSample
from qckm.sources.rows import as_weights

# Partitions that are looked into: a pilot should not cost a pass.
PARTS = 32


class SampleJob(Job):
    """Sample the finite rows of a partition.

    Parameters
    ----------
    seed : int
        Of the rows' hashes.
    size : int
        The rows wanted.
    """

    kind = "sample"

    def __init__(self, seed: int, size: int = PILOT_ROWS) -> None:
        self._seed, self._size = seed, size

    def settings(self) -> tuple[dict[str, object], bytes]:
        """Return what `restore` needs."""
        return {"seed": self._seed, "size": self._size}, b""

    @classmethod
    def restore(cls, settings: dict[str, Any], data: bytes) -> SampleJob:
        """Return the job of such settings."""
        return cls(**settings)

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Return the sample of a partition."""
        kept: RowSample | None = None
        for rows, weights in blocks:
            kept = kept or RowSample.empty(rows.shape[1], self._seed, self._size)
            kept = kept.added(rows, None if weights is None else as_weights(weights, len(rows)))
        return b"" if kept is None or not kept.total else kept.dumps()

    def merge(self, parts: Sequence[bytes]) -> bytes:
        """Return the sample of all."""
        kept = [RowSample.loads(part) for part in parts if part]
        return reduce(RowSample.merged, kept).dumps() if kept else b""


def choose_parts(n_parts: int, rng: np.random.Generator) -> list[int]:
    """Choose at most 32 of the partitions, at even distances: where the data are sorted, neighbours are alike."""
    if n_parts <= PARTS:
        return list(range(n_parts))
    marks = (np.arange(PARTS) + rng.random()) * (n_parts / PARTS)
    return [int(mark) for mark in marks]
