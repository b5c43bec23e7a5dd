"""The largest difference over all measurements: a test that needs no row, and how large the change is at least.

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

*How large.* A contribution lies in [−1, 1]. So if a measurement's mean has changed by δ, at least a share |δ|/2 of the
rows have been exchanged for others: for a bit, that is the change of its proportion. The largest of these shares, over
all measurements, is a lower bound of the total variation distance of the two distributions, which is the least share.
The largest of M differences is mostly the luckiest one. Each is therefore shrunk towards 0 first, by how much of the
differences' variance chance makes up (Stein's estimate, by empirical Bayes): shrunk means may be selected without harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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


class Effect(NamedTuple):
    """The least share of the rows that must have changed, between 0 and 1, and its standard error."""

    size: float
    error: float


def effect_of(first: Sequence[Sketch], second: Sequence[Sketch]) -> Effect:
    """Return how large the difference of two windows is; of windows in parts, parts tell how much chance does.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=100, scale=1.0, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> monday, tuesday = rng.normal(size=(2, 20_000, 2))
    >>> tuesday[:2000] += 6  # a tenth of the rows
    >>> found = effect_of([op.sketch(monday)], [op.sketch(tuesday)])
    >>> bool(abs(found.size - 0.1) < 2 * found.error)
    True
    """
    before, after = sum(first[1:], first[0]), sum(second[1:], second[0])
    differences = after.values() - before.values()
    if len(first) > 1 and len(second) > 1:
        variances = _variance_of_parts(first) + _variance_of_parts(second)
    else:
        variances = _variance_of_rows(before, after)
    # Of δ, over all measurements: what is left of the differences' mean square when chance has had its part.
    true = max(float((differences**2 - variances).mean()), 0.0)
    shrunk = np.abs(differences) * np.divide(true, true + variances, out=np.zeros_like(variances), where=variances > 0)
    shrunk[variances <= 0] = np.abs(differences)[variances <= 0]
    # Which measurement it is may be chance, too: the error is that of those that vary most.
    return Effect(min(float(shrunk.max()) / 2, 1.0), min(float(np.sqrt(variances.max())) / 2, 1.0))


def _variance_of_rows(before: Sketch, after: Sketch) -> Floats:
    """Return the variance of each difference if rows are independent: of bits exactly, of others at most, (M,)."""
    factor = 1 / before.count + 1 / after.count
    pooled = (before.count * before.values() + after.count * after.values()) / (before.count + after.count)
    if before.operator.signature.is_one_bit:
        return (1 - pooled**2) * factor
    halves = 2 if before.operator.paired else 1
    most = greatest_square(before.operator.signature, halves)
    if halves == 1 or most > 1 + 1e-6:  # each alone has a variance of at most 1 − mean²
        return np.maximum(1 - pooled**2, 0.0) * factor
    # The two of a frequency share a variance that is known, half each.
    shared = np.maximum(most - (pooled.reshape(2, -1) ** 2).sum(axis=0), 0.0) / 2 * factor
    return np.concatenate([shared, shared])


def _variance_of_parts(parts: Sequence[Sketch]) -> Floats:
    """Return the variance of a window's means as its parts vary, whatever rows of a part have to do with each other."""
    counts = np.array([part.count for part in parts], np.float64)[:, np.newaxis]
    values = np.stack([part.values() for part in parts])
    shares = counts / counts.sum()
    around = values - (shares * values).sum(axis=0)
    variance: Floats = (shares**2 * around**2).sum(axis=0) * len(parts) / (len(parts) - 1)
    return variance
