"""Arrays that compiled code takes the addresses of, and the sizes that both sides must agree on.

The kernels get addresses rather than arrays: one compiled function then serves every layout, alignment and read-only
flag, and nothing is checked, counted or allocated in a loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

CACHE_LINE = 64  # bytes
SPARE = 512  # bytes that kernels may read, and write, past an array's end
BUFFERED_ROWS = 16  # coded at a time: a vector loaded right after its parts were stored would stall
BITS_PANEL = 64  # bytes of a row of bits counted together, by 512 counters
BITS_ROWS = 255  # that a counter of one byte can count


def aligned(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array of zeros that starts on a cache line, with `SPARE` bytes after its end."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + CACHE_LINE + SPARE, np.uint8)
    start = -raw.ctypes.data % CACHE_LINE
    return raw[start : start + size].view(dtype).reshape(shape)


def address(array: npt.NDArray[Any]) -> int:
    """Return where an array's first element is."""
    start: int = array.__array_interface__["data"][0]
    return start
