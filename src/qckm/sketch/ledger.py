"""The ledger of a private sketch: what was spent on its rows, and the noise that was paid for with it.

Spending is counted in ρ (zero-concentrated differential privacy), which adds up over releases of the same rows, and in
a pure ε where only mechanisms that have one were used. ε of a pure mechanism is at most ε²/2 in ρ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from qckm.errors import MergeError, SketchError

NEIGHBOURS = ("add-remove", "replace")
MECHANISMS = ("gaussian", "laplace", "randomised-response")


@dataclass(frozen=True)
class Ledger:
    """What is known of the noise in a private sketch, and what was spent.

    Parameters
    ----------
    sum_variance, count_variance : float
        The variance of the noise in each sum, in units of the signature's table, and in the count.
    rho : float
        What was spent on any person's rows, as ρ-zCDP: here and, where releases before it were named, in those.
    epsilon : float or None
        The same as pure ε, where every mechanism has one.
    delta : float
        The δ at which to tell ε.
    mechanism : {"gaussian", "laplace", "randomised-response"}
    neighbours : {"add-remove", "replace"}
        What two data sets differ by that cannot be told apart.
    rows_per_person : int
        How many rows, as weights count them, a person has at most.
    releases : tuple of str
        Random names of the releases that are in the sum.
    before : tuple of str
        Those of releases of the same rows before it, whose spending is counted here as well.
    """

    sum_variance: float
    count_variance: float
    rho: float
    epsilon: float | None
    delta: float
    mechanism: str
    neighbours: str
    rows_per_person: int
    releases: tuple[str, ...]
    before: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "releases", tuple(self.releases))
        object.__setattr__(self, "before", tuple(self.before))
        numbers = (self.sum_variance, self.count_variance, self.rho, self.delta, self.epsilon or 0.0)
        if not all(isinstance(value, (int, float)) and 0 <= value < math.inf for value in numbers):
            raise SketchError("Expected a ledger of finite numbers >= 0.")
        if not (self.rho > 0 and self.delta < 1 and isinstance(self.rows_per_person, int) and self.rows_per_person > 0):
            raise SketchError("Expected a ledger with some ρ > 0, a δ < 1 and one row a person or more.")
        if self.mechanism not in MECHANISMS or self.neighbours not in NEIGHBOURS:
            raise SketchError(f"Expected a mechanism among {MECHANISMS} and neighbours among {NEIGHBOURS}.")
        names = (*self.releases, *self.before)
        if not self.releases or not all(isinstance(name, str) and name for name in names):
            raise SketchError("Expected a ledger to name its releases.")

    def merged(self, other: Ledger) -> Ledger:
        """Return the ledger of a sum of two private sketches, of different rows: each row was spent on in one of them.

        Variances add; of what was spent, the greater counts.
        """
        mine, others = {*self.releases, *self.before}, {*other.releases, *other.before}
        if mine & set(other.releases) or others & set(self.releases):
            raise MergeError("Cannot add private sketches of the same rows: they would count twice.")
        if self.neighbours != other.neighbours or self.rows_per_person != other.rows_per_person:
            raise MergeError(
                f"Cannot add private sketches of different promises: {self.promise} and {other.promise}. Release both "
                "with the same neighbours and rows_per_person."
            )
        pure = None if self.epsilon is None or other.epsilon is None else max(self.epsilon, other.epsilon)
        return replace(
            self if self.rho >= other.rho else other,
            sum_variance=self.sum_variance + other.sum_variance,
            count_variance=self.count_variance + other.count_variance,
            rho=max(self.rho, other.rho),
            epsilon=pure,
            delta=max(self.delta, other.delta),
            releases=tuple(sorted({*self.releases, *other.releases})),
            before=tuple(sorted({*self.before, *other.before})),
        )

    @property
    def promise(self) -> str:
        """What it protects, in words."""
        whose = "one row" if self.rows_per_person == 1 else f"the up to {self.rows_per_person} rows of one person"
        return f"{whose} {'added or removed' if self.neighbours == 'add-remove' else 'replaced'}"

    def epsilon_at(self, delta: float | None = None) -> float:
        """Return an ε for which (ε, δ)-differential privacy holds; δ is the ledger's own by default."""
        delta = self.delta if delta is None else delta
        by_rho = epsilon_of(self.rho, delta) if delta > 0 else math.inf
        return by_rho if self.epsilon is None else min(self.epsilon, by_rho)

    def in_words(self) -> str:
        """Return the guarantee as a sentence."""
        epsilon = self.epsilon_at()
        pure = self.epsilon is not None and epsilon == self.epsilon
        which = f"ε = {epsilon:.4g}" if pure else f"ε = {epsilon:.4g} at δ = {self.delta:g} (ρ = {self.rho:.4g})"
        earlier = (
            f", {len(self.before)} earlier release{'s' * (len(self.before) > 1)} counted in" if self.before else ""
        )
        return (
            f"private: {which} for {self.promise}, {self.mechanism} noise of deviation {self.sum_variance**0.5:.4g} in "
            f"each sum and {self.count_variance**0.5:.4g} in the count{earlier}"
        )

    def as_facts(self) -> dict[str, Any]:
        """Return the fields, for a file."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Ledger:
        """Return the ledger of a file's fields; refuse others."""
        known = {field.name for field in fields(cls)}
        lists = [facts.get("releases"), facts.get("before")]
        if set(facts) != known or not all(isinstance(names, list) and len(names) < 1 << 16 for names in lists):
            raise SketchError(f"Expected the fields of a ledger, {', '.join(sorted(known))}, got others.")
        if any(isinstance(value, bool) for value in facts.values()):
            raise SketchError("Expected the numbers and words of a ledger, got true or false.")
        return cls(**facts)


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
    # The best order is near 1 + √(log(1/δ)/ρ).
    orders = 1 + np.sqrt(-math.log(delta) / rho) * np.geomspace(1e-2, 1e2, 4001)
    bounds = orders * rho + (-math.log(delta) - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)
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
