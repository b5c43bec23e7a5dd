"""What sketches rows for an operator: the C core, or NumPy where it was not built."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from qckm.common import wide
from qckm.common.arrays import Bytes, Floats, Int64s
from qckm.kernels import library

_MISSING = (
    "The compiled kernels of qckm are missing: there was no C compiler when it was installed, or none for this "
    "platform. Sketches are the same, but sketching and decoding are many times slower. Install gcc or clang, then "
    "reinstall qckm: pip install --force-reinstall --no-deps --no-cache-dir --no-binary qckm qckm."
)


# Products of the columns of a row are summed for up to so many columns: 2016 products, beside which a file of 5nK
# frequencies is large, and which take some per cent of the time of a row (benchmarks/column_sums.py).
MOST_COLUMNS = 64


class SlowKernelWarning(UserWarning):
    """The compiled kernels are missing: results come out the same, many times slower."""


class Structure(Protocol):
    """The integers of structured frequencies."""

    @property
    def signs(self) -> npt.NDArray[np.int8]:
        """Diagonals of the blocks, ±1 (blocks, 3, size)."""

    @property
    def factors(self) -> npt.NDArray[np.int32]:
        """What codes are multiplied by, (n,)."""

    @property
    def radii(self) -> npt.NDArray[np.int32]:
        """Radii of the frequencies, (m,)."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """All that the bits of a sketch depend on, as integers; steps and origin in data units."""

    frequency_codes: npt.NDArray[np.int16] | Structure
    dither_codes: npt.NDArray[np.int32]
    steps: Floats
    origin: Floats
    table: npt.NDArray[np.int16]
    paired: bool
    octaves: int = 1

    @property
    def n_measurements(self) -> int:
        """The length of a sketch, M."""
        return len(self.dither_codes) * (2 if self.paired else 1)


@dataclass
class Summary:
    """What a pass over some rows found; `bad_row` is the first that is not finite, and nothing else is then right."""

    total: Int64s | Floats
    lower: Floats
    upper: Floats
    count: int | float = 0
    saturated: int | float = 0
    bad_row: int | None = None
    # Sums of codes and of their squares, (2, n) of `qckm.common.wide`, and of the products of columns i and j > i, row
    # by row, (2, n(n − 1)/2): none of real weights, and no products of many columns.
    codes: Int64s | None = None
    squares: Int64s | None = None
    products: Int64s | None = None

    @classmethod
    def start(cls, measurement: Measurement, real: bool = False) -> Summary:
        """Return the summary of no rows; of real weights, sums are floats, and there are none of columns."""
        n, size = len(measurement.steps), measurement.n_measurements
        total: Int64s | Floats = np.zeros(size, np.float64) if real else np.zeros(size, np.int64)
        found = cls(total, np.full(n, np.inf), np.full(n, -np.inf))
        if not real:
            found.codes, found.squares = wide.zeros(n), wide.zeros(n)
            found.products = wide.zeros(n * (n - 1) // 2) if n <= MOST_COLUMNS else None
        return found

    def add_columns(self, other: Summary) -> None:
        """Add the sums of columns of other rows."""
        for name in ("codes", "squares", "products"):
            own, others = getattr(self, name), getattr(other, name)
            setattr(self, name, None if own is None or others is None else wide.add(own, others))


class Sketcher(Protocol):
    """Rows to sums and to bits."""

    def sum(self, rows: npt.NDArray[Any], weights: Int64s | None = None, n_jobs: int | None = None) -> Summary:
        """Sum the contributions of rows (rows, n), each as often as its weight says."""

    def encode(self, rows: npt.NDArray[Any], bits: Bytes, n_jobs: int | None = None) -> int | None:
        """Write the contributions of rows as bits (rows, ceil(M / 8)); return the first row that is not finite."""


def make_sketcher(measurement: Measurement) -> Sketcher:
    """Return the fastest there is; warn, once, where that is NumPy."""
    if library.load() is None:
        from qckm.kernels.portable import PortableSketcher

        warn_of_slow_kernels()
        return PortableSketcher(measurement)
    from qckm.kernels.compiled import CompiledSketcher

    return CompiledSketcher(measurement)


def warn_of_slow_kernels() -> None:
    """Warn that NumPy does the work of the C core, unless it was asked to."""
    if not library.is_declined():
        warnings.warn(_MISSING, SlowKernelWarning, stacklevel=3)


def count_bits(bits: Bytes, n_jobs: int | None = None) -> Int64s:
    """Count the ones at each position of packed rows (rows, width): int64 (8·width,)."""
    if library.load() is None:
        from qckm.kernels import portable

        return portable.count_bits(bits)
    from qckm.kernels import compiled

    return compiled.count_bits(bits, n_jobs)
