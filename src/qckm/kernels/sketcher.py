"""What sketches rows for an operator: the C core, or NumPy where it was not built."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Bytes, Int64s
from qckm.kernels import compiled, library, portable
from qckm.kernels.compiled import CompiledSketcher
from qckm.kernels.portable import GroupSums, Measurement, PortableSketcher, Summary

_MISSING = (
    "The compiled kernels of qckm are missing: there was no C compiler when it was installed, or none for this "
    "platform. Sketches are the same, but sketching and decoding are many times slower. Install gcc or clang, then "
    "reinstall qckm: pip install --force-reinstall --no-deps --no-cache-dir --no-binary qckm qckm."
)


class SlowKernelWarning(UserWarning):
    """The compiled kernels are missing: results come out the same, many times slower."""


class Sketcher(Protocol):
    """Rows to sums and to bits."""

    def sum(self, rows: npt.NDArray[Any], weights: Int64s | None = None, n_jobs: int | None = None) -> Summary:
        """Sum the contributions of rows (rows, n), each as often as its weight says."""

    def sum_groups(
        self, rows: npt.NDArray[Any], stops: Int64s, places: Int64s, found: GroupSums, n_jobs: int | None = None
    ) -> int | None:
        """Add rows that are sorted by group: group g ends before row stops[g], and is the one at places[g] of `found`.

        Return the first row that is not finite; nothing else is then right.
        """

    def encode(self, rows: npt.NDArray[Any], bits: Bytes, n_jobs: int | None = None) -> int | None:
        """Write the contributions of rows as bits (rows, ceil(M / 8)); return the first row that is not finite."""


def make_sketcher(measurement: Measurement) -> Sketcher:
    """Return the fastest there is; warn, once, where that is NumPy."""
    if library.load() is None:
        warn_of_slow_kernels()
        return PortableSketcher(measurement)
    return CompiledSketcher(measurement)


def warn_of_slow_kernels() -> None:
    """Warn that NumPy does the work of the C core, unless it was asked to."""
    if not library.is_declined():
        warnings.warn(_MISSING, SlowKernelWarning, stacklevel=3)


def gather(rows: npt.NDArray[Any], numbers: Int64s, size: int) -> tuple[npt.NDArray[Any], Int64s, Int64s]:
    """Return rows (rows, n) sorted by the numbers of their groups, below `size`; the groups there are; their ends."""
    if library.load() is None or not len(rows):
        gathered, stops = rows[np.argsort(numbers, kind="stable")], np.cumsum(np.bincount(numbers, minlength=size))
    else:
        gathered, stops = compiled.gather(np.ascontiguousarray(rows), np.ascontiguousarray(numbers), size)
    present = np.flatnonzero(np.diff(stops, prepend=0))
    return gathered, present, stops[present]


def count_bits(bits: Bytes, n_jobs: int | None = None) -> Int64s:
    """Count the ones at each position of packed rows (rows, width): int64 (8·width,)."""
    if library.load() is None:
        return portable.count_bits(bits)
    return compiled.count_bits(bits, n_jobs)
