"""Weights that make a sample represent all the rows of a sketch.

A sketch is M known totals of all rows. Rows of a sample get weights w ≥ 0, near those they have (p), so that the
sample's own sketch is the sketch: survey statisticians call it calibration, or raking. Of all such weights those are
taken that say least beyond the totals:

    minimise  Σ w log(w / p)  +  ‖z − Σ w f(x)‖² / 2ρ      over w ≥ 0, Σ w = 1.

It is convex. Its dual has M unknowns λ, w ∝ p·exp(λ·f(x)), and Newton's method with conjugate gradients solves it by
products with the matrix of contributions alone. What is left of the sketch is ρλ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.clouds.totals import Totals, totals_of
from qckm.errors import PoorFitWarning, RowsError, warn
from qckm.kernels.matrices import Contributions
from qckm.kernels.threads import one_thread
from qckm.sketch import Sketch, SketchOperator
from qckm.sources.rows import as_rows, as_weights, require_finite, require_names

# ρ: how much a total may be missed, against how much weights may move. A total's share of the variance below this is
# left alone. Hardly matters (python -m decoder.constants).
RIDGE = 0.1
# By so much the ridge of a private sketch is lowered at a time.
_LOWERED = 4.0
# A regression on the measurements stops where its gradient is this share of the first.
_ENOUGH = 0.03
# Newton's method stops where the misfit's gradient is this share of the first.
_TOLERANCE = 0.05
# Points that can reproduce a sketch take four to six steps. More are for those that cannot, and of no use to them.
_MOST_STEPS, _MOST_PRODUCTS = 10, 50


@dataclass(frozen=True, eq=False)
class Calibration:
    """A sample whose weighted sketch is the sketch of all rows, as far as it can be.

    Parameters
    ----------
    weights : ndarray of shape (rows,)
        How many of the rows that were sketched each row of the sample stands for: ≥ 0, of sum `sketch.count`.
    effective_size : float
        The number of rows, drawn at random, whose mean is as certain as that of the sample with these weights:
        (Σw)² / Σw².
    residual : float
        ‖z − z′‖², between the sketch's values and the weighted sample's.
    expected : float
        What the residual would be, on average, for as many rows drawn at random, all of one weight.
    """

    weights: Floats
    effective_size: float
    residual: float
    expected: float

    @property
    def matched(self) -> bool:
        """Whether the sample reproduces the sketch at least as well as rows drawn at random would."""
        return self.residual <= self.expected

    def __repr__(self) -> str:
        matched = "matched" if self.matched else "not matched"
        return f"Calibration({len(self.weights)} rows, as certain as {self.effective_size:.0f}, sketch {matched})"


def calibrate(sketch: Sketch, rows: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Calibration:
    """Weigh the rows of any sample so that they represent all the rows that were sketched.

    The sample may be old, convenient, from one site or from the lab. The weights are for any estimator that takes
    `sample_weight`, for histograms and for totals. Rows that are like none of the sample cannot be represented: what
    is missing is told, with a `PoorFitWarning`.

    Parameters
    ----------
    sketch : Sketch
        Of all rows; with any signature.
    rows : array-like of shape (rows, n)
        The sample, its columns as those of the sketch.
    sample_weight : array-like of shape (rows,), optional
        What the rows of the sample stand for before: they are changed as little as possible. By default all alike.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import numpy as np, qckm
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-3, 1, (9000, 2)), rng.normal(3, 1, (1000, 2))])
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=100, scale=2.0, random_state=0)
    >>> sample = np.concatenate([X[:500], X[-500:]])  # half of it from the tenth of the rows that is elsewhere
    >>> found = qckm.calibrate(op.sketch(X), sample)
    >>> round(found.weights.sum()), bool(found.weights[500:].sum() < 1200)
    (10000, True)
    """
    sample = as_sample(sketch.operator, rows)
    prior = np.ones(len(sample)) if sample_weight is None else np.asarray(as_weights(sample_weight, len(sample)), float)
    if not prior.sum() > 0:
        raise RowsError("Expected some sample_weight > 0, got zeros only.")
    totals = totals_of(sketch, sample, prior / prior.sum())
    with one_thread():
        found = solve(totals, prior / prior.sum())
    calibration = Calibration(found.weights * sketch.count, found.effective_size, found.residual, found.expected)
    if not calibration.matched:
        missed = calibration.residual / calibration.expected
        warn(
            f"The sample cannot reproduce the sketch: with the best weights it is {missed:.3g} times as far off as "
            "as many rows drawn at random. Some of the rows that were sketched are like none of the sample.",
            PoorFitWarning,
        )
    return calibration


def as_sample(operator: SketchOperator, rows: npt.ArrayLike) -> Floats:
    """Return rows (P, n) as numbers, if they are rows of what an operator measures."""
    require_names(rows, operator.feature_names)
    sample = np.ascontiguousarray(as_rows(rows, operator.n_features), np.float64)
    if not len(sample):
        raise RowsError("Expected a sample of one row or more, got none.")
    require_finite(sample)
    return sample


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights (P,) of sum 1, what they leave of the sketch (M,), and the sum of the variances of the measurements."""

    weights: Floats
    left: Floats
    variance: float
    size_before: float  # of the sample as it was
    ridge: float  # ρ, at which they were found
    n_rows: float  # of the sketch
    added: float  # what the noise of a private sketch adds, squared, over all measurements

    @property
    def effective_size(self) -> float:
        """The rows drawn at random that are as certain."""
        return float(1 / (self.weights @ self.weights))

    @property
    def residual(self) -> float:
        """What is left of the sketch, squared."""
        return float(self.left @ self.left)

    @property
    def noise(self) -> float:
        """What the sketch is off its expectation, squared, on average."""
        return self.variance / self.n_rows + self.added

    @property
    def expected(self) -> float:
        """What as many rows drawn at random would leave of the sketch, on average."""
        return self.variance / self.size_before + self.noise

    @property
    def matches(self) -> bool:
        """Whether the points reproduce the sketch at least as well as rows drawn at random."""
        return self.residual <= self.expected


def solve(totals: Totals, prior: Floats, tolerance: float | None = None) -> Solution:
    """Return the weights with which points have these totals, near a prior of sum 1.

    Noise of a private sketch is not to be reproduced. Were the points drawn from all rows, P of them, their own sketch
    would be off by Cov/P, and the best linear estimate of the weights has the ridge P·added. Points that were not may
    be further off: the ridge is lowered until they reproduce the sketch within its noise.
    """
    ridge = max(RIDGE, totals.added / float(prior @ prior))
    while True:
        found = _solve(totals, prior, ridge, _TOLERANCE if tolerance is None else tolerance)
        if ridge <= RIDGE or found.residual <= found.added:
            return found
        ridge = max(RIDGE, ridge / _LOWERED)


def solve_for_others(totals: Totals, themselves: Floats, prior: Floats) -> Solution:
    """Return weights as `solve` does that are what points stand for themselves, and more."""
    others = prior - themselves
    share = float(others.sum())
    rest = (totals.values - totals.contributions.mean(themselves)) / share
    found = solve(totals._replace(values=rest, added=totals.added / share**2), others / share)
    weights, left = themselves + share * found.weights, share * found.left
    measured = totals.values[: totals.n_measured] - left
    return replace(
        found,
        weights=weights,
        left=left,
        variance=float(weights @ totals.contributions.squares(totals.n_measured) - measured @ measured),
        size_before=float(1 / (prior @ prior)),
        added=totals.added * totals.n_measured,
    )


def _solve(totals: Totals, prior: Floats, ridge: float, tolerance: float) -> Solution:
    """Return the weights at one ridge."""
    contributions, z, n_measured = totals.contributions, totals.values, totals.n_measured
    with np.errstate(divide="ignore"):
        start = np.log(prior)
    multipliers, tilt = np.zeros(z.size), np.zeros(len(prior))
    weights, value = prior, 0.0
    first = 0.0
    for step in range(_MOST_STEPS):
        mean = contributions.mean(weights)
        gradient = mean - z + ridge * multipliers
        size = float(np.linalg.norm(gradient))
        first = first or size
        if size <= tolerance * first or step == _MOST_STEPS - 1:
            break
        direction, along = _newton_direction(
            contributions, weights, mean, gradient, ridge, min(0.3, np.sqrt(size / first))
        )
        length, slope = 1.0, float(gradient @ direction)
        while length > 1e-6:
            new = multipliers + length * direction
            tried, normaliser = _softmax(start + tilt + length * along)
            new_value = normaliser - new @ z + ridge / 2 * new @ new
            if new_value <= value + 1e-4 * length * slope:
                break
            length /= 2
        else:
            break
        multipliers, tilt, weights, value = new, tilt + length * along, tried, float(new_value)
    measured = mean[:n_measured]
    variance = float(weights @ contributions.squares(n_measured) - measured @ measured)
    left, size_before, added = z[:n_measured] - measured, float(1 / (prior @ prior)), totals.added * n_measured
    return Solution(weights, left, variance, size_before, ridge, totals.n_rows, added)


def _newton_direction(
    contributions: Contributions,
    weights: Floats,
    mean: Floats,
    gradient: Floats,
    ridge: float,
    enough: float,
) -> tuple[Floats, Floats]:
    """Solve (Cov + ρI) d = −gradient by conjugate gradients; return d, and f(x_i)·d."""
    direction, along = np.zeros(mean.size), np.zeros(len(weights))
    left = -gradient
    towards, square = left.copy(), float(left @ left)
    goal = enough**2 * square
    for _ in range(_MOST_PRODUCTS if square else 0):
        product, along_towards = contributions.through(weights, towards)
        product += ridge * towards - mean * (mean @ towards)
        length = square / float(towards @ product)
        direction += length * towards
        along += length * along_towards
        left -= length * product
        new_square = float(left @ left)
        if new_square <= goal:
            break
        towards = left + new_square / square * towards
        square = new_square
    return direction, along


def unexplained(sketch: Sketch, points: Floats, weights: Floats, values: Floats, chance: Floats) -> float:
    """Return the variance of the mean of a function of points, of values (P,), but for what the sketch says of it.

    What it does say is a linear function of the measurements: found with each half of the points, judged by the other.
    `chance` (P,) is what each point adds to the variance.
    """
    contributions = totals_of(sketch, points, weights).contributions
    first = np.arange(len(points)) % 2 == 0
    left = 0.0
    for half in (first, ~first):
        shares = np.where(half, weights, 0.0)
        if not shares.sum() > 0:
            continue
        shares = shares / shares.sum()
        mean, level = contributions.mean(shares), float(shares @ values)
        slope = contributions.mean(shares * (values - level))
        _, along = _newton_direction(contributions, shares, mean, -slope, RIDGE, _ENOUGH)
        rest = values - level - (along - shares @ along)
        left += float(chance[~half] @ rest[~half] ** 2)
    return left


def _softmax(logarithms: Floats) -> tuple[Floats, float]:
    """Return weights of sum 1 in proportion to these exponentials, and the logarithm of their sum."""
    greatest = logarithms.max()
    weights = np.exp(logarithms - greatest)
    total = weights.sum()
    return weights / total, float(greatest + np.log(total))
