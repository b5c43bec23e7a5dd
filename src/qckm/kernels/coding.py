"""The coding stage of an operator: rows of any number type and layout become int16 codes. See `source.rows`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.kernels.layout import BUFFERED_ROWS, CACHE_LINE, address, aligned
from qckm.kernels.native import call

Floats = npt.NDArray[np.float64]


class Coder:
    """What a thread codes with, and the arrays it writes to.

    Parameters
    ----------
    steps, origin : ndarray of shape (n,)
    height : int
        The most rows at a time.
    number : dtype
        Of the rows to come, in the machine's own byte order.
    """

    def __init__(self, steps: Floats, origin: Floats, height: int, number: np.dtype[Any]) -> None:
        self.n = n = len(steps)
        self._number = np.dtype(f"{number.kind}{number.itemsize}")  # C's long long is an int64 too
        inverse_steps, origin_codes = 1 / steps, origin / steps
        self._work: np.dtype[Any] = np.dtype(np.float64)
        if self._number == np.float32 and _is_exact_in_float32(inverse_steps, origin_codes):
            self._work = np.dtype(np.float32)
        self._lanes = CACHE_LINE // self._work.itemsize
        padded = -(-n // self._lanes) * self._lanes
        self._scaling = aligned((2, padded), self._work)
        self._scaling[:, :n] = inverse_steps, origin_codes
        self._buffer = aligned((BUFFERED_ROWS, padded), self._work)
        self._bounds = aligned((2, padded), self._work)
        self._bounds[0], self._bounds[1] = np.inf, -np.inf
        self.codes: npt.NDArray[np.int16] = aligned((height, (n + 1) // 2 * 2), np.int16)
        self.clipped: npt.NDArray[np.uint16] = aligned((height,), np.uint16)
        arrays = (*self._scaling, self._buffer, self._bounds, self.codes, self.clipped)
        self._addresses = [address(array) for array in arrays]

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """The least and the greatest value seen of each feature."""
        lower, upper = self._bounds[:, : self.n].astype(np.float64)
        return lower, upper

    def code(self, rows: npt.NDArray[Any]) -> bool:
        """Write the codes of rows to `codes`, and non-zero numbers to `clipped`; return whether all were finite."""
        if rows.dtype != self._number:  # the other byte order
            rows = rows.astype(self._number)
        row_bytes, feature_bytes = rows.strides
        direct = int(self._number == self._work and feature_bytes == self._work.itemsize)
        where = len(rows), address(rows), row_bytes, feature_bytes, direct, self.n, self._lanes
        return call("rows.code_rows", *where, *self._addresses, self._number, self._work) == 0


def _is_exact_in_float32(inverse_steps: Floats, origin_codes: Floats) -> bool:
    """Whether float32 rows get the same codes by float32 arithmetic.

    Scaling by a power of two is exact, and what over- or underflows is clipped or 0 as it would be; `rint` is exact.
    The difference of two whole numbers is exact up to 2**24, and whatever is larger is clipped even if it was rounded,
    as long as the origin alone cannot make it small.
    """
    powers = np.abs(np.frexp(inverse_steps)[1])
    return bool((powers <= 100).all() and (np.abs(origin_codes) <= 2**23).all())
