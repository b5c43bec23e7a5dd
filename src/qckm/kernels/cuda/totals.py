"""What launches of a kernel add up on the GPU, and what that is for the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats, Int64s
from qckm.kernels import reference
from qckm.kernels.cuda.device import cupy
from qckm.kernels.portable import Measurement, Summary

_SIGN = np.uint64(1 << 63)


class Totals:
    """Sums, clipped rows and bounds of all rows so far. Bounds are integers that sort as the numbers do."""

    def __init__(self, measurement: Measurement) -> None:
        self._measurement = measurement
        n, size = len(measurement.steps), measurement.n_measurements
        # One array, set at once and read at once: a small sketch is mostly such calls.
        self._sizes = np.cumsum([size, 1, n, n])
        begin = np.zeros(self._sizes[-1] + 1, np.uint64)
        begin[size + 1 : size + 1 + n] = ~np.uint64(0)
        self._held = cupy().asarray(begin)
        self._found: npt.NDArray[np.uint64] | None = None

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What a kernel adds to: sums, clipped rows, least and greatest values, whether one was not finite."""
        return tuple(cupy().split(self._held, self._sizes))

    def add_values(self, rows: Any, values: Any, weights: Any, clipped: Any, counts_ones: bool) -> None:
        """Add what was computed of rows of float64: contributions (rows, M), weights and clipped ones (rows,)."""
        module = cupy()
        total, saturated, lower, upper, not_finite = self.arrays
        sums = (values < 0).sum(axis=0) if counts_ones else (values * weights[:, np.newaxis]).sum(axis=0)
        total += sums.astype(np.int64).view(np.uint64)
        saturated += (weights * clipped).sum().astype(np.int64).view(np.uint64)
        if not bool(module.isfinite(rows).all()):
            not_finite[:] = 1
        rows = rows[weights > 0]
        if len(rows):
            lower[:] = module.minimum(lower, _keys(module, rows.min(axis=0)))
            upper[:] = module.maximum(upper, _keys(module, rows.max(axis=0)))

    @property
    def all_finite(self) -> bool:
        """Whether no value was NaN or infinite; waits for the GPU."""
        return not int(self._fetched()[4][0])

    def summary(self, count: int, padding: int, counts_ones: bool) -> Summary:
        """Return what the rows' summary is, `count` being the sum of weights and `padding` the rows of codes 0.

        `counts_ones`: sums are numbers of ones, each a contribution of −1.
        """
        found = Summary.start(self._measurement)
        total, saturated, lower, upper, _ = self._fetched()
        sums = total.view(np.int64)
        if counts_ones:
            sums = count + padding - 2 * sums
        found.total = sums - padding * self._of_code_0() if padding else sums
        found.count, found.saturated = count, int(saturated[0])
        seen = lower <= upper
        found.lower[seen], found.upper[seen] = _numbers(lower[seen]), _numbers(upper[seen])
        return found

    def _fetched(self) -> list[npt.NDArray[np.uint64]]:
        if self._found is None:
            self._found = self._held.get()
        return np.split(self._found, self._sizes)

    def _of_code_0(self) -> Int64s:
        phases = (self._measurement.dither_codes.astype(np.int64) % reference.TURN)[np.newaxis]
        of_one: Int64s = reference.measure(phases, self._measurement.table, self._measurement.paired)[0].astype(
            np.int64
        )
        return of_one


def _keys(module: Any, numbers: Any) -> Any:
    """Do what sums.cu's sortable() does."""
    bits = (numbers + 0.0).view(np.uint64)
    return module.where(bits & _SIGN, ~bits, bits | _SIGN)


def _numbers(keys: npt.NDArray[np.uint64]) -> Floats:
    """Undo sums.cu's sortable()."""
    return np.where(keys & _SIGN, keys ^ _SIGN, ~keys).view(np.float64)
