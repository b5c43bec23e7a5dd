"""Counting bits by their position in a row, over many rows. See `source.positions`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qckm.kernels.layout import BITS_PANEL, BITS_ROWS, address, aligned
from qckm.kernels.native import call


class Positions:
    """Counts of the ones at each position of rows of `width` bytes, as one thread sees them."""

    def __init__(self, width: int) -> None:
        self.sums: npt.NDArray[np.int64] = aligned((8 * width,), np.int64)
        self._tail = aligned((BITS_ROWS, BITS_PANEL), np.uint8)
        self._counters = aligned((8, BITS_PANEL), np.uint8)

    def add(self, bits: npt.NDArray[np.uint8]) -> None:
        """Count the ones of rows (rows, width)."""
        if bits.strides[1] != 1:
            bits = np.ascontiguousarray(bits)
        tail, counters, sums = address(self._tail), address(self._counters), address(self.sums)
        call(
            "positions.count_positions", address(bits), bits.strides[0], len(bits), bits.shape[1], tail, counters, sums
        )
