"""Matrices of small numbers, float32 or int16, and their products with vectors, in one order of sums for all machines.

Contributions that are not signs are such: entries of a signature's table, and columns of rows. A row is widened to
float64 as it is read (core/algebra_inc.h).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.kernels import library
from qckm.kernels.calling import Struct, fields, multiply
from qckm.kernels.threads import count_threads

# Smaller matrices are read faster by one thread than it takes to wake another.
_WORTH_THREADS = 1 << 22
# Numbers that NumPy widens at a time.
_WIDENED = 1 << 20


class _Values(Struct):
    _fields_ = fields(integers="rows columns number", numbers="unit", arrays="numbers")


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers (P, M) of float32 or int16, each of which stands for so many units."""

    matrix: npt.NDArray[np.float32] | npt.NDArray[np.int16]
    unit: float = 1.0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.matrix.shape

    def times(self, vectors: Floats) -> Floats:
        """Multiply with vectors (L, M): the products of all rows with each, (L, P).

        Examples
        --------
        >>> Values(np.array([[1, 2], [3, 4]], np.int16), 0.5).times(np.array([[1.0, 10.0]]))
        array([[10.5, 21.5]])
        """
        if library.load() is None:
            parts = [vectors @ self._widened(at).T for at in self._blocks()]
            return np.concatenate(parts, axis=1) if parts else np.empty((len(vectors), 0))
        return self._multiply("qckm_multiply_values", self.shape, vectors)

    def times_rows(self, vectors: Floats) -> Floats:
        """Multiply the transposed matrix with vectors (L, P): the products of all columns with each, (L, M)."""
        if library.load() is None:
            total = np.zeros((len(vectors), self.shape[1]))
            for at in self._blocks():
                total += vectors[:, at] @ self._widened(at)
            return total
        return self._multiply("qckm_multiply_columns_of_values", self.shape[::-1], vectors)

    def squares(self, count: int) -> Floats:
        """Return the sum of the squares of the first so many columns, (P,)."""
        parts = [(self._widened(at)[:, :count] ** 2).sum(axis=1) for at in self._blocks()]
        return np.concatenate([np.empty(0), *parts])

    def _multiply(self, name: str, shape: tuple[int, int], vectors: Floats) -> Floats:
        matrix = np.ascontiguousarray(self.matrix)
        kind = _Values(*self.shape, library.NUMBERS[f"{matrix.dtype.kind}{matrix.dtype.itemsize}"], self.unit, matrix)
        n_threads = count_threads(None) if matrix.size >= _WORTH_THREADS else 1
        return multiply(name, kind, shape, vectors, n_threads)

    def _blocks(self) -> list[slice]:
        height = max(1, _WIDENED // max(1, self.shape[1]))
        return [slice(first, first + height) for first in range(0, len(self.matrix), height)]

    def _widened(self, at: slice) -> Floats:
        widened: Floats = self.unit * self.matrix[at].astype(np.float64)
        return widened
