"""Sketching on the CPU: rows are coded, projected, measured and added up a few thousand at a time, by several threads.

What is prepared once for an operator is a `Sketcher`; what a thread works with, a workspace. Python sees a chunk of
rows every millisecond or so: often enough for Ctrl-C, seldom enough to cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from qckm.kernels.coding import Coder
from qckm.kernels.positions import Positions
from qckm.kernels.threads import Tasks, count_threads, share

Floats = npt.NDArray[np.float64]
Int64s = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int16]
Bytes = npt.NDArray[np.uint8]
Result = TypeVar("Result")

CHUNK_CODES = 1 << 18  # codes of a chunk: 512 KB, within a second-level cache
LEAST_ROWS = 508  # even so: frequencies are loaded for more than a few rows, and Python's part stays small
CHUNKS_A_THREAD = 4  # at least, where there are rows enough: so that no thread waits long for the last one
CHUNK_BYTES = 1 << 20  # of packed bits


class Projection(Protocol):
    """Frequencies, dither and signature, laid out for a kernel."""

    tile_rows: int  # a number of rows must be a multiple of this

    def scratch(self, height: int) -> Any:
        """Return what a thread needs for chunks of that many rows."""

    def sum(self, codes: Codes, scratch: Any) -> Int64s:
        """Return the sum (M,) of the contributions of coded rows."""

    def encode(self, codes: Codes, scratch: Any, bits: Bytes) -> None:
        """Write the packed contributions of the first rows of `codes`, as many as `bits` has."""


@dataclass
class Summary:
    """What a pass over some rows found."""

    total: Int64s
    lower: Floats
    upper: Floats
    count: int = 0
    saturated: int = 0
    not_finite: slice | None = None  # rows with a NaN or an infinity among them: nothing else is then right


class Sketcher:
    """A projection with the coding of rows before it, ready to be run over rows by threads.

    Parameters
    ----------
    projection : Projection
    steps, origin : ndarray of shape (n,)
    at_origin : ndarray of int64, shape (M,)
        The contribution of a row at the origin, all codes 0: chunks are filled up with such rows, and it is taken off.
    """

    def __init__(self, projection: Projection, steps: Floats, origin: Floats, at_origin: Int64s) -> None:
        self.projection, self.steps, self.origin, self.at_origin = projection, steps, origin, at_origin

    def sum(self, rows: npt.NDArray[Any], weights: Int64s | None = None, n_jobs: int | None = None) -> Summary:
        """Sum the contributions of rows (rows, n), each as often as its weight says."""
        summaries = self._share(rows, lambda room, tasks: room.sum(weights, tasks), n_jobs)
        return Summary(
            np.sum([part.total for part in summaries], axis=0),
            np.min([part.lower for part in summaries], axis=0),
            np.max([part.upper for part in summaries], axis=0),
            sum(part.count for part in summaries),
            sum(part.saturated for part in summaries),
            _first([part.not_finite for part in summaries]),
        )

    def encode(self, rows: npt.NDArray[Any], bits: Bytes, n_jobs: int | None = None) -> slice | None:
        """Write the contributions of rows as bits (rows, ceil(M / 8)); return rows that are not finite, if any are."""
        return _first(self._share(rows, lambda room, tasks: room.encode(bits, tasks), n_jobs))

    def _share(
        self, rows: npt.NDArray[Any], work: Callable[[_Workspace, Tasks], Result], n_jobs: int | None
    ) -> list[Result]:
        """Let threads work on chunks of the rows, each in a workspace of its own."""
        height, n_threads = max(LEAST_ROWS, CHUNK_CODES // len(self.steps)), 1
        if len(rows) > LEAST_ROWS:
            n_threads = count_threads(n_jobs)
            if n_threads > 1:
                height = min(height, max(LEAST_ROWS, len(rows) // (CHUNKS_A_THREAD * n_threads)))
        height = _round_up(min(height, max(1, len(rows))), self.projection.tile_rows)
        n_tasks = -(-len(rows) // height)
        return share(lambda tasks: work(_Workspace(self, rows, height), tasks), n_tasks, n_threads)


class _Workspace:
    """What one thread needs: room for the codes of a chunk, and for whatever the projection computes with."""

    def __init__(self, sketcher: Sketcher, rows: npt.NDArray[Any], height: int) -> None:
        self.projection, self.at_origin = sketcher.projection, sketcher.at_origin
        self.rows, self.height = rows, height
        self.coder = Coder(sketcher.steps, sketcher.origin, height, rows.dtype)
        self.scratch = self.projection.scratch(height)

    def sum(self, weights: Int64s | None, tasks: Tasks) -> Summary:
        summary = Summary(np.zeros_like(self.at_origin), *self.coder.bounds)
        for task in tasks:
            part = slice(task * self.height, (task + 1) * self.height)
            if not self._add(part, weights, summary):
                summary.not_finite = part
                tasks.stop()
        summary.lower, summary.upper = self.coder.bounds
        return summary

    def _add(self, part: slice, weights: Int64s | None, summary: Summary) -> bool:
        """Add a chunk of rows, unless one is not finite."""
        chunk = self.rows[part]
        if weights is None:
            if not self.coder.code(chunk):
                return False
            summary.count += len(chunk)
            summary.saturated += int(np.count_nonzero(self.coder.clipped[: len(chunk)]))
            summary.total += self._sum_codes(len(chunk))
            return True
        counts = weights[part]
        if not counts.all():  # a row of weight 0 is no row, and must not widen the bounds
            if not np.isfinite(chunk).all():
                return False
            chunk, counts = chunk[counts > 0], counts[counts > 0]
        if not self.coder.code(chunk):
            return False
        summary.count += int(counts.sum())
        summary.saturated += int(counts[self.coder.clipped[: len(chunk)] != 0].sum())
        # A whole weight is a sum of powers of two, so the rows that have a bit set in their weight make up a sum of
        # their own: exact for weights of any size, and for small ones about as fast as no weights.
        codes = self.coder.codes[: len(chunk)].copy()
        for bit in range(int(counts.max(initial=0)).bit_length()):
            chosen = codes[(counts >> bit) & 1 == 1]
            self.coder.codes[: len(chosen)] = chosen
            summary.total += self._sum_codes(len(chosen)) << bit
        return True

    def _sum_codes(self, n_rows: int) -> Int64s:
        filled = _round_up(n_rows, self.projection.tile_rows)
        self.coder.codes[n_rows:filled] = 0
        total = self.projection.sum(self.coder.codes[:filled], self.scratch)
        if filled > n_rows:
            total -= (filled - n_rows) * self.at_origin
        return total

    def encode(self, bits: Bytes, tasks: Tasks) -> slice | None:
        for task in tasks:
            part = slice(task * self.height, (task + 1) * self.height)
            chunk = self.rows[part]
            if not self.coder.code(chunk):
                tasks.stop()
                return part
            filled = _round_up(len(chunk), self.projection.tile_rows)
            self.projection.encode(self.coder.codes[:filled], self.scratch, bits[part])
        return None


def count_bits(bits: Bytes, n_jobs: int | None = None) -> Int64s:
    """Count the ones at each position of packed rows (rows, width): int64 (8·width,)."""
    height = max(1, CHUNK_BYTES // bits.shape[1])

    def work(tasks: Tasks) -> Int64s:
        positions = Positions(bits.shape[1])
        for task in tasks:
            positions.add(bits[task * height : (task + 1) * height])
        return positions.counts

    n_tasks = -(-len(bits) // height)
    total: Int64s = np.sum(share(work, n_tasks, count_threads(n_jobs) if n_tasks > 1 else 1), axis=0)
    return total


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _first(parts: list[slice | None]) -> slice | None:
    return min((part for part in parts if part is not None), key=lambda part: int(part.start), default=None)
