"""Octaves of dense frequencies, as the kernel wants them: see `source.octaves`."""

from __future__ import annotations

from qckm.kernels.dense import WIDTH, Dense, Int16s, Int32s, Int64s
from qckm.kernels.layout import address, aligned
from qckm.kernels.native import call
from qckm.kernels.scratch import Measurement, Scratch


class Octaves(Dense):
    """Dense frequencies of which each block is twice the one before.

    Sums of bits and of cosines share the lowest octave's projection. What is seldom asked of octaves, other signatures
    and the bits themselves, is done as for any frequencies.

    Parameters
    ----------
    frequency_codes : ndarray of int16, shape (n, octaves·m)
    dither_codes : ndarray of int32, shape (octaves·m,)
    measurement : Measurement
    paired : bool
    octaves : int
    """

    def __init__(
        self, frequency_codes: Int16s, dither_codes: Int32s, measurement: Measurement, paired: bool, octaves: int
    ) -> None:
        super().__init__(frequency_codes, dither_codes, measurement, paired)
        self._octaves, m = octaves, self.m // octaves
        self._lowest = Dense(frequency_codes[:, :m], dither_codes[:m], measurement, paired)
        self._width = -(-m // WIDTH) * WIDTH
        self._dithers = aligned((octaves, self._width), "int32")
        self._dithers[:, :m] = dither_codes.reshape(octaves, m) + measurement.first_phase
        self._nothing = aligned((WIDTH,), "int32")

    def scratch(self, height: int) -> Scratch:
        """Return what a thread needs for chunks of that many rows."""
        return Scratch(self._octaves * self._width, height, self.paired, self._octaves * WIDTH)

    def sum(self, codes: Int16s, scratch: Scratch) -> Int64s:
        """Return the sum (M,) of the contributions of coded rows."""
        if self.measurement.kind == "table":
            return super().sum(codes, scratch)
        scratch.sums[:] = 0
        pairs, panels, _, n_panels = self._lowest.layout
        call(
            f"octaves.sum_{self.measurement.kind}",
            *(address(codes), len(codes), pairs, panels, address(self._dithers), n_panels),
            *scratch.addresses[1:],
            *(self._octaves, address(self._nothing), address(scratch.phases)),
        )
        by_octave = scratch.sums.reshape(len(scratch.sums), self._octaves, self._width)
        return self.measurement.values(by_octave[:, :, : self.m // self._octaves].flatten(), len(codes))
