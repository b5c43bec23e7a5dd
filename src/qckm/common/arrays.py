"""The arrays of this package, by what they hold: one place for the names of types."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

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
