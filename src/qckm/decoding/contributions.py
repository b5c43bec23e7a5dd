"""What rows contribute to a sketch, written out: the matrix that calibration works with.

The matrix is walked through in blocks that fit a processor's cache, so that the two products of a step read memory
once. Blocks are a fixed number of rows and are added in order: results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.room import require_memory
from qckm.kernels.placement import current_gpu
from qckm.kernels.threads import Tasks, count_threads, share
from qckm.sketch import SketchOperator

if TYPE_CHECKING:
    from qckm.decoding.gpu_contributions import GpuContributions

# float32 has 24 bits, a contribution at most 16; sums are made in float64 where it matters.
Singles: TypeAlias = npt.NDArray[np.float32]
Result = TypeVar("Result")

# A block, in bytes: half of a common second-level cache.
_BLOCK = 1 << 19
# Smaller matrices are read faster by one thread than it takes to wake another.
_WORTH_THREADS = 1 << 25
# Rows whose measurements are made together.
_AT_A_TIME = 256
# What the eight bits of a byte contribute, the lowest first: +1 where a bit is 0.
_SIGNS = 1 - 2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little").astype(
    np.float32
)


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each of P rows contributes to each of M measurements, (P, M)."""

    matrix: Singles
    n_threads: int

    @classmethod
    def of_matrix(cls, matrix: Singles) -> Contributions:
        """Return what is given as a matrix (P, M); more threads than one where that pays."""
        return cls(matrix, count_threads(None) if matrix.nbytes > _WORTH_THREADS else 1)

    def squares(self, count: int) -> Floats:
        """Return ‖f(x_i)‖², (P,), over the first so many columns."""
        some = self.matrix[:, :count]
        squares: Floats = np.einsum("ij,ij->i", some, some).astype(np.float64)
        return squares

    def mean(self, weights: Floats) -> Floats:
        """Return Σ w_i f(x_i), (M,)."""
        light = weights.astype(np.float32)
        return self._sum(lambda at: light[at] @ self.matrix[at])

    def through(self, weights: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """Return Σ w_i f(x_i) (f(x_i)·direction), (M,), and f(x_i)·direction, (P,)."""
        along, light = np.empty(len(self.matrix)), direction.astype(np.float32)

        def add(at: slice) -> Singles:
            along[at] = self.matrix[at] @ light
            return (weights[at] * along[at]).astype(np.float32) @ self.matrix[at]

        return self._sum(add), along

    def _sum(self, part: Callable[[slice], Singles]) -> Floats:
        total = np.zeros(self.matrix.shape[1])
        for found in self._each(part):
            total += found
        return total

    def _each(self, part: Callable[[slice], Result]) -> list[Result]:
        """Return what each of the blocks gives, in order, whichever thread has done it."""
        rows = max(1, _BLOCK // max(1, 4 * self.matrix.shape[1]))
        blocks = [slice(first, first + rows) for first in range(0, len(self.matrix), rows)]

        def work(tasks: Tasks) -> list[tuple[int, Result]]:
            return [(number, part(blocks[number])) for number in tasks]

        done = dict(pair for some in share(work, len(blocks), self.n_threads) for pair in some)
        return [done[number] for number in range(len(blocks))]


def measure(operator: SketchOperator, rows: Floats, which: npt.NDArray[np.intp] | None = None) -> Singles:
    """Measure rows (P, n) one by one, at some of the frequencies or at all: (P, M)."""
    halves, m = 2 if operator.paired else 1, operator.n_frequencies
    which = np.arange(m) if which is None else which
    columns = np.concatenate([which + half * m for half in range(halves)])
    require_memory(4 * len(rows) * columns.size, f"Calibrating {len(rows)} rows by {columns.size} measurements")
    matrix = np.empty((len(rows), columns.size), np.float32)
    each = _bits if operator.signature.is_one_bit else _values
    for first in range(0, len(rows), _AT_A_TIME):
        at = slice(first, first + _AT_A_TIME)
        matrix[at] = each(operator, rows[at], columns)
    return matrix


def placed(matrix: Singles) -> Contributions | GpuContributions:
    """Return contributions (P, M) where sketches are computed."""
    gpu = current_gpu()
    if gpu is None:
        return Contributions.of_matrix(matrix)
    from qckm.decoding.gpu_contributions import GpuContributions

    return GpuContributions.of(matrix, gpu)


def _bits(operator: SketchOperator, rows: Floats, columns: npt.NDArray[np.intp]) -> Singles:
    signs = _SIGNS.take(operator.encode(rows), axis=0).reshape(len(rows), -1)
    return signs[:, : columns.size] if columns.size == operator.n_measurements else signs[:, columns]


def _values(operator: SketchOperator, rows: Floats, columns: npt.NDArray[np.intp]) -> Singles:
    half, which = np.divmod(columns, operator.n_frequencies)
    phases = (np.clip(rows, *operator.reach) - operator.origin) @ operator.frequencies[:, which] + operator.phases[
        which
    ]
    return operator.signature(phases + half * (np.pi / 2)).astype(np.float32)
