"""How large a drift is: the share of the rows that must have changed.

A contribution lies in [−1, 1]. So if a measurement's mean has changed by δ, at least a share |δ|/2 of the rows have
been exchanged for others: for a bit, that is the change of its proportion. The largest of these shares, over all
measurements, is a lower bound of the total variation distance of the two distributions, which is the least share.

The largest of M differences is mostly the luckiest one. Each is therefore shrunk towards 0 first, by how much of the
differences' variance chance makes up (Stein's estimate, by empirical Bayes): shrunk means may be selected without harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.drift.largest import greatest_square
from qckm.sketch import Sketch


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
