"""Loads and stores by address for numba functions, and arrays to take addresses of.

The kernels get addresses rather than arrays: one compiled function then serves every layout, alignment and read-only
flag, and nothing is checked, counted or allocated in a loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from qckm.kernels.vectors import Vectors

ALIGNMENT = 64  # a cache line: vectors then never straddle two
SPARE = 512  # bytes that kernels may read, and write, past an array's end


def aligned(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array of zeros that starts on a cache line, with `SPARE` bytes after its end."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + ALIGNMENT + SPARE, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)


def address(array: npt.NDArray[Any]) -> int:
    """Where an array's first element is."""
    start: int = array.__array_interface__["data"][0]
    return start


@intrinsic
def load_like(typing_context, address, example):
    """Load a number of the example's type from any address, aligned or not."""

    def generate(context, builder, signature, arguments):
        return Vectors(builder).load(arguments[0], context.get_value_type(example))

    return example(types.int64, example), generate


@intrinsic
def store(typing_context, address, value):
    """Store a number at an address."""

    def generate(context, builder, signature, arguments):
        Vectors(builder).store(arguments[1], arguments[0])
        return context.get_dummy_value()

    return types.void(types.int64, value), generate
