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
from qckm.decoding.contributions import Contributions, Singles, contributions_of
from qckm.decoding.gpu_contributions import GpuContributions
from qckm.kernels.reference import code_rows
from qckm.sketch import Sketch

# Column sums are exact, and their totals heavier than measurements by this factor: what a calibration leaves of them is
# less by its square.
HEAVIER = 3.0


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
    means, variances = sketch.column_means, sketch.column_variances
    if means is None or variances is None or not (variances > 0).any():
        return np.empty((len(points), 0), np.float32)
    operator, varied = sketch.operator, variances > 0
    coded = operator.origin + operator.steps * code_rows(points, operator.steps, operator.origin)[0]
    away = (coded - means)[:, varied] / np.sqrt(variances[varied])
    squares = away**2 - 1
    found = np.concatenate([away, squares], axis=1)
    off = shares @ found
    within_reach = off**2 <= shares @ found**2 - off**2
    # Of heavy tails, squares are far from each other: by their own size they are as heavy as the columns themselves.
    squares /= np.maximum(np.sqrt((squares**2).mean(axis=0)), 1.0)
    return (HEAVIER * np.concatenate([away, squares], axis=1)[:, within_reach]).astype(np.float32)
