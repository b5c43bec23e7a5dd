"""The job that draws a pilot: a sample that merges like a sketch, in any order and in any grouping.

Without weights every row gets a random key, and the rows of the smallest keys are kept: a uniform sample. With weights
there are as many contests as rows are wanted, and a row wins each with probability in proportion to its weight: it has
the least of exponential variables of rates w. Of a whole block the least has the rate Σw, so a contest needs one key a
block, not one a row.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from qckm.common.arrays import Floats
from qckm.engines.jobs import Block, Job
from qckm.planning.pilot import PILOT_ROWS
from qckm.sources.rows import as_weights

# Partitions that are looked into: a pilot should not cost a pass.
PARTS = 32


class SampleJob(Job):
    """Draw finite rows of a partition, as a matrix in NumPy's format: a column of keys, then the rows.

    Parameters
    ----------
    seed : int
        Together with a partition's number it seeds the draw.
    weighted : bool
    size : int
        The rows wanted.
    """

    kind = "sample"

    def __init__(self, seed: int, weighted: bool = False, size: int = PILOT_ROWS) -> None:
        self._seed, self._weighted, self._size = seed, weighted, size

    def settings(self) -> tuple[dict[str, object], bytes]:
        """Return what `restore` needs."""
        return {"seed": self._seed, "weighted": self._weighted, "size": self._size}, b""

    @classmethod
    def restore(cls, settings: dict[str, Any], data: bytes) -> SampleJob:
        """Return the job of such settings."""
        return cls(**settings)

    def part(self, blocks: Iterable[Block], number: int) -> bytes:
        """Return the sample of a partition."""
        rng = np.random.default_rng([self._seed, number])
        kept: Floats | None = None
        for rows, weights in blocks:
            good = np.isfinite(rows).all(axis=1)
            found = np.asarray(rows[good], np.float64)
            heavy = None if weights is None else as_weights(weights, len(rows)).astype(np.float64)[good]
            fresh = self._contests(found, heavy, rng) if self._weighted else self._keys(found, rng)
            kept = fresh if kept is None else self._least([kept, fresh])
        return b"" if kept is None else _to_bytes(kept)

    def merge(self, parts: Sequence[bytes]) -> bytes:
        """Return the sample of all."""
        kept = [sample_of(part) for part in parts if part]
        return _to_bytes(self._least(kept)) if kept else b""

    def _keys(self, rows: Floats, rng: np.random.Generator) -> Floats:
        keys = rng.random(len(rows))
        if len(rows) > self._size:
            low = np.argpartition(keys, self._size - 1)[: self._size]
            rows, keys = rows[low], keys[low]
        return np.column_stack([keys, rows])

    def _contests(self, rows: Floats, weights: Floats | None, rng: np.random.Generator) -> Floats:
        edges = np.cumsum(np.ones(len(rows)) if weights is None else weights)
        if not len(edges) or not edges[-1] > 0:
            return np.empty((0, rows.shape[1] + 1))
        winners = np.searchsorted(edges, rng.random(self._size) * edges[-1], side="right")
        return np.column_stack([rng.exponential(size=self._size) / edges[-1], rows[winners]])

    def _least(self, samples: list[Floats]) -> Floats:
        samples = [sample for sample in samples if len(sample)] or samples[:1]
        if not self._weighted:
            together = np.concatenate(samples)
            return together[np.argsort(together[:, 0], kind="stable")[: self._size]]
        best = samples[0]
        for sample in samples[1:]:
            best = np.where(sample[:, :1] < best[:, :1], sample, best)
        return best


def sample_of(part: bytes) -> Floats:
    """Return the matrix of a result: keys, then rows."""
    matrix: Floats = np.load(io.BytesIO(part), allow_pickle=False)
    return matrix


def rows_of_sample(part: bytes, n_features: int) -> Floats:
    """Return the rows of a result, (rows, n)."""
    return sample_of(part)[:, 1:] if part else np.empty((0, n_features))


def choose_parts(n_parts: int, rng: np.random.Generator) -> list[int]:
    """Choose at most 32 of the partitions, at even distances: where the data are sorted, neighbours are alike."""
    if n_parts <= PARTS:
        return list(range(n_parts))
    marks = (np.arange(PARTS) + rng.random()) * (n_parts / PARTS)
    return [int(mark) for mark in marks]


def _to_bytes(matrix: Floats) -> bytes:
    out = io.BytesIO()
    np.save(out, matrix, allow_pickle=False)
    return out.getvalue()
