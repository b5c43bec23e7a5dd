"""What is known of all rows as totals: the measurements of a sketch and, where it has them, the sums of its columns.

A column x of mean μ and variance v adds two totals that are 0 over all rows: of (x − μ)/√v, and of (x − μ)²/v − 1.

Points that lack a heavy tail cannot have its variance: weights that try rest on a few of them. A total t that is off by
its own deviation d takes weights of 1/(1 + t²/d²) of the effective number of points, half of it: beyond that it is left
out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.clouds.contributions import Contributions, Singles, contributions_of
from qckm.decoding.clouds.gpu_contributions import GpuContributions
from qckm.kernels.reference import code_rows
from qckm.sketch import Sketch

# Column sums are exact, and their totals heavier than measurements by this factor: what a calibration leaves of them is
# less by its square.
HEAVIER = 3.0
# A calibration that stops at its ridge may miss a variance by so much; more than that is not there to be had.
_MISSED = 0.05


class Totals(NamedTuple):
    """What points contribute to totals (P, T), what these are (T,), and how many are measurements: the first."""

    contributions: Contributions | GpuContributions
    values: Floats
    n_measured: int


def totals_of(sketch: Sketch, points: Floats, shares: Floats, which: npt.NDArray[np.intp] | None = None) -> Totals:
    """Return what points (P, n) contribute to what is known of all rows, at some of the frequencies or at all.

    `shares` (P,), of sum 1, are what the points weigh before anything is known.
    """
    measured, columns = values_at(sketch, which), column_totals(sketch, points, shares)
    contributions = contributions_of(sketch.operator, points, which, columns)
    return Totals(contributions, np.concatenate([measured, np.zeros(columns.shape[1])]), len(measured))


def values_at(sketch: Sketch, which: npt.NDArray[np.intp] | None = None) -> Floats:
    """Return the values of a sketch at some of the frequencies, or at all."""
    values = sketch.values()
    return values if which is None else values.reshape(-1, sketch.operator.n_frequencies)[:, which].ravel()


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


def unreachable_variance(sketch: Sketch, points: Floats, weights: Floats) -> float:
    """Return the variance of all rows, in squared units, that points with weights of sum 1 lack by more than chance.

    The sum of squares of a few thousand points is uncertain by its own deviation over the root of their number: what
    is missing beyond twice that belongs to rows that are like none of the points. Rows that were clipped are missing,
    too: each may be as far beyond the edge as the furthest row is.
    """
    squares = _away(sketch, points) ** 2
    mean = weights @ squares
    by_chance = np.sqrt((weights @ (squares - mean) ** 2) * (weights @ weights))
    lacking = np.where(1 - mean > np.maximum(2 * by_chance, _MISSED), 1 - mean, 0.0)
    variances, units = _varied(sketch), sketch.operator.units
    return float(lacking @ (variances[variances > 0] / units[variances > 0] ** 2)) + _clipped_variance(
        sketch, points, weights
    )


def _clipped_variance(sketch: Sketch, points: Floats, weights: Floats) -> float:
    """Return the most that clipped rows may have beyond the edge, but for those that points there stand for."""
    if not sketch.saturated:
        return 0.0
    (least, greatest), (lower, upper) = sketch.operator.reach, sketch.bounds
    seen = float(weights[((points < least) | (points > greatest)).any(axis=1)].sum())
    with np.errstate(over="ignore"):  # of rows so far away that squares are no float64
        beyond = np.fmax(np.fmax(least - lower, upper - greatest), 0) / sketch.operator.units  # 0 if not known
        return max(0.0, sketch.saturated / sketch.count - seen) * float(beyond @ beyond)


def _away(sketch: Sketch, points: Floats) -> Floats:
    """Return points as deviations from the means of the columns that vary, (P, at most n): none if that is unknown."""
    operator, variances = sketch.operator, _varied(sketch)
    coded = operator.origin + operator.steps * code_rows(points, operator.steps, operator.origin)[0]
    means = np.zeros(variances.size) if sketch.column_means is None else sketch.column_means
    found: Floats = (coded - means)[:, variances > 0] / np.sqrt(variances[variances > 0])
    return found


def _varied(sketch: Sketch) -> Floats:
    """Return the variances of the columns, (n,): zeros where they are not known."""
    return np.zeros(sketch.operator.n_features) if sketch.column_variances is None else sketch.column_variances
