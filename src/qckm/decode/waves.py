"""The compiled loops of the model: what clusters contribute to a sketch, and the derivatives of the misfit.

A cluster N(c, τI) of weight α adds to the two measurements of a frequency ω, with T = ω·c + ξ and w = ‖ω‖²/2,

    α Σ_h exp(−h²·τ·w) · Re(A_h·e^{ihT})     and     α Σ_h exp(−h²·τ·w) · Re(A_h·iʰ·e^{ihT}),

where A_h = 2F_h are the signature's harmonics; a single sketch has the first measurement only. Sine, cosine and
exponential are polynomials and the harmonics come in tuples, whose length the compiler knows: it unrolls them, and
turns the loops over frequencies into vector instructions. The trigonometry is done twice, before and after the residual
is known: cheaper than keeping six arrays of it.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.compiling import compiled, inlined

Floats = npt.NDArray[np.float64]


class Waves(NamedTuple):
    """What the loops need to know of a sketch, as contiguous arrays and tuples."""

    frequencies: Floats  # (n, m)
    transposed: Floats  # (m, n)
    phases: Floats  # (m,)
    halves: Floats  # (m,): ‖ω‖²/2
    harmonics: tuple[float, ...]  # four numbers each: real and imaginary part of A_h, and of A_h·iʰ
    step: int  # from one harmonic to the next: 2 where the even ones vanish
    z: Floats  # (2, m); the second row is 0 in a single sketch


@inlined
def _sine_cosine(x):
    """Return sin x and cos x to about 1e-13: a quarter of the angle by its series, then doubled twice."""
    x = x - 6.283185307179586 * np.floor(x * 0.15915494309189535 + 0.5)
    y = x * 0.25
    q = y * y
    s = y * (1 - q * (1 / 6 - q * (1 / 120 - q * (1 / 5040 - q * (1 / 362880 - q * (1 / 39916800 - q / 6227020800))))))
    c = 1 - q * (0.5 - q * (1 / 24 - q * (1 / 720 - q * (1 / 40320 - q * (1 / 3628800 - q / 479001600)))))
    s, c = 2 * s * c, c * c - s * s
    return 2 * s * c, c * c - s * s


@inlined
def _decay(x):
    """Return exp(−x) for x ≥ 0 to about 1e-12; nothing is left beyond 60."""
    x = min(x, 60.0) * 0.00390625
    p = 1 - x * (1 - x * (0.5 - x * (1 / 6 - x * (1 / 24 - x * (1 / 120 - x / 720)))))
    for _ in range(8):
        p = p * p
    return p


@inlined
def _first_and_ratios(s, c, e, step):
    """Return what leads from a harmonic to the next: a rotation, and the ratio of their dampings with its own ratio."""
    even = step == 2
    e2 = e * e
    e8 = (e2 * e2) * (e2 * e2)
    turn_s = 2 * s * c if even else s
    turn_c = c * c - s * s if even else c
    return turn_s, turn_c, e8 if even else e2 * e, e8 if even else e2


@compiled
def _add_atom(weight, phase, halves, width, harmonics, step, first, second):
    for j in range(phase.size):
        s, c = _sine_cosine(phase[j])
        e = _decay(width * halves[j])
        turn_s, turn_c, ratio, grow = _first_and_ratios(s, c, e, step)
        p = 0.0
        q = 0.0
        for h in range(len(harmonics) // 4):
            p += e * (harmonics[4 * h] * c - harmonics[4 * h + 1] * s)
            q += e * (harmonics[4 * h + 2] * c - harmonics[4 * h + 3] * s)
            c, s = c * turn_c - s * turn_s, s * turn_c + c * turn_s
            e *= ratio
            ratio *= grow
        first[j] += weight * p
        second[j] += weight * q


@compiled
def _derive(phase, halves, width, harmonics, step, first, second):
    """Return the derivatives by weight and width of an atom's product with a residual; that by phase in its place."""
    by_weight = 0.0
    by_width = 0.0
    for j in range(phase.size):
        s, c = _sine_cosine(phase[j])
        w = halves[j]
        e = _decay(width * w)
        turn_s, turn_c, ratio, grow = _first_and_ratios(s, c, e, step)
        r1 = first[j]
        r2 = second[j]
        value = 0.0
        turned = 0.0
        widened = 0.0
        for h in range(len(harmonics) // 4):
            order = 1.0 + h * step
            # Both measurements are multiplied by their residuals at once.
            a = e * (harmonics[4 * h] * r1 + harmonics[4 * h + 2] * r2)
            b = e * (harmonics[4 * h + 1] * r1 + harmonics[4 * h + 3] * r2)
            u = a * c - b * s
            value += u
            widened += order * order * u
            turned -= order * (a * s + b * c)
            c, s = c * turn_c - s * turn_s, s * turn_c + c * turn_s
            e *= ratio
            ratio *= grow
        by_weight += value
        by_width -= w * widened
        phase[j] = turned
    return by_weight, by_width


@compiled
def _project(phase, a, b):
    """Return Σ a·cos − b·sin, and leave its derivative by each phase in their place."""
    value = 0.0
    for j in range(phase.size):
        s, c = _sine_cosine(phase[j])
        value += a[j] * c - b[j] * s
        phase[j] = -a[j] * s - b[j] * c
    return value


@compiled
def atoms(waves, points, widths):
    """Return the atoms (K, 2, m) of clusters at points (K, n) with widths τ (K,)."""
    phase = np.dot(points, waves.frequencies) + waves.phases
    out = np.zeros((points.shape[0], 2, waves.phases.size))
    for k in range(points.shape[0]):
        _add_atom(1.0, phase[k], waves.halves, widths[k], waves.harmonics, waves.step, out[k, 0], out[k, 1])
    return out


@compiled
def misfit(waves, points, weights, widths):
    """Return ‖z − Σ_k α_k a_k‖² and its derivatives by points (K, n), weights (K,) and widths (K,)."""
    K, m = points.shape[0], waves.phases.size
    phase = np.dot(points, waves.frequencies) + waves.phases
    first = -waves.z[0]
    second = -waves.z[1]
    for k in range(K):
        _add_atom(weights[k], phase[k], waves.halves, widths[k], waves.harmonics, waves.step, first, second)
    value = 0.0
    for j in range(m):
        value += first[j] * first[j] + second[j] * second[j]
    by_weights, by_widths = np.empty(K), np.empty(K)
    for k in range(K):
        p, v = _derive(phase[k], waves.halves, widths[k], waves.harmonics, waves.step, first, second)
        by_weights[k] = 2 * p
        by_widths[k] = 2 * weights[k] * v
        for j in range(m):
            phase[k, j] *= 2 * weights[k]
    return value, np.dot(phase, waves.transposed), by_weights, by_widths


@compiled
def correlations(waves, points, residual, damping):
    """Return how the first harmonic at each point (S, n) correlates with a damped residual (2, m), with gradients."""
    A = waves.harmonics
    phase = np.dot(points, waves.frequencies) + waves.phases
    a = damping * (A[0] * residual[0] + A[2] * residual[1])
    b = damping * (A[1] * residual[0] + A[3] * residual[1])
    values = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        values[i] = _project(phase[i], a, b)
    return values, np.dot(phase, waves.transposed)


@compiled
def ascend(waves, points, residual, damping, stride, steps, lower, upper):
    """Return where points (S, n) come to by climbing on that correlation, within the bounds, and its values there.

    Steps have a length of their own, shorter and shorter, whatever the slope; and momentum.
    """
    velocity = np.zeros_like(points)
    for _ in range(steps):
        _, gradient = correlations(waves, points, residual, damping)
        for i in range(points.shape[0]):
            norm = np.sqrt((gradient[i] * gradient[i]).sum()) + 1e-300
            velocity[i] = 0.6 * velocity[i] + 0.4 / norm * gradient[i]
        points = np.minimum(np.maximum(points + stride * velocity, lower), upper)
        stride *= 0.85
    values, _ = correlations(waves, points, residual, damping)
    return points, values
