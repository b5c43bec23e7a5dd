"""What sketches rows for an operator: the C core, or NumPy where it was not built."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy.typing as npt

from qckm.common.arrays import Bytes, Int64s
from qckm.kernels import compiled, library, portable
from qckm.kernels.compiled import CompiledSketcher
from qckm.kernels.portable import Measurement, PortableSketcher, Summary

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


def count_bits(bits: Bytes, n_jobs: int | None = None) -> Int64s:
    """Count the ones at each position of packed rows (rows, width): int64 (8·width,)."""
    if library.load() is None:
        return portable.count_bits(bits)
    return compiled.count_bits(bits, n_jobs)
