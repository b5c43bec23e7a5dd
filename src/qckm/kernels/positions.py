"""Counting bits by their position in a row, over many rows. See `source.positions`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qckm.kernels.layout import BITS_PANEL, BITS_ROWS, address, aligned
from qckm.kernels.native import call

Int64s = npt.NDArray[np.int64]


class Positions:
    """Counts of the ones at each position of rows of `width` bytes, as one thread sees them."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._sums: Int64s = aligned((-(-width // BITS_PANEL), 8, BITS_PANEL), np.int64)
        self._counters = aligned(self._sums.shape, np.uint8)
        self._short = aligned((BITS_ROWS, BITS_PANEL), np.uint8)

    def add(self, bits: npt.NDArray[np.uint8]) -> None:
        """Count the ones of rows (rows, width)."""
        if bits.strides[1] != 1:
            bits = np.ascontiguousarray(bits)
        room = address(self._short), address(self._counters), address(self._sums)
        call("positions.count_positions", address(bits), bits.strides[0], len(bits), self._width, *room)

    @property
    def counts(self) -> Int64s:
        """The counts so far, (8·width,)."""
        by_byte = self._sums.transpose(0, 2, 1).reshape(-1, 8)  # each panel's bytes, the last panel's overlapping
        last = self._width % BITS_PANEL or BITS_PANEL
        if self._width < BITS_PANEL:
            return by_byte[: self._width].ravel()
        whole = len(by_byte) - BITS_PANEL
        return np.concatenate([by_byte[:whole], by_byte[len(by_byte) - last :]]).ravel()
