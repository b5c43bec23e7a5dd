"""What clusters contribute to a sketch, and the derivatives of the misfit.

A cluster N(c, S) of weight α adds to the two measurements of a frequency ω, with T = ω·c + ξ and b = ωᵀSω/2,

    α Σ_h exp(−h²·b) · Re(A_h·e^{ihT})     and     α Σ_h exp(−h²·b) · Re(A_h·iʰ·e^{ihT}),

where A_h = 2F_h are the signature's harmonics; a single sketch has the first measurement only. Covariances are a width
and a few axes, S = τI + Σ_r v_r v_rᵀ: b = τ‖ω‖²/2 + Σ_r (ω·v_r)²/2, its blur. Round clusters have no axes.

The loops over clusters and frequencies are the C core's (kernels/core/waves_inc.h), or NumPy's where it was not built.
"""

from __future__ import annotations

from typing import NamedTuple

from qckm.common.arrays import Floats
from qckm.decoding.model.loops import loops

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


def atoms(waves: Waves, points: Floats, widths: Floats, axes: Floats) -> Floats:
    """Return the atoms (K, 2, m) of clusters at points (K, n) with widths τ (K,) and axes (K, r, n)."""
    return loops().atoms(waves, points, widths, axes)


def misfit(waves: Waves, points: Floats, weights: Floats, widths: Floats, axes: Floats) -> Misfit:
    """Return how far clusters, as above, are from explaining a sketch."""
    return loops().misfit(waves, points, weights, widths, axes)


def ascend(
    waves: Waves,
    points: Floats,
    residual: Floats,
    damping: Floats,
    stride: float,
    steps: int,
    lower: Floats,
    upper: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Climb from points (S, n), within bounds, to where the first harmonic correlates with a damped residual (2, m).

    Steps have a length of their own, shorter and shorter, whatever the slope; and momentum. Returned are the points
    reached, and the correlations and their gradients there.
    """
    return loops().ascend(waves, points, residual, damping, stride, steps, lower, upper)
