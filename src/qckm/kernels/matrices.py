"""Matrices of contributions and their products with vectors, the same on every machine and in any number of threads.

Contributions of the one-bit signature are signs, a bit each: what calibration multiplies. A vector becomes integers,
all its numbers times one power of two: the largest at which the sum of any 256 neighbours, whatever their signs, fits
32 bits. Sums of integers are exact, by the C core (core/signs_inc.h) and by NumPy; what products are off, they owe to
the rounding of the vector alone: 2**−31 of a sum of 256 sizes each, about what float32 sums would be off.

Other contributions, entries of a signature's table, and columns of rows are small numbers, int16 or float32, each
widened to float64 as it is read, in one order of sums (core/algebra_inc.h).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Bytes, Floats, Int64s
from qckm.kernels import library
from qckm.kernels.library import Struct, call, fields, floats
from qckm.kernels.threads import Tasks, count_threads, share

Words: TypeAlias = npt.NDArray[np.uint32]

# As the C core has them: columns whose numbers share a sum of 32 bits, and rows that are worked on together.
_TOGETHER, _BLOCK = 256, 32
# Products of signs below which to wake another thread takes about as long as it saves: a quarter of a millisecond with
# AVX-512; and the size of a matrix of numbers below which it does.
_WORTH_THREADS, _VALUES_WORTH_THREADS = 1 << 26, 1 << 22
# Signs or numbers that NumPy writes out as float64 at a time.
_WRITTEN_OUT = 1 << 20


class _Packing(Struct):
    _fields_ = fields(integers="rows row_bytes measured columns", arrays="bits which by_rows by_columns")


class _Signs(Struct):
    _fields_ = fields(integers="rows columns", arrays="words")


@dataclass(frozen=True, eq=False)
class CompiledSigns:
    """Signs as the C core has them: those of rows and those of columns, two bits a sign."""

    shape: tuple[int, int]
    by_rows: Words
    by_columns: Words
    n_threads: int

    @classmethod
    def of_bits(cls, bits: Bytes, n_measurements: int, which: Int64s | None) -> CompiledSigns:
        """Lay out signs."""
        bits = np.ascontiguousarray(bits)
        chosen = np.arange(n_measurements) if which is None else np.ascontiguousarray(which, np.int64)
        shape = len(bits), len(chosen)
        by_rows, by_columns = np.empty((2, *(-(-size // _BLOCK) for size in shape), _BLOCK), np.uint32)
        call(
            "qckm_pack_signs",
            _Packing(len(bits), bits.shape[1], n_measurements, shape[1], bits, chosen, by_rows, by_columns),
        )
        return cls(shape, by_rows, by_columns, count_threads(None))

    def times(self, vectors: Floats) -> Floats:
        """Multiply with vectors (L, M): the products of all rows with each, (L, P). NaN and infinity give NaN only."""
        return self._multiply(_Signs(*self.shape, self.by_rows), vectors)

    def times_rows(self, vectors: Floats) -> Floats:
        """Multiply the transposed matrix with vectors (L, P): the products of all columns with each, (L, M)."""
        return self._multiply(_Signs(*self.shape[::-1], self.by_columns), vectors)

    def _multiply(self, signs: _Signs, vectors: Floats) -> Floats:
        n_threads = self.n_threads if vectors.size * signs.rows >= _WORTH_THREADS else 1
        return _multiply("qckm_multiply_signs", signs, (signs.rows, signs.columns), vectors, n_threads, _BLOCK)


@dataclass(frozen=True, eq=False)
class PortableSigns:
    """Signs as bits, for NumPy."""

    shape: tuple[int, int]
    bits: Bytes

    @classmethod
    def of_bits(cls, bits: Bytes, n_measurements: int, which: Int64s | None) -> PortableSigns:
        """Choose the bits of some measurements."""
        if which is not None:
            ones = np.unpackbits(bits, axis=1, count=n_measurements, bitorder="little")[:, which]
            bits, n_measurements = np.packbits(ones, axis=1, bitorder="little"), len(which)
        return cls((len(bits), n_measurements), bits)

    def times(self, vectors: Floats) -> Floats:
        """Multiply with vectors (L, M)."""
        integers, units = _fixed(vectors)
        parts = [integers @ signs.T for _, signs in self._written_out()]
        return np.concatenate(parts, axis=1) * units

    def times_rows(self, vectors: Floats) -> Floats:
        """Multiply the transposed matrix with vectors (L, P)."""
        integers, units = _fixed(vectors)
        total = np.zeros((len(vectors), self.shape[1]))
        for at, signs in self._written_out():
            total += integers[:, at] @ signs
        return total * units

    def _written_out(self) -> Iterator[tuple[slice, Floats]]:
        height = max(1, _WRITTEN_OUT // self.shape[1])
        for first in range(0, len(self.bits), height):
            at = slice(first, first + height)
            ones = np.unpackbits(self.bits[at], axis=1, count=self.shape[1], bitorder="little")
            yield at, 1.0 - 2.0 * ones.astype(np.float64)


# A matrix of signs (P, M).
Signs: TypeAlias = CompiledSigns | PortableSigns


def pack_signs(bits: Bytes, n_measurements: int, which: Int64s | None = None) -> Signs:
    """Return the signs that bits (P, ceil(n_measurements / 8)) of rows stand for, of some measurements or of all.

    Examples
    --------
    >>> signs = pack_signs(np.array([[0b01], [0b10]], np.uint8), 2)  # −1 +1, +1 −1
    >>> signs.times(np.array([[1.0, 10.0]])), signs.times_rows(np.array([[1.0, 10.0]]))
    (array([[ 9., -9.]]), array([[ 9., -9.]]))
    """
    if library.load() is None:
        return PortableSigns.of_bits(bits, n_measurements, which)
    return CompiledSigns.of_bits(bits, n_measurements, which)


def _fixed(vectors: Floats) -> tuple[Floats, Floats]:
    """Return the integers that stand for vectors (L, columns), and their units (L, 1): NaN where one is not finite.

    Sums of these integers are below 2**53, exact as float64 in whatever order BLAS adds them up.
    """
    integers, units = np.zeros(vectors.shape), np.full((len(vectors), 1), np.nan)
    for row, vector in enumerate(vectors):
        if np.isfinite(vector).all():
            sizes = np.abs(vector)
            power = min(31 - int(np.frexp(sizes.max(initial=0.0))[1]), 1000)
            starts = np.arange(0, len(sizes), _TOGETHER)
            sums = np.add.reduceat(np.rint(np.ldexp(sizes, power)).astype(np.int64), starts)
            power -= max(0, int(sums.max()).bit_length() - 30)
            integers[row], units[row] = np.rint(np.ldexp(vector, power)), np.ldexp(1.0, -power)
    return integers, units


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
        n_threads = count_threads(None) if matrix.size >= _VALUES_WORTH_THREADS else 1
        return _multiply(name, kind, shape, vectors, n_threads)

    def _blocks(self) -> list[slice]:
        height = max(1, _WRITTEN_OUT // max(1, self.shape[1]))
        return [slice(first, first + height) for first in range(0, len(self.matrix), height)]

    def _widened(self, at: slice) -> Floats:
        widened: Floats = self.unit * self.matrix[at].astype(np.float64)
        return widened


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each of P rows contributes to each of M totals, (P, M): signs and numbers, side by side."""

    parts: tuple[Signs | Values, ...]

    def squares(self, count: int) -> Floats:
        """Return ‖f(x_i)‖², (P,), over the first so many columns."""
        squares = np.zeros(self.parts[0].shape[0])
        for part in self.parts:
            squares += part.squares(count) if isinstance(part, Values) else min(count, part.shape[1])
            count = max(0, count - part.shape[1])
        return squares

    def mean(self, weights: Floats) -> Floats:
        """Return Σ w_i f(x_i), (M,)."""
        return np.concatenate([part.times_rows(weights[np.newaxis])[0] for part in self.parts])

    def through(self, weights: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """Return Σ w_i f(x_i) (f(x_i)·direction), (M,), and f(x_i)·direction, (P,)."""
        cuts = np.cumsum([part.shape[1] for part in self.parts])[:-1]
        along = np.zeros(weights.size)
        for part, own in zip(self.parts, np.split(direction, cuts), strict=True):
            along += part.times(own[np.newaxis])[0]
        return self.mean(weights * along), along


class _Products(Struct):
    _fields_ = fields(integers="first last count", arrays="vectors out")


def _multiply(
    name: str, matrix: Struct, shape: tuple[int, int], vectors: Floats, n_threads: int, together: int = 1
) -> Floats:
    """Multiply the rows of a matrix with vectors (L, columns): (L, rows). Threads share the rows, so many together."""
    (rows, columns), given = shape, floats(vectors)
    if given.shape[1] != columns:
        raise ValueError(f"expected vectors of {columns} numbers, got {given.shape[1]}")
    out = np.zeros((len(given), rows))
    height = together * -(-rows // (together * n_threads))

    def work(tasks: Tasks) -> None:
        for task in tasks:
            call(name, matrix, _Products(task * height, min(rows, (task + 1) * height), len(given), given, out))

    if given.size and out.size:
        share(work, -(-rows // height), n_threads)
    return out
