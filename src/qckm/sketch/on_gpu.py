"""What an operator does with rows and bits that lie on a GPU: the same, there. Needs CuPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qckm.common.arrays import Int64s
from qckm.errors import RowsError
from qckm.kernels.cuda.device import cupy
from qckm.kernels.cuda.device_arrays import as_device_array, as_floats
from qckm.kernels.cuda.row_kernels import count_bits_on_gpu
from qckm.kernels.placement import is_on_gpu
from qckm.sketch.column_sums import ColumnSums
from qckm.sketch.sketch import Sketch
from qckm.sources.rows import as_weights, raise_not_finite

if TYPE_CHECKING:
    from qckm.sketch.sketch_operator import SketchOperator


def sketch(operator: SketchOperator, X: Any, sample_weight: Any = None) -> Sketch:
    """Sketch rows that lie on a GPU, there. Rows with real weights are copied, and summed by the CPU."""
    array, number = _rows(operator, X)
    weights = None if sample_weight is None else as_weights(_here(sample_weight), len(array))
    if weights is not None and weights.dtype != np.int64:
        return operator.sketch(as_floats(array, number).get(), weights)
    found = operator.sketcher_on(array.device.id).sum(X, weights)
    if found.bad_row is not None:
        raise_not_finite(as_floats(array[found.bad_row :][:1], number).get(), found.bad_row)
    bounds = found.lower, found.upper
    weighted, column_sums = 0 if weights is None else found.count, ColumnSums.of(found) if found.count else None
    return Sketch(
        operator, found.total, found.count, found.saturated, bounds, weighted=weighted, column_sums=column_sums
    )


def encode(operator: SketchOperator, X: Any) -> Any:
    """Encode rows that lie on a GPU: their bits, there."""
    array, number = _rows(operator, X)
    with array.device:
        bits = cupy().empty((len(array), -(-operator.n_measurements // 8)), np.uint8)
        bad_row = operator.sketcher_on(array.device.id).encode(X, bits)
    if bad_row is not None:
        raise_not_finite(as_floats(array[bad_row:][:1], number).get(), bad_row)
    return bits


def as_bits(bits: Any) -> Any:
    """Return bits that lie on a GPU as a CuPy array."""
    return as_device_array(bits, 2)[0]


def count_bits(bits: Any, n_jobs: int | None = None) -> Int64s:
    """Count the ones at each position of packed rows on a GPU."""
    return count_bits_on_gpu(bits)


def _rows(operator: SketchOperator, X: Any) -> tuple[Any, str]:
    array, number = as_device_array(X, 2)
    if array.shape[1] != operator.n_features:
        raise RowsError(f"Expected rows of {operator.n_features} features, as the operator has, got {array.shape[1]}.")
    return array, number


def _here(values: Any) -> Any:
    return as_device_array(values, 1)[0].get() if is_on_gpu(values) else values
