"""Matrices of signs, one bit each, and their products with vectors: what calibration does with one-bit contributions.

A vector becomes integers, all its numbers times one power of two: the largest at which the sum of any 256 neighbours,
whatever their signs, fits 32 bits. Sums of integers are exact. So products are the same on every machine and with any
number of threads, by the C core (core/signs_inc.h) and by NumPy; what they are off, they owe to the rounding of the
vector alone: 2**−31 of a sum of 256 sizes each, about what float32 sums would be off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Bytes, Floats, Int64s
from qckm.kernels import library
from qckm.kernels.calling import Struct, call, fields, multiply
from qckm.kernels.sketcher import warn_of_slow_kernels
from qckm.kernels.threads import count_threads

Words: TypeAlias = npt.NDArray[np.uint32]

# As the C core has them: columns whose numbers share a sum of 32 bits, and rows that are worked on together.
_TOGETHER, _BLOCK = 256, 32
# Products below which to wake another thread takes about as long as it saves: a quarter of a millisecond with AVX-512.
_WORTH_THREADS = 1 << 26
# Signs that NumPy writes out at a time.
_WRITTEN_OUT = 1 << 20


class Signs(Protocol):
    """A matrix of signs (P, M)."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def times(self, vectors: Floats) -> Floats:
        """Multiply with vectors (L, M): the products of all rows with each, (L, P). NaN and infinity give NaN only."""

    def times_rows(self, vectors: Floats) -> Floats:
        """Multiply the transposed matrix with vectors (L, P): the products of all columns with each, (L, M)."""


def pack_signs(bits: Bytes, n_measurements: int, which: Int64s | None = None) -> Signs:
    """Return the signs that bits (P, ceil(n_measurements / 8)) of rows stand for, of some measurements or of all.

    Examples
    --------
    >>> signs = pack_signs(np.array([[0b01], [0b10]], np.uint8), 2)  # −1 +1, +1 −1
    >>> signs.times(np.array([[1.0, 10.0]])), signs.times_rows(np.array([[1.0, 10.0]]))
    (array([[ 9., -9.]]), array([[ 9., -9.]]))
    """
    if library.load() is None:
        warn_of_slow_kernels()
        return PortableSigns.of_bits(bits, n_measurements, which)
    return CompiledSigns.of_bits(bits, n_measurements, which)


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
        """Multiply with vectors (L, M)."""
        return self._multiply(_Signs(*self.shape, self.by_rows), vectors)

    def times_rows(self, vectors: Floats) -> Floats:
        """Multiply the transposed matrix with vectors (L, P)."""
        return self._multiply(_Signs(*self.shape[::-1], self.by_columns), vectors)

    def _multiply(self, signs: _Signs, vectors: Floats) -> Floats:
        n_threads = self.n_threads if vectors.size * signs.rows >= _WORTH_THREADS else 1
        return multiply("qckm_multiply_signs", signs, (signs.rows, signs.columns), vectors, n_threads, _BLOCK)


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
