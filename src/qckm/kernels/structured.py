"""Structured frequencies, as the kernel wants them: see `source.structured`."""

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


class Structured:
    """Structured frequencies, a dither and a signature, laid out as `source.structured` reads them.

    Parameters
    ----------
    signs : ndarray of int8, shape (blocks, 3, size)
        ±1, the diagonals S₁, S₂ and S₃ of each block.
    factors : ndarray of int32, shape (n,)
    radii : ndarray of int32, shape (m,)
    dither_codes : ndarray of int32, shape (m,)
    measurement : Measurement
    paired : bool
    """

    tile_rows = HERE.rows

    def __init__(
        self,
        signs: npt.NDArray[np.int8],
        factors: Int32s,
        radii: Int32s,
        dither_codes: Int32s,
        measurement: Measurement,
        paired: bool,
    ) -> None:
        self.measurement, self.paired, self.m = measurement, paired, len(radii)
        n, (blocks, _, size) = len(factors), signs.shape
        n_panels = -(-self.m // WIDTH)
        self._width, self._size = n_panels * WIDTH, size
        self._factors = aligned((blocks, size), np.int32)
        self._factors[:, :n] = signs[:, 0, :n] * factors
        self._signs = aligned((blocks, 2, size), np.int32)
        self._signs[:] = -(signs[:, 1:] < 0).astype(np.int32)
        self._radii, self._dither = aligned((2, self._width), np.int32)
        self._radii[: self.m] = radii
        self._dither[: self.m] = ((dither_codes.astype(np.int64) + measurement.first_phase) << 8).astype(np.int32)
        arrays = (self._factors, self._signs, self._radii, self._dither)
        self._frequencies: tuple[int, ...] = n, size, *map(address, arrays), n_panels

    def scratch(self, height: int) -> Scratch:
        """Return what a thread needs for chunks of that many rows."""
        return Scratch(self._width, height, self.paired, n_counters=self._width, n_values=self._size)

    def sum(self, codes: Int16s, scratch: Scratch) -> Int64s:
        """Return the sum (M,) of the contributions of coded rows."""
        scratch.sums[:] = 0
        arguments: tuple[Any, ...] = address(codes), len(codes), *self._frequencies, *scratch.addresses
        if self.measurement.kind == "bits":
            call("structured.sum_bits", *arguments)
        elif self.measurement.kind == "cosines":
            call("structured.sum_cosines", *arguments)
        else:
            call("structured.sum_table", *arguments, address(self.measurement.table), address(scratch.phases))
        return self.measurement.values(scratch.sums[:, : self.m].flatten(), len(codes))

    def encode(self, codes: Int16s, scratch: Scratch, bits: Bytes) -> None:
        """Write the packed contributions of the first rows of `codes`, as many as `bits` has."""
        first, second, row_bytes = scratch.halves()
        values = scratch.addresses[0]
        call("structured.store_bits", address(codes), len(codes), *self._frequencies, values, first, second, row_bytes)
        call("positions.join_halves", len(bits), first, second, row_bytes, self.m, address(bits), bits.strides[0])
