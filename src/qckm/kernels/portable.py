"""What sketching takes and finds, and sketching by the reference arithmetic, in NumPy.

Real weights need that, and it is all there is without the C core.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Bytes, Floats, Int64s, Rows, Wide, add_shifted, add_wide
from qckm.kernels import reference

# Products of the columns of a row are summed for up to so many columns: 2016 products, beside which a file of 5nK
# frequencies is large, and which take some per cent of the time of a row (benchmarks/column_sums.py).
MOST_COLUMNS = 64
# The contributions of this many measurements are held at a time: 8 MB of phases.
_CHUNK = 1 << 20
# Bits of weights at a time: 13, 30 of a code's square and 20 of the rows held fill an int64.
_WEIGHT_BITS = 13


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


class Summary:
    """What a pass over some rows found, of none to begin with; of real weights, sums are floats.

    `bad_row` is the first that is not finite, and nothing else is then right. `codes` and `squares` are the sums of
    codes and of their squares, (2, n), `products` those of columns i and j > i, row by row, (2, n(n − 1)/2): none of
    real weights, and no products of many columns.
    """

    def __init__(self, measurement: Measurement, real: bool = False) -> None:
        n, size = len(measurement.steps), measurement.n_measurements
        self.total: Int64s | Floats = np.zeros(size, np.float64) if real else np.zeros(size, np.int64)
        self.lower, self.upper = np.full(n, np.inf), np.full(n, -np.inf)
        self.count: int | float = 0
        self.saturated: int | float = 0
        self.bad_row: int | None = None
        self.codes: Wide | None = None if real else np.zeros((2, n), np.int64)
        self.squares: Wide | None = None if real else np.zeros((2, n), np.int64)
        few = n <= MOST_COLUMNS and not real
        self.products: Wide | None = np.zeros((2, n * (n - 1) // 2), np.int64) if few else None

    def __iadd__(self, other: Summary) -> Self:
        """Add what was found of other rows, all of them finite."""
        self.total += other.total
        self.lower, self.upper = np.minimum(self.lower, other.lower), np.maximum(self.upper, other.upper)
        self.count += other.count
        self.saturated += other.saturated
        for name in ("codes", "squares", "products"):
            own, others = getattr(self, name), getattr(other, name)
            setattr(self, name, None if own is None or others is None else add_wide(own, others))
        return self


class GroupSums:
    """What was found of the rows of each of G groups: the arrays of a summary, one along the first axis a group.

    There is room for so many groups, of no rows to begin with; it may be more than there are. `products` is None of
    many columns.
    """

    def __init__(self, measurement: Measurement, capacity: int) -> None:
        n, few = len(measurement.steps), len(measurement.steps) <= MOST_COLUMNS
        self.total = np.zeros((capacity, measurement.n_measurements), np.int64)
        self.lower, self.upper = np.full((capacity, n), np.inf), np.full((capacity, n), -np.inf)
        self.count, self.saturated = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
        self.codes, self.squares = np.zeros((capacity, 2, n), np.int64), np.zeros((capacity, 2, n), np.int64)
        self.products = np.zeros((capacity, 2, n * (n - 1) // 2), np.int64) if few else None

    def grown(self, measurement: Measurement, capacity: int) -> GroupSums:
        """Return the same with room for so many groups."""
        larger = GroupSums(measurement, capacity)
        for name, array in vars(self).items():
            if array is not None:
                getattr(larger, name)[: len(array)] = array
        return larger


class PortableSketcher:
    """A measurement, run over rows a few thousand at a time, in one thread."""

    def __init__(self, measurement: Measurement) -> None:
        self._measurement = measurement

    def sum(self, rows: Rows, weights: Int64s | Floats | None = None, n_jobs: int | None = None) -> Summary:
        """Sum the contributions of rows (rows, n), each times its weight; real weights make sums of floats."""
        real = weights is not None and weights.dtype != np.int64
        found = Summary(self._measurement, real)
        for start, part in self._parts(rows):
            heavy = np.ones(len(part), np.int64) if weights is None else weights[start : start + len(part)]
            bad = ~np.isfinite(part).all(axis=1)
            if bad.any():
                found.bad_row = start + int(bad.argmax())
                return found
            part, heavy = part[heavy > 0], heavy[heavy > 0]  # a row of weight 0 must not widen the bounds
            if not len(part):
                continue
            codes, clipped = reference.code_rows(part, self._measurement.steps, self._measurement.origin)
            contributions = self._contributions(codes)
            _add_column_sums(found, codes, heavy)
            found.total += heavy @ contributions.astype(heavy.dtype)
            found.count += heavy.sum().item()
            found.saturated += heavy[clipped].sum().item()
            found.lower = np.minimum(found.lower, part.min(axis=0))
            found.upper = np.maximum(found.upper, part.max(axis=0))
        return found

    def sum_groups(
        self, rows: Rows, stops: Int64s, places: Int64s, found: GroupSums, n_jobs: int | None = None
    ) -> int | None:
        """Add rows that are sorted by group: group g ends before row stops[g], and is the one at places[g] of `found`.

        Return the first row that is not finite; nothing else is then right.
        """
        start: int
        for start, stop, place in zip([0, *stops[:-1].tolist()], stops.tolist(), places.tolist(), strict=True):
            some = self.sum(rows[start:stop])
            if some.bad_row is not None:
                return start + some.bad_row
            found.total[place] += some.total.astype(np.int64)
            found.lower[place] = np.minimum(found.lower[place], some.lower)
            found.upper[place] = np.maximum(found.upper[place], some.upper)
            found.count[place] += int(some.count)
            found.saturated[place] += int(some.saturated)
            for name in ("codes", "squares", "products"):
                own, more = getattr(found, name), getattr(some, name)
                if own is not None and more is not None:
                    own[place] = add_wide(own[place], more)
        return None

    def encode(self, rows: Rows, bits: Bytes, n_jobs: int | None = None) -> int | None:
        """Write the contributions of rows as bits (rows, ceil(M / 8)); return the first row that is not finite."""
        for start, part in self._parts(rows):
            bad = ~np.isfinite(part).all(axis=1)
            if bad.any():
                return start + int(bad.argmax())
            codes, _ = reference.code_rows(part, self._measurement.steps, self._measurement.origin)
            bits[start : start + len(part)] = reference.pack_bits(self._contributions(codes))
        return None

    def _parts(self, rows: Rows) -> Iterator[tuple[int, Rows]]:
        height = max(1, _CHUNK // self._measurement.n_measurements)
        for start in range(0, len(rows), height):
            yield start, rows[start : start + height]

    def _contributions(self, codes: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
        what = self._measurement
        phases = reference.phases_of(codes, what.frequency_codes, what.dither_codes)
        return reference.measure(phases, what.table, what.paired)


def _add_column_sums(found: Summary, codes: npt.NDArray[np.int16], weights: Int64s | Floats) -> None:
    """Add codes (rows, n), squares and products, as weights say: a few bits of these at a time, lest sums wrap."""
    if found.codes is None or found.squares is None:
        return
    values = codes.astype(np.int64)
    for shift in range(0, int(weights.max()).bit_length(), _WEIGHT_BITS):
        some = (weights.astype(np.int64) >> shift) & ((1 << _WEIGHT_BITS) - 1)
        found.codes = add_shifted(found.codes, some @ values, shift)
        found.squares = add_shifted(found.squares, some @ values**2, shift)
        if found.products is not None:
            products = (values.T * some) @ values
            found.products = add_shifted(found.products, products[np.triu_indices(len(products), 1)], shift)


def count_bits(bits: Bytes) -> Int64s:
    """Count the ones at each position of packed rows (rows, width): int64 (8·width,)."""
    counts = np.zeros(8 * bits.shape[1], np.int64)
    height = max(1, _CHUNK // bits.shape[1])
    for start in range(0, len(bits), height):
        unpacked = np.unpackbits(bits[start : start + height], axis=1, bitorder="little")
        counts += unpacked.sum(axis=0, dtype=np.int64)
    return counts
