"""What is measured: the laws that random frequencies follow, and what their scale means.

Laws are radial: a frequency is a direction uniform on the sphere times a radius, ω = R·φ. The scale is the kernel's
length in data units, the same for every law: s = sqrt(n / E‖ω‖²). A law therefore only has to know how to draw radii
and what their mean square is; `draw_frequencies` does the rest. One that draws integers itself, as the seeded law does,
says how. Frequencies of an integer law are made from a recipe (codes.py), with norms and directions much as those of
the law of the same name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qckm.common.arrays import Floats
from qckm.errors import OperatorError
from qckm.operator import seeded
from qckm.operator.codes import Recipe
from qckm.operator.request import Drawn, OperatorRequest


@dataclass(frozen=True)
class Law:
    """A radial law.

    Parameters
    ----------
    name : str
    draw_radii : callable
        How to draw m radii in dimension n: (n, m, rng) to an array (m,).
    mean_square : callable
        E R² in dimension n.
    draw_codes : callable, optional
        How to draw the integers of an operator, for a law whose directions are its own as well: (request, rng) to them
        and a note.
    degrees : callable, optional
        For a law whose frequencies are made from a recipe (codes.py): the degrees of freedom of norms in dimension n.
    """

    name: str
    draw_radii: Callable[[int, int, np.random.Generator], Floats]
    mean_square: Callable[[int], float]
    draw_codes: Callable[[OperatorRequest, np.random.Generator], tuple[Drawn, str]] | None = None
    degrees: Callable[[int], int] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Let a law of ours travel, by pickle or copy, as its name: its functions have none."""
        if LAWS.get(self.name) is self:
            return get_law, (self.name,)
        return type(self), (self.name, self.draw_radii, self.mean_square, self.draw_codes, self.degrees)


def _adapted_radii(n: int, m: int, rng: np.random.Generator) -> Floats:
    """Draw from the density ∝ sqrt(R² + R⁴/4)·exp(−R²/2), exactly, by rejection.

    With u = R²/2 the density is ∝ sqrt(1 + u/2)·exp(−u). As sqrt(1 + u/2) ≤ 1 + u/4, candidates come from the mixture
    0.8·Exp(1) + 0.2·Gamma(2), whose density is ∝ (1 + u/4)·exp(−u); 94 % of them are accepted.
    """
    accepted = np.empty(0)
    while accepted.size < m:
        missing = m - accepted.size
        candidates = rng.gamma(np.where(rng.random(missing) < 0.8, 1.0, 2.0))
        keep = rng.random(missing) * (1 + candidates / 4) <= np.sqrt(1 + candidates / 2)
        accepted = np.concatenate([accepted, candidates[keep]])
    radii: Floats = np.sqrt(2 * accepted)
    return radii


def _adapted_mean_square(n: int) -> float:
    """E R² = 2·E u = 4·(E v − 1) with v = 1 + u/2, of density ∝ sqrt(v)·exp(−2v) on v > 1.

    E v is then Γ(5/2, 2) / 2Γ(3/2, 2), a ratio of incomplete gamma functions, and Γ(a + 1, x) = a·Γ(a, x) + xᵃ·exp(−x).
    """
    lower = math.sqrt(math.pi) / 2 * math.erfc(math.sqrt(2)) + math.sqrt(2) * math.exp(-2)  # Γ(3/2, 2)
    upper = 1.5 * lower + 2**1.5 * math.exp(-2)  # Γ(5/2, 2)
    return 4 * (upper / (2 * lower) - 1)


# The chi law with 50 degrees of freedom: radii within about 10 % of each other, in any dimension.
_CONCENTRATION = 50
# The chi law with so many degrees of freedom for each feature; the Gaussian law has one.
_BALANCE = 3


def _integer_law(name: str, degrees: Callable[[int], int]) -> Law:
    """Return a law of chi norms whose frequencies are made from a recipe."""

    def draw_radii(n: int, m: int, rng: np.random.Generator) -> Floats:
        seed = int(rng.integers(2**64, dtype=np.uint64))
        return Recipe(1, m, seed, degrees(n), np.zeros(1, np.int64)).norms() / 65536

    return Law(name, draw_radii, lambda n: 1.0, degrees=degrees)


LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        Law("gaussian", lambda n, m, rng: np.sqrt(rng.chisquare(n, m)), float),
        Law("folded-gaussian", lambda n, m, rng: np.abs(rng.standard_normal(m)), lambda n: 1.0),
        Law("adapted-radius", _adapted_radii, _adapted_mean_square),
        Law(
            "concentrated-radius",
            lambda n, m, rng: np.sqrt(rng.chisquare(_CONCENTRATION, m)),
            lambda n: float(_CONCENTRATION),
        ),
        Law(
            "balanced-radius",
            lambda n, m, rng: np.sqrt(rng.chisquare(_BALANCE * n, m)),
            lambda n: float(_BALANCE * n),
        ),
        Law("seeded", seeded.draw_radii, lambda n: float(seeded.VARIANCE * n), seeded.draw_codes),
        _integer_law("integer-gaussian", lambda n: n),
        _integer_law("integer-concentrated", lambda n: _CONCENTRATION),
        _integer_law("integer-balanced", lambda n: _BALANCE * n),
    )
}


def get_law(law: str | Law) -> Law:
    """Return the law of that name, or the law itself."""
    if isinstance(law, Law):
        return law
    if law not in LAWS:
        raise OperatorError(f"Expected a law among {', '.join(LAWS)}, got {law!r}.")
    return LAWS[law]


def draw_frequencies(n: int, m: int, scale: float, law: str | Law, rng: np.random.Generator) -> Floats:
    """Draw frequencies Ω: (n, m) in radians per unit, with sqrt(n / E‖ω‖²) = scale.

    Examples
    --------
    >>> import numpy as np
    >>> omega = draw_frequencies(10, 100_000, 4.0, "adapted-radius", np.random.default_rng(0))
    >>> print(round(float(np.sqrt(10 / (omega**2).sum(axis=0).mean())), 1))
    4.0
    """
    directions = rng.standard_normal((n, m))
    directions /= np.linalg.norm(directions, axis=0)
    omega: Floats = directions * draw_norms(n, m, scale, law, rng)
    return omega


def draw_norms(n: int, m: int, scale: float, law: str | Law, rng: np.random.Generator) -> Floats:
    """Draw the norms of frequencies, (m,)."""
    law = get_law(law)
    norms: Floats = law.draw_radii(n, m, rng) * np.sqrt(n / law.mean_square(n)) / scale
    return norms
