"""A black-box audit: how much two data sets can be told apart by what is released, with confidence."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def audited_epsilon(
    here: npt.NDArray[np.int64], there: npt.NDArray[np.int64], delta: float, confidence: float = 0.95
) -> float:
    """Return an ε that is proven, with such confidence, to be exceeded or reached by a mechanism's releases.

    `here` and `there` are a statistic of many releases of two neighbouring data sets. A test that calls a release
    "there" above a threshold has P(there) ≤ e^ε P(here) + δ if the mechanism is (ε, δ)-private. The best threshold is
    chosen on the first half of the releases, and judged on the second: its chances have Clopper–Pearson bounds.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> same = rng.integers(0, 9, (2, 10_000))
    >>> audited_epsilon(same[0], same[1], 0.0) < 0.1
    True
    """
    first, second = slice(0, None, 2), slice(1, None, 2)
    thresholds = np.unique(np.quantile(np.concatenate([here[first], there[first]]), np.linspace(0.005, 0.995, 199)))
    best = 0.0
    chosen: tuple[float, bool] = (float(thresholds[0]), True)
    for threshold in thresholds.tolist():
        for above in (True, False):
            found = _epsilon(*_hits(here[first], there[first], threshold, above), delta, confidence)
            if found > best:
                best, chosen = found, (threshold, above)
    return _epsilon(*_hits(here[second], there[second], *chosen), delta, confidence)


def _hits(
    here: npt.NDArray[np.int64], there: npt.NDArray[np.int64], threshold: float, above: bool
) -> tuple[int, int, int, int]:
    """Return how often a test is right of one data set and wrong of the other, each of how many."""
    if above:
        return int((there >= threshold).sum()), len(there), int((here >= threshold).sum()), len(here)
    return int((here < threshold).sum()), len(here), int((there < threshold).sum()), len(there)


def _epsilon(right: int, of_right: int, wrong: int, of_wrong: int, delta: float, confidence: float) -> float:
    """Return log((p − δ)/q) for the least p and the greatest q that the hits allow, with such confidence in both."""
    from scipy.stats import beta

    outside = (1 - confidence) / 2
    least = float(beta.ppf(outside, right, of_right - right + 1)) if right else 0.0
    greatest = float(beta.isf(outside, wrong + 1, of_wrong - wrong)) if wrong < of_wrong else 1.0
    return math.log((least - delta) / greatest) if least > delta else -math.inf
