"""What clusters contribute to a sketch, the derivatives of the misfit, and who computes them: the decoder's loops.

A cluster N(c, S) of weight α adds to the two measurements of a frequency ω, with T = ω·c + ξ and b = ωᵀSω/2,

    α Σ_h exp(−h²·b) · Re(A_h·e^{ihT})     and     α Σ_h exp(−h²·b) · Re(A_h·iʰ·e^{ihT}),

where A_h = 2F_h are the signature's harmonics; a single sketch has the first measurement only. Covariances are a width
and a few axes, S = τI + Σ_r v_r v_rᵀ: b = τ‖ω‖²/2 + Σ_r (ω·v_r)²/2, its blur. Round clusters have no axes.

The C core runs the loops over clusters and frequencies (kernels/core/waves_inc.h), or NumPy where it was not built.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from qckm.common.arrays import Floats

# How many harmonics are seen, by the step from one to the next: those up to the seventh of signatures without even ones
# (the usual ones), of which little is left beyond it at the usual frequencies. Of saw-teeth, whose harmonics fall as
# slowly but are all there, up to the twelfth. The C core has loops for these numbers, and a slower one for any other.
N_HARMONICS = {2: 4, 1: 12}
# … and where clusters are so narrow that more is left: a search takes about as many times longer.
MORE_HARMONICS = {2: 12, 1: 24}


class Waves(NamedTuple):
    """A sketch to explain, and how clusters would show in it."""

    frequencies: Floats  # (n, m)
    phases: Floats  # (m,)
    halves: Floats  # (m,): ‖ω‖²/2
    harmonics: Floats  # (count, 4): real and imaginary part of A_h, and of A_h·iʰ
    step: int  # from one harmonic to the next: 2 where the even ones vanish
    z: Floats  # (2, m); the second row is 0 in a single sketch


class Misfit(NamedTuple):
    """‖z − Σ_k α_k a_k‖², and its derivatives by all that clusters are."""

    value: float
    by_points: Floats  # (K, n)
    by_weights: Floats  # (K,)
    by_widths: Floats  # (K,)
    by_axes: Floats  # (K, r, n)


class Climb(NamedTuple):
    """What points climb on, within bounds: the correlation of the first harmonic with a damped residual.

    Steps have a length of their own, shorter and shorter, whatever the slope; and momentum.
    """

    residual: Floats  # (2, m)
    damping: Floats  # (m,)
    stride: float  # the first step's length
    steps: int
    lower: Floats
    upper: Floats


class Sizes(NamedTuple):
    """How many numbers a fit moves: points, weights, free widths and axes of K clusters, as one vector."""

    K: int
    r: int  # axes each
    free: int  # widths: 0, 1 for all, or K
    evenness: float = 0.0  # the price of free widths that differ


class Rules(NamedTuple):
    """When a descent ends."""

    iterations: int  # at most
    every: int  # so many iterations, it is asked what they gained
    gain: float  # too little: no more than this times the value …
    least: float = 0.0  # … or times this, where the value is less
    slope: float = 0.0  # no derivative within the bounds is steeper


class Descent(NamedTuple):
    """Where a descent ended, the cost there and the evaluations it took."""

    x: Floats
    value: float
    evaluations: int


class Loops(Protocol):
    """The decoder's loops."""

    def atoms(self, waves: Waves, points: Floats, widths: Floats, axes: Floats) -> Floats:
        """Return the atoms (K, 2, m) of clusters at points (K, n) with widths τ (K,) and axes (K, r, n)."""

    def misfit(self, waves: Waves, points: Floats, weights: Floats, widths: Floats, axes: Floats) -> Misfit:
        """Return how far clusters, as above, are from explaining a sketch."""

    def ascend(self, waves: Waves, points: Floats, climb: Climb) -> tuple[Floats, Floats, Floats]:
        """Climb from points (S, n); return the points reached, and the correlations and their gradients there."""

    def correlation(self, waves: Waves, point: Floats) -> tuple[float, Floats]:
        """Return ⟨a, z⟩ / ‖a‖ of the atom of a point (n,) of no width, a pure tone, and its gradient."""

    def fit(
        self, waves: Waves, sizes: Sizes, widths: Floats, start: Floats, low: Floats, high: Floats, rules: Rules
    ) -> tuple[Descent, Floats]:
        """Fit clusters whose widths are these where they are not free. The value is the misfit, without any price.

        Returned are also the widths.
        """

    def match(self, waves: Waves, start: Floats, low: Floats, high: Floats, rules: Rules) -> Descent:
        """Move a point (n,) to where its atom correlates best with z; the value is minus the correlation."""
