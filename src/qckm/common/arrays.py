"""What values of this package are made of: arrays, whole numbers of up to 95 bits, frozen dataclasses, digests."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from hashlib import _Hash


Floats: TypeAlias = npt.NDArray[np.float64]
Int64s: TypeAlias = npt.NDArray[np.int64]
Int32s: TypeAlias = npt.NDArray[np.int32]
Int16s: TypeAlias = npt.NDArray[np.int16]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Flags: TypeAlias = npt.NDArray[np.bool_]
# Of any numbers.
Array: TypeAlias = npt.NDArray[Any]
# Rows (rows, n) as somebody holds them: float32, float64 or integers, in any layout.
Rows: TypeAlias = Array
# Of rows, (rows,): whole numbers, whose sums are exact, or others.
Weights: TypeAlias = Int64s | Floats
# Whole numbers of up to 95 bits, as sums of codes may be, (2, n): the first word of each counts in units of 2**32, and
# the second is from 0 to 2**32 − 1.
Wide: TypeAlias = Int64s

_WORD = 32
_LOW = (1 << _WORD) - 1


@dataclass(frozen=True, eq=False)
class Value:
    """Base of frozen dataclasses: a copy is built anew from the fields, and checked as any other.

    What was cached in the original (`cached_property`) stays behind. It may hold addresses of memory, which mean
    nothing in another process, and in a copy belong to arrays that somebody else owns.

    Examples
    --------
    >>> import copy, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)
    >>> copy.deepcopy(op) == op
    True
    """

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))


def add_wide(first: Wide, second: Wide) -> Wide:
    """Return the sums of two arrays of wide numbers."""
    return _carried(first + second)


def add_shifted(numbers: Wide, values: Int64s, shift: int) -> Wide:
    """Return wide numbers plus values (n,) of 64 bits, times 2**shift."""
    if shift >= _WORD:
        return np.stack([numbers[0] + (values << (shift - _WORD)), numbers[1]])
    high, low = values >> _WORD, (values & _LOW) << shift  # the latter below 2**63
    return _carried(numbers + np.stack([(high << shift) + (low >> _WORD), low & _LOW]))


def _carried(words: Wide) -> Wide:
    high, low = words
    return np.stack([high + (low >> _WORD), low & _LOW])


def is_wide(numbers: Int64s, size: int) -> bool:
    """Return whether an array is one of so many wide numbers."""
    return numbers.shape == (2, size) and bool(((numbers[1] >= 0) & (numbers[1] <= _LOW)).all())


def integers_of(numbers: Wide) -> list[int]:
    """Return wide numbers as Python has them."""
    return [(high << _WORD) + low for high, low in numbers.T.tolist()]


def floats_of(numbers: Wide) -> Floats:
    """Return wide numbers as the nearest float64s."""
    high, low = numbers
    floats: Floats = high * float(1 << _WORD) + low
    return floats


def array_of(numbers: Wide) -> Array:
    """Return wide numbers as one array, of int64 where they are small, else of Python's own."""
    high, low = numbers
    if len(high) and max(int(high.max()), -int(high.min())) >= 1 << (_WORD - 4):
        return np.array(integers_of(numbers), object)
    small: Int64s = (high << _WORD) + low
    return small


def wide_of(values: Array) -> Wide:
    """Undo `array_of`; numbers of more than 95 bits are an `OverflowError`."""
    return np.stack([(values >> _WORD).astype(np.int64), (values & _LOW).astype(np.int64)])


def sha256(data: bytes | memoryview = b"") -> _Hash:
    """Begin a digest with some bytes."""
    import hashlib  # OpenSSL, which takes longer to load than most of qckm

    return hashlib.sha256(data)
