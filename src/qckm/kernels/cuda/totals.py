"""What launches of a kernel add up on the GPU, and what that is for the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.kernels import reference
from qckm.kernels.cuda.device import cupy
from qckm.kernels.sketcher import Measurement, Summary

_SIGN = np.uint64(1 << 63)


class Totals:
    """Sums, clipped rows and bounds of all rows so far. Bounds are integers that sort as the numbers do."""

    def __init__(self, measurement: Measurement) -> None:
        module, n = cupy(), len(measurement.steps)
        self._measurement = measurement
        self._sums = module.zeros(measurement.n_measurements, np.uint64)
        self._saturated = module.zeros(1, np.uint64)
        self._lower, self._upper = module.full(n, ~np.uint64(0)), module.zeros(n, np.uint64)
        self._not_finite = module.zeros(1, np.int32)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What a kernel adds to."""
        return self._sums, self._saturated, self._lower, self._upper, self._not_finite

    def add_values(self, rows: Any, values: Any, weights: Any, clipped: Any, counts_ones: bool) -> None:
        """Add what was computed of rows of float64: contributions (rows, M), weights and clipped ones (rows,)."""
        module = cupy()
        sums = (values < 0).sum(axis=0) if counts_ones else (values * weights[:, np.newaxis]).sum(axis=0)
        self._sums += sums.astype(np.int64).view(np.uint64)
        self._saturated += (weights * clipped).sum().astype(np.int64).view(np.uint64)
        if not bool(module.isfinite(rows).all()):
            self._not_finite[:] = 1
        rows = rows[weights > 0]
        if len(rows):
            self._lower = module.minimum(self._lower, _keys(module, rows.min(axis=0)))
            self._upper = module.maximum(self._upper, _keys(module, rows.max(axis=0)))

    @property
    def all_finite(self) -> bool:
        """Whether no value was NaN or infinite; waits for the GPU."""
        return not int(self._not_finite.get()[0])

    def summary(self, count: int, padding: int, counts_ones: bool) -> Summary:
        """Return what the rows' summary is, `count` being the sum of weights and `padding` the rows of codes 0.

        `counts_ones`: sums are numbers of ones, each a contribution of −1.
        """
        found = Summary.start(self._measurement)
        sums = self._sums.get().view(np.int64)
        if counts_ones:
            sums = count + padding - 2 * sums
        found.total = sums - padding * self._of_code_0()
        found.count, found.saturated = count, int(self._saturated.get()[0])
        lower, upper = self._lower.get(), self._upper.get()
        seen = lower <= upper
        found.lower[seen], found.upper[seen] = _numbers(lower[seen]), _numbers(upper[seen])
        return found

    def _of_code_0(self) -> npt.NDArray[np.int64]:
        phases = (self._measurement.dither_codes.astype(np.int64) % reference.TURN)[np.newaxis]
        of_one: npt.NDArray[np.int64] = reference.measure(phases, self._measurement.table, self._measurement.paired)[
            0
        ].astype(np.int64)
        return of_one


def _keys(module: Any, numbers: Any) -> Any:
    """Do what sums.cu's sortable() does."""
    bits = (numbers + 0.0).view(np.uint64)
    return module.where(bits & _SIGN, ~bits, bits | _SIGN)


def _numbers(keys: npt.NDArray[np.uint64]) -> Floats:
    """Undo sums.cu's sortable()."""
    return np.where(keys & _SIGN, keys ^ _SIGN, ~keys).view(np.float64)
