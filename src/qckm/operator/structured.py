"""Structured frequencies: blocks of Hadamard transforms with random signs, which project a row in m·log n steps.

A block is G = H·S₃·H·S₂·H·S₁, with the ±1 Hadamard matrix H of a power of two ≥ n and random diagonal signs: its rows
are orthogonal and point in directions that are as good as uniform. A frequency is a row of a block times a radius drawn
from the law. Everything is an integer: docs/arithmetic.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.errors import OperatorError
from qckm.kernels import reference
from qckm.kernels.threads import one_thread

LEAST_SIZE = 128  # of a block
FINE_TURN = 1 << 32  # one turn, while a structured phase is added up
# What unequal units are rounded to: a feature's factor is a whole number of 16ths of the largest.
FACTORS_PER_UNIT = 16
LEAST_FACTOR = 4
_FEATURES_AT_A_TIME = 64
# Radii are whole numbers too; the median must be at least this, so that the law's shape is not lost to rounding.
LEAST_RADIUS = 8


@dataclass(frozen=True, eq=False)
class StructuredCodes:
    """Structured frequencies as integers: what `frequency_codes` is for dense ones.

    Parameters
    ----------
    signs : ndarray of int8, shape (blocks, 3, size)
        ±1: the diagonals S₁, S₂, S₃ of each block.
    factors : ndarray of int32, shape (n,)
        What the code of each feature is multiplied by first: all 1 unless features have units of their own.
    radii : ndarray of int32, shape (m,)
        Radius of each frequency; frequency j is row j mod size of block j // size.
    """

    signs: npt.NDArray[np.int8]
    factors: npt.NDArray[np.int32]
    radii: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        n, m = self.shape
        size = block_size(n)
        if self.signs.shape != (-(-m // size), 3, size) or (np.abs(self.signs) != 1).any():
            raise OperatorError(f"Expected signs ±1 of shape {(-(-m // size), 3, size)}, got {self.signs.shape}.")
        if (self.factors < 1).any() or (self.factors > 1 << 15).any() or (self.radii < 1).any():
            raise OperatorError("Expected factors from 1 to 32768 and radii of at least 1.")

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m), as of a matrix."""
        return len(self.factors), len(self.radii)

    def setflags(self, write: bool) -> None:
        """Protect the arrays, as of a matrix."""
        for array in (self.signs, self.factors, self.radii):
            array.setflags(write=write)

    def codes(self) -> Floats:
        """Return the dense matrix (n, m) in 2**24ths of a turn per step, as of int16 codes but finer."""
        matrix = np.empty(self.shape)
        for features, mixed in _mix(self.signs, self.factors, self.shape[1]):
            np.multiply(mixed, self.radii * (reference.TURN / FINE_TURN), out=matrix[features])
        return matrix

    def packed_signs(self) -> npt.NDArray[np.uint8]:
        """Return the signs as bits, 1 standing for −1, little bit first: (blocks, 3, size / 8)."""
        return np.packbits(self.signs < 0, axis=-1, bitorder="little")


def unpack_signs(bits: npt.NDArray[np.uint8]) -> npt.NDArray[np.int8]:
    """Undo `packed_signs`."""
    return 1 - 2 * np.unpackbits(bits, axis=-1, bitorder="little").astype(np.int8)


def block_size(n: int) -> int:
    """Return the size of the blocks for n features: a power of two."""
    return max(LEAST_SIZE, 1 << (n - 1).bit_length())


def choose_factors(ratios: Floats) -> npt.NDArray[np.int32] | None:
    """Return the features' factors for steps in units, (n,); None where these are too far from each other."""
    if (ratios == ratios[0]).all():
        return np.ones(len(ratios), np.int32)
    factors = np.rint(ratios / ratios.max() * FACTORS_PER_UNIT).astype(np.int32)
    return None if factors.min() < LEAST_FACTOR else factors


def draw_structured(
    m: int, norms: Floats, units: Floats, steps: Floats, rng: np.random.Generator
) -> StructuredCodes | None:
    """Draw frequencies of given norms (m,), in radians per unit; None where integers would be too coarse for them.

    Codes count steps, and steps are powers of two. Where they are not in proportion to the units, whole factors make up
    for it, to within a 32nd of the largest.
    """
    n = len(units)
    size = block_size(n)
    signs = rng.choice(np.array([-1, 1], np.int8), (-(-m // size), 3, size))
    ratios = steps / units
    factors = choose_factors(ratios)
    if factors is None:
        return None
    squares, greatest = np.zeros(m), np.zeros(m)
    for features, mixed in _mix(signs, factors, m):
        for row in (mixed / ratios[features, np.newaxis]) ** 2:  # one by one: sums must not depend on how they are cut
            squares += row
        np.maximum(greatest, np.abs(mixed).max(axis=0), out=greatest)
    lengths = np.sqrt(squares) * (2 * np.pi / FINE_TURN)
    if not lengths.all():  # a row of a block may vanish on a handful of features
        return None
    radii = norms / lengths
    if np.median(radii) < LEAST_RADIUS:
        return None
    radii = np.maximum(1, np.rint(radii))
    if (greatest * radii >= FINE_TURN / 2).any():
        raise OperatorError("A frequency turns half around within one step: use smaller steps or a larger scale.")
    return StructuredCodes(signs, factors, radii.astype(np.int32))


def _mix(signs: npt.NDArray[np.int8], factors: npt.NDArray[np.int32], m: int) -> Iterator[tuple[slice, Floats]]:
    """Yield the blocks' matrices (n, m), some features at a time: all at once may be gigabytes.

    By matrix products in float64: the integers stay far below 2**53.
    """
    n, (_, _, size) = len(factors), signs.shape
    outer = 1 << (size.bit_length() // 2)
    left, right = _hadamard_matrix(np.arange(outer), outer), _hadamard_matrix(np.arange(size // outer), size // outer)
    for k in range(0, n, _FEATURES_AT_A_TIME):
        features = np.arange(k, min(n, k + _FEATURES_AT_A_TIME))
        mixed = np.empty((len(features), m))
        with one_thread():
            first = _hadamard_matrix(features, size) * factors[features, np.newaxis]
            for number, (one, two, three) in enumerate(signs):
                block = first * one[features, np.newaxis]
                for diagonal in (two, three):  # H is a Kronecker product of two small ones
                    parts = (block * diagonal).reshape(len(features), outer, size // outer)
                    block = (left @ parts @ right).reshape(len(features), size)
                at = number * size
                mixed[:, at : at + size] = block[:, : min(size, m - at)]
        yield slice(k, k + len(features)), mixed


def _hadamard_matrix(rows: npt.NDArray[np.intp], size: int) -> Floats:
    """Return rows of H: +1 or −1 as row and column number have an even or odd number of ones in common."""
    matrix: Floats = 1.0 - 2.0 * (np.bitwise_count(rows[:, np.newaxis] & np.arange(size)) & 1)
    return matrix
