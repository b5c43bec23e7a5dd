"""The ledger of a private sketch: what was spent on its rows, and the noise that was paid for with it.

Mechanisms of a pure ε add up in ε, Gaussian ones in ρ (zero-concentrated differential privacy), and a pure ε is at most
ε²/2 in ρ. Which sum is smaller depends on δ, so that both are kept.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from qckm.errors import MergeError, SketchError

NEIGHBOURS = ("add-remove", "replace")
MECHANISMS = ("gaussian", "laplace", "randomised-response")
_LOCAL = "randomised-response"
# What can have been spent, as ε and as ρ: far beyond what promises anything, and within what float64 can reckon with.
_LEAST, _MOST = 1e-30, 1e18
# Names of releases in a ledger, so that its file's header stays far below its limit.
_MOST_NAMES = 1 << 16
_FACTS = (
    "sum_variance", "count_variance", "rho", "epsilon", "delta", "mechanism", "neighbours", "rows_per_person",
    "releases", "before",
)  # fmt: skip
# The most parts of rows whose spending is kept apart. Of more, the greatest of each number counts for all: too much
# rather than too little. One budget for all parts, the usual case, is one.
_MOST_PARTS = 16


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


@dataclass(frozen=True)
class Ledger:
    """What is known of the noise in a private sketch, and what was spent.

    Parameters
    ----------
    sum_variance, count_variance : float
        The variance of the noise in each sum, in units of the signature's table, and in the count.
    spent : tuple of Spent
        What was spent on any person's rows, here and, where releases before it were named, in those. Rows of different
        parts of a sum may have spent differently: then there are several, and the greatest counts.
    delta : float
        The δ at which ε is reported.
    mechanism : str
        "gaussian", "laplace" or "randomised-response", or several with " and " between.
    neighbours : {"add-remove", "replace"}
        What two data sets differ by that cannot be told apart.
    rows_per_person : int
        How many rows, as weights count them, a person has at most.
    releases : tuple of str
        Names of the releases that are in the sum: random, or, of pooled reports, digests of some of them.
    before : tuple of str
        Those of releases of the same rows before it, whose spending is counted here as well.
    """

    sum_variance: float
    count_variance: float
    spent: tuple[Spent, ...]
    delta: float
    mechanism: str
    neighbours: str
    rows_per_person: int
    releases: tuple[str, ...]
    before: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "spent", tuple(Spent(*each) for each in self.spent))
        object.__setattr__(self, "releases", tuple(self.releases))
        object.__setattr__(self, "before", tuple(self.before))
        numbers = (
            self.sum_variance,
            self.count_variance,
            self.delta,
            *(number for each in self.spent for number in each),
        )
        if not all(isinstance(value, (int, float)) and 0 <= value < math.inf for value in numbers):
            raise SketchError("Expected a ledger of finite numbers >= 0.")
        amounts = [amount for each in self.spent for amount in each if amount]
        if not self.spent or not all(each.rho for each in self.spent) or not all(_LEAST <= a <= _MOST for a in amounts):
            raise SketchError(f"Expected a ledger of some spending, in numbers from {_LEAST:g} to {_MOST:g}.")
        if not (self.delta < 1 and isinstance(self.rows_per_person, int) and self.rows_per_person > 0):
            raise SketchError("Expected a ledger with a δ < 1 and one row per person or more.")
        if not set(self.mechanisms) <= set(MECHANISMS) or self.neighbours not in NEIGHBOURS:
            raise SketchError(f"Expected a mechanism among {MECHANISMS} and neighbours among {NEIGHBOURS}.")
        names = (*self.releases, *self.before)
        if not self.releases or not all(isinstance(name, str) and name for name in names):
            raise SketchError("Expected a ledger to name its releases.")
        if len(self.releases) >= _MOST_NAMES or len(self.before) >= _MOST_NAMES:
            raise SketchError(f"Expected a ledger of less than {_MOST_NAMES} releases.")

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms whose noise is in the sum."""
        return tuple(self.mechanism.split(" and ")) if isinstance(self.mechanism, str) else ()

    @property
    def rho(self) -> float:
        """What was spent on any person's rows, as ρ-zCDP."""
        return max(each.rho for each in self.spent)

    @property
    def epsilon(self) -> float | None:
        """The same as pure ε, where every mechanism has one."""
        return None if any(each.gaussian for each in self.spent) else max(each.pure for each in self.spent)

    def merged(self, other: Ledger) -> Ledger:
        """Return the ledger of a sum of two private sketches.

        Variances add. Of what was spent, the greater counts, as each row is in one of the two: that they are different
        rows is the caller's promise. With one mechanism a person's rows may be in both, if they are `rows_per_person`
        in all: ρ grows with the square of how many rows change, and ε with their number, so that some in one sketch and
        some in the other cost no more than all in one. Nobody can promise that the devices of two pools of reports
        differ, so what these spent adds up.
        """
        mine, others = {*self.releases, *self.before}, {*other.releases, *other.before}
        if mine & set(other.releases) or others & set(self.releases):
            raise MergeError("Cannot add private sketches of the same rows: they would count twice.")
        reports_alone = self.mechanism == other.mechanism == _LOCAL
        if self.neighbours != other.neighbours or (self.rows_per_person != other.rows_per_person and not reports_alone):
            raise MergeError(
                f"Cannot add private sketches of different promises: {self.promise} and {other.promise}. Release both "
                "with the same neighbours and rows_per_person."
            )
        try:
            return replace(
                self,
                sum_variance=self.sum_variance + other.sum_variance,
                count_variance=self.count_variance + other.count_variance,
                spent=(both if _LOCAL in {*self.mechanisms} & {*other.mechanisms} else either)(self.spent, other.spent),
                delta=max(self.delta, other.delta),
                mechanism=" and ".join(sorted({*self.mechanisms, *other.mechanisms})),
                rows_per_person=self.rows_per_person + (other.rows_per_person if reports_alone else 0),
                releases=tuple(sorted({*self.releases, *other.releases})),
                before=tuple(sorted({*self.before, *other.before})),
            )
        except MergeError:
            raise
        except SketchError as error:
            raise error.within("Cannot add these private sketches", MergeError) from error

    @property
    def promise(self) -> str:
        """What it protects, in words."""
        whose = "one row" if self.rows_per_person == 1 else f"the up to {self.rows_per_person} rows of one person"
        return f"{whose} {'added or removed' if self.neighbours == 'add-remove' else 'replaced'}"

    def epsilon_at(self, delta: float | None = None) -> float:
        """Return an ε for which (ε, δ)-differential privacy holds; δ is the ledger's own by default."""
        return max(each.epsilon_at(self.delta if delta is None else delta) for each in self.spent)

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
        """Return what a file's ledger says. It has one ρ and one ε; what it leaves out, `spending_facts` has."""
        values = {name: getattr(self, name) for name in _FACTS}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def spending_facts(self) -> dict[str, Any] | None:
        """Return what was spent, part by part, where the ledger's ρ and ε do not say all of it."""
        known = Ledger.from_facts(self.as_facts())
        return None if known == self else {"spent": [list(each) for each in self.spent]}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Ledger:
        """Return the ledger of a file's facts; refuse others."""
        lists = [facts.get("releases"), facts.get("before")]
        if set(facts) != set(_FACTS) or not all(isinstance(names, list) for names in lists):
            raise SketchError(f"Expected the fields of a ledger, {', '.join(sorted(_FACTS))}, got others.")
        if any(isinstance(value, bool) for value in facts.values()):
            raise SketchError("Expected the numbers and words of a ledger, got true or false.")
        rho, epsilon = facts["rho"], facts["epsilon"]
        spent = Spent(0.0, 0.0, rho) if epsilon is None else Spent(epsilon, rho, 0.0)
        return cls(spent=(spent,), **{name: value for name, value in facts.items() if name not in ("rho", "epsilon")})

    def with_spending(self, facts: Mapping[str, Any]) -> Ledger:
        """Return the ledger with what a file says was spent, part by part; refuse what contradicts its ρ and ε."""
        parts = facts.get("spent")
        if (
            set(facts) != {"spent"}
            or not isinstance(parts, list)
            or not 0 < len(parts) <= _MOST_PARTS
            or not all(isinstance(each, list) and len(each) == 3 for each in parts)
            or any(isinstance(number, bool) for each in parts for number in each)
        ):
            raise SketchError(f"Expected what was spent as up to {_MOST_PARTS} parts of three numbers each.")
        found = replace(self, spent=tuple(Spent(*each) for each in parts))
        if (found.rho, found.epsilon) != (self.rho, self.epsilon) or either(found.spent, ()) != found.spent:
            raise SketchError("The ledger and what was spent, part by part, contradict each other.")
        return found


def either(first: Iterable[Spent], second: Iterable[Spent]) -> tuple[Spent, ...]:
    """Return what was spent on the rows of two sketches together, where each row is in one of them."""
    found = sorted({*first, *second}, reverse=True)
    covered = {one for one in found for other in found if other != one and all(map(operator.ge, other, one))}
    parts = tuple(one for one in found if one not in covered)
    return parts if len(parts) <= _MOST_PARTS else (Spent(*map(max, *parts)),)


def both(first: Iterable[Spent], second: Iterable[Spent]) -> tuple[Spent, ...]:
    """Return what was spent on rows that are in two releases: a row may be in any part of each."""
    seconds = tuple(second)
    return either([Spent(*(a + b for a, b in zip(one, two, strict=True))) for one in first for two in seconds], ())


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
