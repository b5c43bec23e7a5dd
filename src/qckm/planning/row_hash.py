"""A 64-bit hash of each row's values: the same for equal rows, wherever and in whatever type they are held."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats

Hashes = npt.NDArray[np.uint64]

_MASK = (1 << 64) - 1
# The constants of splitmix64 (Steele, Lea and Flood 2014): its increment, and the multipliers of its last step.
_INCREMENT, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def canonical(rows: npt.NDArray[Any]) -> Floats:
    """Return rows (rows, n) as float64, in which equal values have equal bytes: -0.0 becomes 0.0."""
    with np.errstate(invalid="ignore"):  # NaNs that signal are NaNs
        values: Floats = np.add(rows, 0.0, dtype=np.float64, order="C")
    return values


def hash_rows(rows: Floats, seed: int) -> Hashes:
    """Hash canonical rows (rows, n): a sum of odd multiples of the columns' bits, modulo 2⁶⁴, mixed by splitmix64.

    Examples
    --------
    >>> import numpy as np
    >>> some = np.array([[1, -0.0], [1, 0.0]], np.float32)
    >>> len(set(hash_rows(canonical(some), seed=0).tolist()))
    1
    """
    bits = rows.view(np.uint64)
    # Whole numbers have zeros in their low bits, which a product with an odd number would leave there.
    folded = bits ^ (bits >> np.uint64(32))
    start, *multipliers = _odd_numbers(1 + rows.shape[1], seed)
    # The start is there for a row of zeros, whose hash would be 0 with every seed.
    return mixed(folded @ np.array(multipliers, np.uint64) + start)


def mixed(hashes: Hashes) -> Hashes:
    """Mix the bits of each number: the last step of splitmix64, one-to-one. The array is overwritten and returned."""
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        hashes ^= hashes >> np.uint64(shift)
        hashes *= np.uint64(factor)
    hashes ^= hashes >> np.uint64(31)
    return hashes


def _odd_numbers(count: int, seed: int) -> Hashes:
    """Return odd numbers, by splitmix64 from the seed on."""
    steps = np.array([(seed + (j + 1) * _INCREMENT) & _MASK for j in range(count)], np.uint64)
    return mixed(steps) | np.uint64(1)
