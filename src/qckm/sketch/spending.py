"""What releases have spent on rows, and which ε that is.

Mechanisms of a pure ε add up in ε, Gaussian ones in ρ (zero-concentrated differential privacy), and a pure ε is at most
ε²/2 in ρ. Which sum is smaller depends on δ, so that both are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from qckm.errors import SketchError

# The most parts of rows whose spending is kept apart. Of more, the greatest of each number counts for all: too much
# rather than too little. One budget for all parts, the usual case, is one.
MOST_PARTS = 16


class Spent(NamedTuple):
    """What was spent on the rows of one part of a sum, by all releases that they are in.

    Parameters
    ----------
    pure : float
        The sum of the ε of mechanisms that have a pure one.
    pure_rho : float
        The sum of their ρ.
    gaussian : float
        The sum of the ρ of Gaussian mechanisms.
    """

    pure: float
    pure_rho: float
    gaussian: float

    @property
    def rho(self) -> float:
        """All of it as ρ."""
        return self.pure_rho + self.gaussian

    def epsilon_at(self, delta: float) -> float:
        """Return an ε for which (ε, δ)-differential privacy holds: all as ρ, or pure ε and ρ apart, whichever is less.

        Examples
        --------
        >>> round(Spent(1.0, 0.5, rho_of(1.0, 1e-6)).epsilon_at(1e-6), 6)  # ε = 1 twice; all as ρ it would be 5.4
        2.0
        """
        if not self.gaussian:
            return min(self.pure, epsilon_of(self.rho, delta) if delta > 0 else math.inf)
        if not delta > 0:
            return math.inf
        return min(epsilon_of(self.rho, delta), self.pure + epsilon_of(self.gaussian, delta))


def either(first: Iterable[Spent], second: Iterable[Spent]) -> tuple[Spent, ...]:
    """Return what was spent on the rows of two sketches together, where each row is in one of them."""
    found = sorted({*first, *second}, reverse=True)
    parts = tuple(one for one in found if not any(other != one and _covers(other, one) for other in found))
    return parts if len(parts) <= MOST_PARTS else (Spent(*map(max, *parts)),)


def both(first: Iterable[Spent], second: Iterable[Spent]) -> tuple[Spent, ...]:
    """Return what was spent on rows that are in two releases: a row may be in any part of each."""
    seconds = tuple(second)
    return either([Spent(*(a + b for a, b in zip(one, two, strict=True))) for one in first for two in seconds], ())


def _covers(one: Spent, other: Spent) -> bool:
    return all(a >= b for a, b in zip(one, other, strict=True))


def epsilon_of(rho: float, delta: float) -> float:
    """Return the ε of (ε, δ)-differential privacy that ρ-zCDP implies (Canonne, Kamath and Steinke 2020, prop. 12).

    Every order α gives a true bound, so that the least over some of them is one, too.

    Examples
    --------
    >>> round(epsilon_of(0.02, 1e-6), 2)
    0.9
    """
    if not (rho > 0 and 0 < delta < 1):
        raise SketchError(f"Expected ρ > 0 and 0 < δ < 1, got {rho!r} and {delta!r}.")
    # The best order is near 1 + √(log(1/δ)/ρ); what it is above 1 may be so little that no float64 holds their sum.
    above = np.sqrt(-math.log(delta) / rho) * np.geomspace(1e-2, 1e2, 4001)
    bounds = (1 + above) * rho + (-math.log(delta) - np.log1p(above)) / above + np.log(above) - np.log1p(above)
    return max(0.0, float(bounds.min()))


def rho_of(epsilon: float, delta: float) -> float:
    """Return the greatest ρ, to nine digits, that implies (ε, δ)-differential privacy.

    Examples
    --------
    >>> round(rho_of(0.9, 1e-6), 3)
    0.02
    """
    if not (0 < epsilon < math.inf and 0 < delta < 1):
        raise SketchError(f"Expected ε > 0 and 0 < δ < 1, got {epsilon!r} and {delta!r}.")
    low, high = 0.0, epsilon  # ρ itself is an ε of some δ: more is never allowed
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low
