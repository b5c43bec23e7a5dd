"""The coding stage of an operator: rows of any number type and layout become int16 codes. See `source.rows`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.kernels.layout import BUFFERED_ROWS, FEATURES_TOGETHER, address, aligned
from qckm.kernels.native import call

Floats = npt.NDArray[np.float64]


class Coder:
    """What a thread codes with, and the arrays it writes to."""

    def __init__(self, steps: Floats, origin: Floats, height: int) -> None:
        self.n = n = len(steps)
        padded = -(-n // FEATURES_TOGETHER) * FEATURES_TOGETHER
        self._inverse_steps, self._origin_codes = aligned((2, padded), np.float64)
        self._inverse_steps[:n], self._origin_codes[:n] = 1 / steps, origin / steps
        self._buffer = aligned((BUFFERED_ROWS, padded), np.float64)
        self._bounds: Floats = aligned((2, padded), np.float64)
        self._bounds[0], self._bounds[1] = np.inf, -np.inf
        self.codes: npt.NDArray[np.int16] = aligned((height, (n + 1) // 2 * 2), np.int16)
        self.clipped: npt.NDArray[np.uint8] = aligned((height,), np.uint8)
        self._addresses = [
            address(array)
            for array in (
                self._inverse_steps,
                self._origin_codes,
                self._buffer,
                *self._bounds,
                self.codes,
                self.clipped,
            )
        ]

    @property
    def lower(self) -> Floats:
        """The least value seen of each feature."""
        return self._bounds[0, : self.n]

    @property
    def upper(self) -> Floats:
        """The greatest value seen of each feature."""
        return self._bounds[1, : self.n]

    def code(self, rows: npt.NDArray[Any]) -> bool:
        """Write the codes of rows to `codes`, and non-zero bytes to `clipped`; return whether all were finite."""
        native = rows.dtype.newbyteorder("=")
        if rows.dtype != native:
            rows = rows.astype(native)
        number = np.dtype(f"{native.kind}{native.itemsize}")  # C's long long is an int64 too
        where = address(rows), *rows.strides, native.itemsize
        return call("rows.code_rows", len(rows), *where, number, self.n, *self._addresses) == 0
