"""Whole numbers of up to 95 bits, as sums of codes may be: two int64 words each, the first counting in units of 2**32.

The second word is from 0 to 2**32 − 1. Arrays are (2, n), one number per column.
"""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Array, Floats, Int64s

_BITS = 32
_MASK = (1 << _BITS) - 1


def zeros(size: int) -> Int64s:
    """Return so many numbers 0."""
    return np.zeros((2, size), np.int64)


def add(first: Int64s, second: Int64s) -> Int64s:
    """Return the sums of two arrays of numbers."""
    return _carried(first + second)


def subtract(first: Int64s, second: Int64s) -> Int64s:
    """Return the differences of two arrays of numbers."""
    return _carried(first - second)


def add_shifted(numbers: Int64s, values: Int64s, shift: int) -> Int64s:
    """Return numbers plus values (n,) of 64 bits, times 2**shift."""
    if shift >= _BITS:
        return np.stack([numbers[0] + (values << (shift - _BITS)), numbers[1]])
    high, low = values >> _BITS, (values & _MASK) << shift  # the latter below 2**63
    return _carried(numbers + np.stack([(high << shift) + (low >> _BITS), low & _MASK]))


def to_integers(numbers: Int64s) -> list[int]:
    """Return the numbers as Python has them, of any size."""
    return [(high << _BITS) + low for high, low in numbers.T.tolist()]


def to_floats(numbers: Int64s) -> Floats:
    """Return the numbers as the nearest float64s."""
    high, low = numbers
    floats: Floats = high * float(1 << _BITS) + low
    return floats


def to_array(numbers: Int64s) -> Array:
    """Return the numbers as one array, of int64 where they are small, else of Python's own."""
    high, low = numbers
    if len(high) and max(int(high.max()), -int(high.min())) >= 1 << (_BITS - 4):
        return np.array(to_integers(numbers), object)
    small: Int64s = (high << _BITS) + low
    return small


def from_array(values: Array) -> Int64s:
    """Undo `to_array`; numbers of more than 95 bits are an `OverflowError`."""
    return np.stack([(values >> _BITS).astype(np.int64), (values & _MASK).astype(np.int64)])


def is_wide(numbers: Int64s, size: int) -> bool:
    """Return whether an array is one of so many numbers."""
    return numbers.shape == (2, size) and bool(((numbers[1] >= 0) & (numbers[1] <= _MASK)).all())


def _carried(words: Int64s) -> Int64s:
    high, low = words
    return np.stack([high + (low >> _BITS), low & _MASK])
