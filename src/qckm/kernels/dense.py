"""Dense frequencies, as the kernel wants them: see `source.dense`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.kernels.instructions import HERE
from qckm.kernels.layout import address, aligned
from qckm.kernels.native import call
from qckm.kernels.scratch import Measurement, Scratch

Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

WIDTH = HERE.width


class Dense:
    """Dense frequencies, a dither and a signature, laid out as `source.dense` reads them.

    Parameters
    ----------
    frequency_codes : ndarray of int16, shape (n, m)
    dither_codes : ndarray of int32, shape (m,)
    measurement : Measurement
    paired : bool
    """

    tile_rows = HERE.rows

    def __init__(self, frequency_codes: Int16s, dither_codes: Int32s, measurement: Measurement, paired: bool) -> None:
        n, m = frequency_codes.shape
        self.measurement, self.paired, self.m = measurement, paired, m
        self._pairs, self._n_panels = -(-n // 2), -(-m // WIDTH)
        padded = np.zeros((2 * self._pairs, self._n_panels * WIDTH), np.int16)
        padded[:n, :m] = frequency_codes
        self._panels = aligned((self._n_panels, self._pairs, WIDTH, 2), np.int16)
        self._panels[:] = padded.reshape(self._pairs, 2, self._n_panels, WIDTH).transpose(2, 0, 3, 1)
        self._dither = aligned((self._n_panels * WIDTH,), np.int32)
        self._dither[:m] = dither_codes + measurement.first_phase
        self.layout: tuple[int, ...] = self._pairs, address(self._panels), address(self._dither), self._n_panels

    def scratch(self, height: int) -> Scratch:
        """Return what a thread needs for chunks of that many rows."""
        return Scratch(self._n_panels * WIDTH, height, self.paired)

    def sum(self, codes: Int16s, scratch: Scratch) -> Int64s:
        """Return the sum (M,) of the contributions of coded rows."""
        scratch.sums[:] = 0
        arguments: tuple[Any, ...] = address(codes), len(codes), *self.layout, *scratch.addresses[1:]
        if self.measurement.kind == "bits":
            call("dense.sum_bits", *arguments)
        elif self.measurement.kind == "cosines":
            call("dense.sum_cosines", *arguments)
        else:
            call("dense.sum_table", *arguments, address(self.measurement.table), address(scratch.phases))
        return self.measurement.values(scratch.sums[:, : self.m].flatten(), len(codes))

    def encode(self, codes: Int16s, scratch: Scratch, bits: Bytes) -> None:
        """Write the packed contributions of the first rows of `codes`, as many as `bits` has."""
        first, second, row_bytes = scratch.halves()
        call("dense.store_bits", address(codes), len(codes), *self.layout, first, second, row_bytes)
        call("positions.join_halves", len(bits), first, second, row_bytes, self.m, address(bits), bits.strides[0])
