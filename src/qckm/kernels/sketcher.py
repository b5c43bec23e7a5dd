"""Sketching of rows: by the C core, an operator laid out once and rows shared out to threads, or by NumPy, or by a GPU.

Rows are sketched by the CPU unless told otherwise; rows that lie on a GPU, there (cuda/gpu_sketcher.py).
"""

from __future__ import annotations

import ctypes
import re
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Bytes, Floats, Int64s, Rows, Weights
from qckm.errors import OperatorError
from qckm.kernels import library, portable, reference
from qckm.kernels.library import DONE, RowsAt, Spec, Totals
from qckm.kernels.portable import GroupSums, Measurement, PortableSketcher, Summary
from qckm.kernels.threads import Tasks, count_threads, share

if TYPE_CHECKING:
    from qckm.kernels.cuda.gpu_sketcher import GpuSketcher

Result = TypeVar("Result")

_BITS, _COSINES, _TABLE = range(3)
# Of so few features a projection costs less than to keep it for the next octave.
_FEW_FEATURES = 2
# Multiplications of a task: ten milliseconds or so, often enough for Ctrl-C, seldom enough to cost nothing.
_TASK_PRODUCTS = 1 << 29
# Rows of a task at least, and tasks per thread: so that no thread waits long for the last one.
_LEAST_ROWS, _TASKS_PER_THREAD = 1024, 4
_TASK_BYTES = 1 << 22  # of packed bits

_current: ContextVar[int | None] = ContextVar("qckm_device", default=None)


class Sketcher:
    """A measurement, ready to be run over rows, by whatever is fastest: the integers are the same."""

    def __init__(self, measurement: Measurement) -> None:
        self._measurement, self._portable = measurement, PortableSketcher(measurement)
        self._on_gpus: dict[int, GpuSketcher] = {}
        self.on_cpu = self._portable if library.load() is None else CompiledSketcher(measurement)

    def on_gpu(self, number: int) -> GpuSketcher:
        """Return what sketches on a GPU, made when it is first asked for."""
        if number not in self._on_gpus:
            from qckm.kernels.cuda.gpu_sketcher import GpuSketcher

            self._on_gpus[number] = GpuSketcher(self._measurement, number)
        return self._on_gpus[number]

    def sum(self, rows: Rows, weights: Weights | None = None, n_jobs: int | None = None) -> Summary:
        """Sum the contributions of rows (rows, n) of this process, each times its weight, on the current device."""
        if weights is not None and weights.dtype != np.int64:
            # Sums of floats depend on their order, which here depends on nothing.
            return self._portable.sum(rows, weights)
        gpu = current_gpu()
        return (self.on_cpu if gpu is None else self.on_gpu(gpu)).sum(rows, weights, n_jobs)


class CompiledSketcher:
    """A measurement, ready to be run over rows by threads."""

    def __init__(self, measurement: Measurement) -> None:
        self._measurement = measurement
        self._for_sums = _Kernel(measurement, measurement.octaves if len(measurement.steps) > _FEW_FEATURES else 1)

    @cached_property
    def _for_bits(self) -> _Kernel:
        return self._for_sums if self._for_sums.octaves == 1 else _Kernel(self._measurement, 1)

    def sum(self, rows: Rows, weights: Weights | None = None, n_jobs: int | None = None) -> Summary:
        """Sum the contributions of rows (rows, n), each as often as its weight, a whole number, says."""
        kernel, heavy = self._for_sums, None if weights is None else np.require(weights, np.int64, ["C", "A"])

        def work(tasks: Iterable[slice]) -> Summary:
            found = Summary(self._measurement)
            for part in tasks:
                found.bad_row = kernel.add(rows[part], None if heavy is None else heavy[part], part.start, found)
                if found.bad_row is not None:
                    break
            return found

        total, *others = self._share(rows, n_jobs, work)
        total.bad_row = _least([total.bad_row, *(other.bad_row for other in others)])
        for other in others:
            total += other
        return total

    def sum_groups(
        self, rows: npt.NDArray[Any], stops: Int64s, places: Int64s, found: GroupSums, n_jobs: int | None = None
    ) -> int | None:
        """Add rows that are sorted by group: group g ends before row stops[g], and is the one at places[g] of `found`.

        Return the first row that is not finite; nothing else is then right.
        """
        bounds = np.linspace(0, len(stops), min(len(stops), count_threads(n_jobs)) + 1).astype(int)

        def work(tasks: Tasks) -> int | None:
            bad = None
            for task in tasks:
                some = slice(bounds[task], bounds[task + 1])
                first = int(stops[some.start - 1]) if some.start else 0
                part = rows[first : int(stops[some][-1])]
                bad = _least([bad, self._for_sums.add_groups(part, first, stops[some] - first, places[some], found)])
            return bad

        return _least(share(work, len(bounds) - 1, len(bounds) - 1)) if len(stops) else None

    def encode(self, rows: npt.NDArray[Any], bits: Bytes, n_jobs: int | None = None) -> int | None:
        """Write the contributions of rows as bits (rows, ceil(M / 8)); return the first row that is not finite."""
        kernel = self._for_bits

        def work(tasks: Iterable[slice]) -> int | None:
            return next(
                (bad for part in tasks if (bad := kernel.encode(rows[part], bits[part], part.start)) is not None), None
            )

        return _least(self._share(rows, n_jobs, work))

    def _share(
        self, rows: npt.NDArray[Any], n_jobs: int | None, work: Callable[[Iterable[slice]], Result]
    ) -> list[Result]:
        """Let threads work on slices of the rows, which they take in order: no row before a bad one is left out."""
        n, m = len(self._measurement.steps), len(self._measurement.dither_codes)
        height, n_threads = max(_LEAST_ROWS, _TASK_PRODUCTS // (n * m)), 1
        if len(rows) > _LEAST_ROWS:
            n_threads = count_threads(n_jobs)
            if n_threads > 1:
                height = min(height, max(_LEAST_ROWS, len(rows) // (_TASKS_PER_THREAD * n_threads)))
        n_tasks = -(-len(rows) // height)
        if n_tasks <= 1:
            return [work([slice(0, len(rows))])]

        def each(tasks: Tasks) -> Result:
            found = work(slice(task * height, (task + 1) * height) for task in tasks)
            if getattr(found, "bad_row", found) is not None:
                tasks.stop()
            return found

        return share(each, n_tasks, n_threads)


class _Kernel:
    """The C core's kernel of a measurement, freed with this object. Whatever holds addresses stays in this process."""

    def __init__(self, measurement: Measurement, octaves: int) -> None:
        self.octaves, self._library = octaves, library.load()
        codes, steps, origin = measurement.frequency_codes, measurement.steps, measurement.origin
        inverse_steps, origin_codes = 1 / steps, origin / steps
        arrays: dict[str, npt.NDArray[Any]] = {
            "dither": measurement.dither_codes,
            "table": measurement.table,
            "inverse_steps": inverse_steps,
            "origin_codes": origin_codes,
        }
        if isinstance(codes, np.ndarray):
            arrays["frequencies"] = codes
        else:
            arrays |= {"signs": codes.signs, "factors": codes.factors, "radii": codes.radii}
        held = {name: np.require(array, requirements=["C", "A"]) for name, array in arrays.items()}
        spec = Spec(
            n=len(steps),
            m=len(measurement.dither_codes),
            paired=measurement.paired,
            kind=_kind_of(measurement.table),
            octaves=octaves,
            single=_is_exact_in_float32(inverse_steps, origin_codes),
            size=0 if isinstance(codes, np.ndarray) else codes.signs.shape[2],
            **{name: array.ctypes.data for name, array in held.items()},
        )
        self._kernel = ctypes.c_void_p()
        self._library.qckm_prepare(ctypes.byref(spec), ctypes.byref(self._kernel))
        weakref.finalize(self, self._library.qckm_release, self._kernel)

    def add(self, rows: npt.NDArray[Any], weights: Int64s | None, first_row: int, found: Summary) -> int | None:
        """Add rows to what was found; return the number of the first that is not finite, counted from `first_row`."""
        at = [
            None if array is None else array.ctypes.data
            for array in (found.total, found.lower, found.upper, found.codes, found.squares, found.products)
        ]
        totals = Totals(*at[:3], 0, 0, *at[3:])
        held = None if weights is None else weights.ctypes.data
        bad = self._library.qckm_sum(self._kernel, ctypes.byref(RowsAt(rows)), held, ctypes.byref(totals))
        found.count += totals.count
        found.saturated += totals.saturated
        return _checked(bad, first_row)

    def add_groups(
        self, rows: npt.NDArray[Any], first_row: int, stops: Int64s, places: Int64s, found: GroupSums
    ) -> int | None:
        """Add groups of rows to the sums at their places; return as `add` does."""
        totals = np.zeros((len(stops), len(Totals._fields_)), np.int64)
        arrays = {
            0: found.total, 1: found.lower, 2: found.upper, 5: found.codes, 6: found.squares, 7: found.products,
        }  # fmt: skip
        for field, array in arrays.items():
            if array is not None:
                totals[:, field] = array.ctypes.data + places * array.strides[0]
        ends = np.ascontiguousarray(stops)
        bad = self._library.qckm_sum_groups(
            self._kernel, ctypes.byref(RowsAt(rows)), ends.ctypes.data, len(ends), totals.ctypes.data
        )
        found.count[places] += totals[:, 3]
        found.saturated[places] += totals[:, 4]
        return _checked(bad, first_row)

    def encode(self, rows: npt.NDArray[Any], bits: Bytes, first_row: int) -> int | None:
        """Write the bits of rows; return as `add` does."""
        bad = self._library.qckm_encode(self._kernel, ctypes.byref(RowsAt(rows)), bits.ctypes.data, bits.strides[0])
        return _checked(bad, first_row)


def gather(rows: npt.NDArray[Any], numbers: Int64s, size: int) -> tuple[npt.NDArray[Any], Int64s, Int64s]:
    """Return rows (rows, n) sorted by the numbers of their groups, below `size`; the groups there are; their ends."""
    core = library.load()
    if core is None or not len(rows):
        gathered, stops = rows[np.argsort(numbers, kind="stable")], np.cumsum(np.bincount(numbers, minlength=size))
    else:
        rows, numbers = np.ascontiguousarray(rows), np.ascontiguousarray(numbers)
        gathered, stops = np.empty_like(rows), np.empty(size, np.int64)
        width, at = rows.shape[1] * rows.itemsize, (stops.ctypes.data, gathered.ctypes.data)
        core.qckm_gather(rows.ctypes.data, width, len(rows), numbers.ctypes.data, size, *at)
    present = np.flatnonzero(np.diff(stops, prepend=0))
    return gathered, present, stops[present]


def count_bits(bits: Bytes, n_jobs: int | None = None) -> Int64s:
    """Count the ones at each position of packed rows (rows, width): int64 (8·width,)."""
    core, width = library.load(), bits.shape[1]
    if core is None:
        return portable.count_bits(bits)
    height = max(1, _TASK_BYTES // width)

    def work(tasks: Tasks) -> Int64s:
        counts = np.zeros(8 * width, np.int64)
        for task in tasks:
            part = bits[task * height : (task + 1) * height]
            if part.strides[1] != 1:
                part = np.ascontiguousarray(part)
            core.qckm_count_bits(part.ctypes.data, part.strides[0], len(part), width, counts.ctypes.data)
        return counts

    total: Int64s = np.sum(share(work, -(-len(bits) // height), n_jobs), axis=0)
    return total


def parse_device(name: str | None) -> int | None:
    """Return the number of a GPU ("cuda", "cuda:1"), or None for "cpu" and "auto"."""
    if name in (None, "auto", "cpu"):
        return None
    found = re.fullmatch(r"cuda(?::(\d+))?", name) if isinstance(name, str) else None
    if not found:
        raise OperatorError(f"Expected device 'auto', 'cpu', 'cuda' or 'cuda:1' and so on, got {name!r}.")
    return int(found[1] or 0)


@contextmanager
def computing_on(device: str | None) -> Iterator[None]:
    """Sketch rows of this process on a device, within the block."""
    token = _current.set(parse_device(device))
    try:
        yield
    finally:
        _current.reset(token)


def current_gpu() -> int | None:
    """Return the number of the GPU that rows of this process are to be sketched on; None for the CPU."""
    return _current.get()


def _kind_of(table: npt.NDArray[np.int16]) -> int:
    """Return how a signature is computed: a table of sign(cos) is a bit of the phase, the cosine's a polynomial."""
    if np.array_equal(table, reference.ONE_BIT_TABLE):
        return _BITS
    return _COSINES if np.array_equal(table, reference.COSINE_TABLE) else _TABLE


def _is_exact_in_float32(inverse_steps: Floats, origin_codes: Floats) -> bool:
    """Whether float32 rows get the same codes by float32 arithmetic.

    Scaling by a power of two is exact, and what over- or underflows is clipped or 0 as it would be; rounding is exact.
    The difference of two whole numbers is exact up to 2**24, and whatever is larger is clipped even if it was rounded,
    as long as the origin alone cannot make it small.
    """
    powers = np.abs(np.frexp(inverse_steps)[1])
    return bool((powers <= 100).all() and (np.abs(origin_codes) <= 2**23).all())


def _checked(result: int, first_row: int) -> int | None:
    return None if result == DONE else first_row + result


def _least(rows: list[int | None]) -> int | None:
    return min((row for row in rows if row is not None), default=None)
