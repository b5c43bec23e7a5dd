"""The test that needs no row: the largest difference over all measurements, in standard deviations.

Each measurement is tested alone. The least of their p-values counts, corrected by Šidák for how many there are, which
holds the level however the measurements depend on each other (exactly for normal ones; to a fortieth for any others, by
Bonferroni). What the test of one measurement is depends on what its sum tells of its variance.

*One bit.* A measurement is a proportion. Given how many of all rows have the bit, the number in one window has the
hypergeometric distribution if the windows are alike: Fisher's exact test, which needs no variance.

*Other signatures.* A sum does not tell the variance, but bounds it. A row's contributions f(t) and f(t + π/2) of a
frequency are a point in the plane; their squares add up to at most G, so that the variances add up to at most
G − |mean|². For the exponential G = 1, and G − |mean|² is the sum of the two variances exactly. The length of the
difference of two such means has at most the tail of a normal number of that variance: it would, if all the variance
were in one direction. Where rows are few or means near the edge, tails are heavier than normal ones. Bennett's
inequality is sharp for Poisson tails, the heaviest there are with that variance and range: the deviation that a normal
number needs for the exponent of Bennett's bound takes the place of t/σ. The level is held, and not used up: a
reference or blocks tell the covariance, and make a more powerful test.
"""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats
from qckm.operator.signatures import Signature
from qckm.sketch import Sketch

# A tail is summed up until a term is this share of the sum.
_NEGLIGIBLE = 1e-9
# From this deviation of a count on, its tail is normal to a few per cent, 5 deviations out, and takes long to sum up.
_LARGE = 300.0
# In two dimensions, a variance that is all in one direction has the heaviest tail beyond 1.6 deviations.
_TAIL = 1.6
# Rows, of any contributions, that are added to the mean of all rows before its variance is taken: none has variance 0.
_PSEUDO_ROWS = 2.0


def largest_difference(a: Sketch, b: Sketch) -> tuple[float, float]:
    """Return the largest difference, in standard deviations of the null hypothesis, and its corrected p-value."""
    if a.operator.signature.is_one_bit:
        deviations, pvalues = _proportions(a, b)
    else:
        deviations, pvalues = _bounded(a, b)
    least = int(np.argmin(pvalues))
    return abs(float(deviations[least])), sidak(float(pvalues[least]), len(pvalues))


def sidak(pvalue: float, tests: int) -> float:
    """Return the probability that the least of so many p-values is as small.

    Examples
    --------
    >>> round(sidak(0.001, 100), 4)
    0.0952
    """
    return 1.0 if pvalue >= 1 else float(-np.expm1(tests * np.log1p(-pvalue)))


def _proportions(a: Sketch, b: Sketch) -> tuple[Floats, Floats]:
    """Return how many deviations each proportion has moved, (M,), and Fisher's two-sided p-values."""
    from scipy.special import ndtr

    first, second = float(a.count), float(b.count)
    mine, both = (a.total + first) / 2, (a.total + b.total + first + second) / 2
    rows = first + second
    mean = first * both / rows
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = mean * (second / rows) * ((rows - both) / max(rows - 1, 1))
        deviations = np.where(variance > 0, (mine - mean) / np.sqrt(variance), 0.0)
    pvalues: Floats = np.asarray(2 * ndtr(-np.abs(deviations)))
    exact = (variance > 0) & (variance < _LARGE**2)
    # Only the least p-value counts: where one is small, those that cannot be are left as they are.
    near = np.abs(deviations) > 0.5 * min(4.0, float(np.abs(deviations).max(initial=0.0)))
    which = np.flatnonzero(exact & near)
    pvalues[which] = 2 * _tails(mine[which], both[which], first, second)
    return deviations, np.minimum(pvalues, 1.0)


def _tails(mine: Floats, both: Floats, first: float, second: float) -> Floats:
    """Return the tail beyond each count, itself included, on its side of the mean, of the hypergeometric law."""
    from scipy.special import gammaln

    # The lower tail is the upper one of the rows that have not the bit.
    below = mine < first * both / (first + second)
    x, total = np.where(below, first - mine, mine), np.where(below, first + second - both, both)

    def choose(n: Floats | float, k: Floats | float) -> Floats:
        found = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
        return np.asarray(found, np.float64)

    term = np.exp(choose(first, x) + choose(second, total - x) - choose(first + second, total))
    tail = term.copy()
    while term.size and (term > _NEGLIGIBLE * tail).any():
        term = term * ((first - x) / (x + 1)) * ((total - x) / (second - total + x + 1))
        tail += term
        x = x + 1
    return tail


def _bounded(a: Sketch, b: Sketch) -> tuple[Floats, Floats]:
    """Return how many deviations the means have moved at least, and p-values: of frequencies, or of measurements."""
    from scipy.special import ndtr

    operator = a.operator
    halves = 2 if operator.paired else 1
    x, y = (sketch.values().reshape(halves, -1) for sketch in (a, b))
    rows = float(a.count + b.count)
    pooled = (a.count * x + b.count * y) / (rows + _PSEUDO_ROWS)
    most, means, moved = greatest_square(operator.signature, halves), (pooled**2).sum(axis=0), ((x - y) ** 2).sum(0)
    if halves == 2 and most > 1 + 1e-6:  # the two alone have less variance: at most 1 − mean² each
        most, means, moved = 1.0, pooled.ravel() ** 2, (x - y).ravel() ** 2
    variance = np.maximum(most - means, 0.0) * (1 / a.count + 1 / b.count)
    step = 2 * np.sqrt(most) / min(a.count, b.count)  # the most that one row moves a difference by
    tilt = np.sqrt(moved) * step / variance
    exponent = variance / step**2 * ((1 + tilt) * np.log1p(tilt) - tilt)
    deviations = np.sqrt(2 * np.maximum(exponent, 0.0))
    return deviations, np.where(deviations > _TAIL, np.asarray(2 * ndtr(-deviations)), 1.0)


def greatest_square(signature: Signature, halves: int) -> float:
    """Return the most that the squares of a row's contributions to one frequency add up to."""
    values = signature.table / signature.full_scale
    squares = values**2 if halves == 1 else values**2 + np.roll(values, -(values.size // 4)) ** 2
    return float(squares.max())
