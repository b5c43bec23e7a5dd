"""What rows contribute to a sketch, row by row: calibration needs nothing but products with it.

Contributions of the one-bit signature are signs, a bit each (kernels/matrices.py): 10,000 rows by 2000 measurements are
5 MB, by rows and by columns, which stay in the cache. Those of other signatures, and what rows contribute to the totals
of columns, are numbers. All of it is of the rows' codes, as sketches are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats, Int16s, Int64s
from qckm.decoding.task import require_memory
from qckm.kernels import reference
from qckm.kernels.matrices import Signs, Values, pack_signs
from qckm.sketch import SketchOperator

# float32 has 24 bits, a contribution at most 16; sums are made in float64 where it matters.
Singles: TypeAlias = npt.NDArray[np.float32]

# Rows whose measurements are made together.
_AT_A_TIME = 256
# What the eight bits of a byte contribute, the lowest first: +1 where a bit is 0.
_SIGNS = 1 - 2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little").astype(
    np.float32
)


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each of P rows contributes to each of M totals, (P, M): signs and numbers, side by side.

    Weights of points and directions may be several at once, (L, P) and (L, M): clouds of the same points.
    """

    parts: tuple[Signs | Values, ...]

    @classmethod
    def of_matrix(cls, matrix: Singles) -> Contributions:
        """Return what is given as a matrix (P, M)."""
        return cls((Values(matrix),))

    def squares(self, count: int) -> Floats:
        """Return ‖f(x_i)‖², (P,), over the first so many columns."""
        squares = np.zeros(self.parts[0].shape[0])
        for part in self.parts:
            squares += part.squares(count) if isinstance(part, Values) else min(count, part.shape[1])
            count = max(0, count - part.shape[1])
        return squares

    def mean(self, weights: Floats) -> Floats:
        """Return Σ w_i f(x_i), (M,)."""
        mean: Floats = self.means(weights[np.newaxis])[0]
        return mean

    def means(self, weights: Floats) -> Floats:
        """Return Σ w_i f(x_i) for each of several weights (L, P): (L, M)."""
        return np.concatenate([part.times_rows(weights) for part in self.parts], axis=1)

    def through(self, weights: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """Return Σ w_i f(x_i) (f(x_i)·direction), (M,), and f(x_i)·direction, (P,)."""
        means, along = self.throughs(weights[np.newaxis], direction[np.newaxis])
        return means[0], along[0]

    def throughs(self, weights: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Return as `through` does for each of several weights (L, P) and directions (L, M): (L, M), and (L, P)."""
        cuts = np.cumsum([part.shape[1] for part in self.parts])[:-1]
        own = np.split(directions, cuts, axis=1)
        along = np.zeros(weights.shape)
        for part, vectors in zip(self.parts, own, strict=True):
            along += part.times(vectors)
        return self.means(weights * along), along


def contributions_of(
    operator: SketchOperator, rows: Floats, which: Int64s | None = None, columns: Singles | None = None
) -> Contributions:
    """Return what rows (P, n) contribute at some of the frequencies or at all, and further columns (P, T) beside it."""
    beside = [] if columns is None or not columns.shape[1] else [columns]
    more = map(Values, beside)
    chosen = _measurements(operator, which)
    if not operator.signature.is_one_bit:
        _require_memory(len(rows), chosen.size, 2 * chosen.size)
        table = np.empty((len(rows), chosen.size), np.int16)
        for at in _some_at_a_time(len(rows)):
            table[at] = _looked_up(operator, rows[at], which)
        return Contributions((Values(table, 1 / operator.signature.full_scale), *more))
    _require_memory(len(rows), chosen.size, operator.n_measurements / 8 + chosen.size / 4)
    bits = operator.encode(rows)
    return Contributions((pack_signs(bits, operator.n_measurements, None if which is None else chosen), *more))


def measure(operator: SketchOperator, rows: Floats, which: Int64s | None = None) -> Singles:
    """Measure rows (P, n) one by one, at some of the frequencies or at all: (P, M)."""
    columns = _measurements(operator, which)
    _require_memory(len(rows), columns.size, 4 * columns.size)
    matrix = np.empty((len(rows), columns.size), np.float32)
    for at in _some_at_a_time(len(rows)):
        if operator.signature.is_one_bit:
            signs = _SIGNS.take(operator.encode(rows[at]), axis=0).reshape(len(rows[at]), -1)
            matrix[at] = signs[:, : columns.size] if which is None else signs[:, columns]
        else:
            matrix[at] = _looked_up(operator, rows[at], which) / np.float32(operator.signature.full_scale)
    return matrix


def _measurements(operator: SketchOperator, which: Int64s | None) -> Int64s:
    """Return the numbers of the measurements at some of the frequencies: those of pairs come after all others."""
    m = operator.n_frequencies
    which = np.arange(m) if which is None else np.asarray(which, np.int64)
    return np.concatenate([which + half * m for half in range(2 if operator.paired else 1)])


def _some_at_a_time(n_rows: int) -> list[slice]:
    return [slice(first, first + _AT_A_TIME) for first in range(0, n_rows, _AT_A_TIME)]


def _require_memory(n_rows: int, n_measurements: int, bytes_a_row: float) -> None:
    require_memory(int(n_rows * bytes_a_row), f"Calibrating {n_rows} rows by {n_measurements} measurements")


def _looked_up(operator: SketchOperator, rows: Floats, which: Int64s | None) -> Int16s:
    """Return what the signature's table has for the phases of rows."""
    codes, _ = reference.code_rows(rows, operator.steps, operator.origin)
    frequencies, dither = operator.frequency_codes, operator.dither_codes
    if which is not None and isinstance(frequencies, np.ndarray):
        frequencies, dither, which = frequencies[:, which], dither[which], None
    phases = reference.phases_of(codes, frequencies, dither)
    phases = phases if which is None else phases[:, which]
    return reference.measure(phases, operator.signature.table, operator.paired)
