"""What the kernels of dense and structured frequencies share: the kind of measurement, a thread's room to work."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from qckm.kernels import reference
from qckm.kernels.instructions import HERE
from qckm.kernels.layout import address, aligned

Int64s = npt.NDArray[np.int64]


class Measurement:
    """How the kernels compute a signature, decided from its table: the only place where that is asked.

    A table of sign(cos) is one bit of the phase; the cosine's is a polynomial; any other is looked up.
    """

    def __init__(self, table: npt.NDArray[np.int16]) -> None:
        self.kind: Literal["bits", "cosines", "table"] = "table"
        if np.array_equal(table, reference.one_bit_table()):
            self.kind = "bits"
        elif np.array_equal(table, reference.cosine_table()):
            self.kind = "cosines"
        self.table = aligned((len(table) * 5 // 4,), np.int32)
        self.table[:] = np.concatenate([table, table[: len(table) // 4]])

    @property
    def first_phase(self) -> int:
        """What to add to the dither: the bit that is counted is that of the phase a quarter turn on."""
        return reference.QUARTER_TURN if self.kind == "bits" else 0

    def values(self, sums: Int64s, rows: int) -> Int64s:
        """Turn what a kernel has added up over so many rows into the sum of their contributions."""
        return rows - 2 * sums if self.kind == "bits" else sums


class Scratch:
    """What a thread computes with, for so many (padded) frequencies and rows.

    Counters are those of one panel unless said otherwise; `n_values` is the size of a structured block.
    """

    def __init__(self, width: int, height: int, paired: bool, n_counters: int = HERE.width, n_values: int = 0) -> None:
        self._width, self._height = width, height
        self.sums: Int64s = aligned((2 if paired else 1, width), np.int64)
        self.counters = aligned((2, n_counters), np.int32)
        self.values = aligned((HERE.rows, n_values), np.int32)
        second = address(self.sums[1]) if paired else None
        # Of the block's values, the counters and both halves of the sums; no second half where dithers are single.
        self.addresses = address(self.values), address(self.counters), address(self.sums), second

    @cached_property
    def phases(self) -> npt.NDArray[np.int32]:
        """The phases of a tile."""
        return aligned((HERE.rows, HERE.width), np.int32)

    @cached_property
    def _bits(self) -> npt.NDArray[np.uint8]:
        return aligned((len(self.sums), self._height, self._width // 8 + 16), np.uint8)

    def halves(self) -> tuple[int, int | None, int]:
        """Return where the bits of rows go, at the phase and a quarter turn on, and how far apart rows are."""
        second = address(self._bits[1]) if len(self._bits) == 2 else None
        return address(self._bits), second, self._bits.strides[1]
