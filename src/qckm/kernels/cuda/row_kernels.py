"""Nearest centroids of rows on a GPU, and sums of bits there."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from qckm.common.arrays import Floats, Int64s
from qckm.kernels.cuda.device import as_device_array, as_floats, cupy, source_of

_THREADS, _BLOCKS = 128, 2048


def nearest_on_gpu(X: Any, centers: Floats) -> tuple[Any, Any]:
    """Return the nearest of the centers (K, n) for each row on the GPU, and the squared distance to it, both there.

    A row that is not finite is at no finite distance from anything.
    """
    array, number = as_device_array(X, 2)
    with array.device:
        array = as_floats(array, number)
        if str(array.dtype) not in ("float32", "float64"):
            array = array.astype(np.float64)
        labels, squares = cupy().empty(len(array), np.int32), cupy().empty(len(array), np.float64)
        if len(array):
            row_stride, feature_stride = (stride // array.itemsize for stride in array.strides)
            there = cupy().ascontiguousarray(cupy().asarray(centers, np.float64))
            _kernel(f"nearest_{array.dtype}", array.device.id)(
                (min(_BLOCKS, -(-len(array) // _THREADS)),),
                (_THREADS,),
                (
                    *(array, np.int64(len(array)), np.int64(row_stride), np.int64(feature_stride)),
                    *(there, np.int32(len(centers)), np.int32(array.shape[1]), labels, squares),
                ),
            )
        return labels, squares


def count_bits_on_gpu(bits: Any) -> Int64s:
    """Count the ones at each position of packed rows (rows, width) on the GPU: int64 (8·width,), here."""
    with bits.device:
        packed = cupy().ascontiguousarray(bits)
        counts = cupy().zeros(8 * packed.shape[1], np.uint64)
        if packed.size:
            columns = -(-packed.shape[1] // _THREADS)
            _kernel("count_bits", packed.device.id)(
                (min(_BLOCKS, len(packed)), columns),
                (_THREADS,),
                (packed, np.int64(len(packed)), np.int32(packed.shape[1]), counts),
            )
        found: Int64s = counts.get().astype(np.int64)
        return found


@cache
def _kernel(name: str, device: int) -> Any:
    return cupy().RawModule(code=source_of("cuda", "rows.cu"), options=("-std=c++17",)).get_function(name)
