"""What launches of kernels add up on the GPU, of measurements and of columns, and what that is for the host."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats, Int64s, Wide, add_wide
from qckm.kernels import reference
from qckm.kernels.cuda.device import NUMBERS, compiled, cupy, source_of
from qckm.kernels.portable import MOST_COLUMNS, Measurement, Summary

_SIGN = np.uint64(1 << 63)
# Of the kernel of columns: threads of a block.
_THREADS = 256
_ROWS = 64  # coded at a time: with the most columns and weights, a block has 43 kB of shared memory, and may have 48
_BLOCKS = 4  # for each multiprocessor


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
        found = Summary(self._measurement)
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


class ColumnTotals:
    """The sums of the columns of all rows so far."""

    def __init__(self, measurement: Measurement, device: int) -> None:
        module, n = cupy(), len(measurement.steps)
        first, second = np.triu_indices(n, 1) if n <= MOST_COLUMNS else (np.zeros(0, np.intp),) * 2
        self._n, self._n_pairs, self._device = n, len(first), device
        pairs = np.stack([first, second], axis=1).astype(np.int16)
        # One pair at least: an empty array has no address.
        self._pairs = module.asarray(pairs if len(pairs) else np.zeros((1, 2), np.int16))
        self._inverse_steps = module.asarray(1 / measurement.steps)
        self._origins = module.asarray(measurement.origin / measurement.steps)
        self._words = module.zeros((2, 2 * n + len(first)), np.uint64)
        self._blocks = _BLOCKS * module.cuda.Device(device).attributes["MultiProcessorCount"]

    def add(self, rows: Any, number: str, weights: Any) -> None:
        """Add rows (rows, n) on the GPU, as often as weights there say, on CuPy's current stream."""
        if not len(rows):
            return
        row_stride, feature_stride = (stride // rows.itemsize for stride in rows.strides)
        weighted = weights is not None
        items = 2 * min(self._n, MOST_COLUMNS) + self._n_pairs
        slots = max(1, _THREADS // items) * items
        _kernel(number, weighted, self._device)(
            (min(self._blocks, -(-len(rows) // _ROWS)), -(-self._n // MOST_COLUMNS)),
            (_THREADS,),
            (
                *(rows, np.int64(len(rows)), np.int64(row_stride), np.int64(feature_stride)),
                *(weights if weighted else 0, self._inverse_steps, self._origins, np.int32(self._n)),
                *(self._pairs, np.int32(self._n_pairs), self._words[0], self._words[1]),
            ),
            shared_mem=8 * slots * (2 if weighted else 1),
        )

    def add_to(self, found: Summary) -> None:
        """Add the sums to a summary."""
        words: Wide = self._words.get().view(np.int64)
        codes, squares, products = np.split(words, [self._n, 2 * self._n], axis=1)
        for name, sums in (("codes", codes), ("squares", squares), ("products", products)):
            held = getattr(found, name)
            setattr(found, name, None if held is None else add_wide(held, sums))


@cache
def _kernel(number: str, weighted: bool, device: int) -> Any:
    """Compile the kernel for a type of numbers, or find it compiled."""
    name, half = NUMBERS[number]
    macros = {"NUMBER": name, "HALF": half, "WEIGHTED": int(weighted), "THREADS": _THREADS, "ROWS": _ROWS}
    macros |= {"COLUMNS": MOST_COLUMNS, "LIMIT": f"{reference.CODE_LIMIT}.0"}
    return compiled(source_of("cuda", "columns.cu"), "qckm_columns", macros)
