"""What values of this package are made of: the types of arrays, frozen dataclasses that travel, digests."""

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


def sha256(data: bytes | memoryview = b"") -> _Hash:
    """Begin a digest with some bytes."""
    import hashlib  # OpenSSL, which takes longer to load than most of qckm

    return hashlib.sha256(data)
