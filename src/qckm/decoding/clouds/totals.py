"""What points contribute to what is known of all rows: the measurements of a sketch and the sums of its columns.

Calibration needs nothing but products with contributions. Those of the one-bit signature are signs, a bit each
(kernels/matrices.py): 10,000 rows by 2000 measurements are 5 MB, by rows and by columns, which stay in the cache. Those
of other signatures, and what rows contribute to the totals of columns, are numbers. All of it is of the rows' codes, as
sketches are.

A column x of mean μ and variance v adds two totals that are 0 over all rows: of (x − μ)/√v, and of (x − μ)²/v − 1.

Points that lack a heavy tail cannot have its variance: weights that try rest on a few of them. A total t that is off by
its own deviation d takes weights of 1/(1 + t²/d²) of the effective number of points, half of it: beyond that it is left
out.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats, Int16s, Int64s
from qckm.decoding.task import count_rows, require_memory
from qckm.kernels import reference
from qckm.kernels.matrices import Contributions, Values, pack_signs
from qckm.sketch import Sketch, SketchOperator

# float32 has 24 bits, a contribution at most 16; sums are made in float64 where it matters.
Singles: TypeAlias = npt.NDArray[np.float32]

# Rows whose measurements are made together.
_AT_A_TIME = 256
# What the eight bits of a byte contribute, the lowest first: +1 where a bit is 0.
_SIGNS = 1 - 2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little").astype(
    np.float32
)
# Column sums are exact, and their totals heavier than measurements by this factor: what a calibration leaves of them is
# less by its square.
HEAVIER = 3.0
# A calibration that stops at its ridge may miss a variance by so much; more than that is not there to be had.
_MISSED = 0.05


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


class Totals(NamedTuple):
    """What points contribute to what is known of all rows, and how well that is known."""

    contributions: Contributions  # (P, T)
    values: Floats  # (T,)
    n_measured: int  # how many are measurements: the first, by which weights are judged
    n_rows: float  # of the sketch, as far as it is known
    added: float = 0.0  # the variance of a private sketch's noise in each measurement


def totals_of(sketch: Sketch, points: Floats, shares: Floats, which: npt.NDArray[np.intp] | None = None) -> Totals:
    """Return what points (P, n) contribute to what is known of all rows, at some of the frequencies or at all.

    `shares` (P,), of sum 1, are what the points weigh before anything is known.
    """
    measured, columns = sketch.values(), column_totals(sketch, points, shares)
    if which is not None:
        measured = measured.reshape(-1, sketch.operator.n_frequencies)[:, which].ravel()
    return Totals(
        contributions_of(sketch.operator, points, which, columns),
        np.concatenate([measured, np.zeros(columns.shape[1])]),
        len(measured),
        count_rows(sketch),
        sketch.noise_variance,
    )


def column_totals(sketch: Sketch, points: Floats, shares: Floats) -> Singles:
    """Return what points (P, n) contribute to the totals of columns, (P, at most 2n); each total is 0."""
    away = _away(sketch, points)
    squares = away**2 - 1
    found = np.concatenate([away, squares], axis=1)
    off = shares @ found
    within_reach = off**2 <= shares @ found**2 - off**2
    # Of heavy tails, squares are far from each other: by their own size they are as heavy as the columns themselves.
    squares /= np.maximum(np.sqrt((squares**2).mean(axis=0)), 1.0)
    return (HEAVIER * np.concatenate([away, squares], axis=1)[:, within_reach]).astype(np.float32)


def missing_variance(sketch: Sketch, points: Floats, weights: Floats, prior: Floats, chance: Floats) -> float:
    """Return the variance of all rows, in squared units, that no points have, near or beyond the edge.

    `chance` (P,) is what each point adds to the variance of a mean.
    """
    return _unreachable_variance(sketch, points, weights, chance) + _clipped_variance(sketch, points, prior, chance)


def _unreachable_variance(sketch: Sketch, points: Floats, weights: Floats, chance: Floats) -> float:
    """Return the variance of all rows, in squared units, that points with weights of sum 1 lack by more than chance.

    What is missing beyond twice the deviation of the squares belongs to rows that are like none of the points.
    """
    squares = _away(sketch, points) ** 2
    mean = weights @ squares
    by_chance = np.sqrt(chance @ (squares - mean) ** 2)
    lacking = np.where(1 - mean > np.maximum(2 * by_chance, _MISSED), 1 - mean, 0.0)
    variances, units = _varied(sketch), sketch.operator.units
    return float(lacking @ (variances[variances > 0] / units[variances > 0] ** 2))


def _clipped_variance(sketch: Sketch, points: Floats, shares: Floats, chance: Floats) -> float:
    """Return the most that clipped rows may have beyond the edge, but for those that points there stand for.

    Each may be as far beyond as the furthest row is. `shares` (P,), of sum 1, are what the points stood for before a
    calibration, which sees clipped rows at the edge only. What chance explains is not missing.
    """
    if not sketch.saturated:
        return 0.0
    (least, greatest), (lower, upper) = sketch.operator.reach, sketch.bounds
    beyond_reach = ((points < least) | (points > greatest)).any(axis=1)
    clipped, seen = sketch.saturated / sketch.count, float(shares @ beyond_reach)
    if clipped - seen <= 2 * np.sqrt(chance @ (beyond_reach - seen) ** 2):
        return 0.0
    with np.errstate(over="ignore"):  # of rows so far away that squares are no float64
        beyond = np.fmax(np.fmax(least - lower, upper - greatest), 0) / sketch.operator.units  # 0 if not known
        return (clipped - seen) * float(beyond @ beyond)


def _away(sketch: Sketch, points: Floats) -> Floats:
    """Return points as deviations from the means of the columns that vary, (P, at most n): none if that is unknown."""
    operator, variances = sketch.operator, _varied(sketch)
    coded = operator.origin + operator.steps * reference.code_rows(points, operator.steps, operator.origin)[0]
    means = np.zeros(variances.size) if sketch.column_means is None else sketch.column_means
    found: Floats = (coded - means)[:, variances > 0] / np.sqrt(variances[variances > 0])
    return found


def _varied(sketch: Sketch) -> Floats:
    """Return the variances of the columns, (n,): zeros where they are not known."""
    return np.zeros(sketch.operator.n_features) if sketch.column_variances is None else sketch.column_variances
