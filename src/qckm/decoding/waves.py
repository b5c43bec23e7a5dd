"""The compiled loops of the model: what clusters contribute to a sketch, and the derivatives of the misfit.

A cluster N(c, S) of weight α adds to the two measurements of a frequency ω, with T = ω·c + ξ and b = ωᵀSω/2,

    α Σ_h exp(−h²·b) · Re(A_h·e^{ihT})     and     α Σ_h exp(−h²·b) · Re(A_h·iʰ·e^{ihT}),

where A_h = 2F_h are the signature's harmonics; a single sketch has the first measurement only. Covariances are a width
and a few axes, S = τI + Σ_r v_r v_rᵀ: b = τ‖ω‖²/2 + Σ_r (ω·v_r)²/2, its blur. Round clusters have no axes.

Sine, cosine and exponential are polynomials and the harmonics come in a tuple: the compiler unrolls them, and turns the
loops over frequencies into vector instructions. The trigonometry is done twice, before and after the residual is known:
cheaper than keeping six arrays of it. Compiling takes seconds, once a machine: arrays are walked through by hand, which
compiles several times faster than expressions of arrays, and helpers are inlined, lest each is compiled for itself too.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.compiling import compiled, inlined

# How many harmonics are seen, by the step from one to the next: those up to the seventh of signatures without even ones
# (the usual ones), of which little is left beyond it at the usual frequencies. Of saw-teeth, whose harmonics fall as
# slowly but are all there, up to the twelfth. Loops are compiled for the one number, and when it is met for the other.
N_HARMONICS = {2: 4, 1: 12}


class Waves(NamedTuple):
    """What the loops need to know of a sketch, as contiguous arrays and a tuple."""

    frequencies: Floats  # (n, m)
    transposed: Floats  # (m, n)
    phases: Floats  # (m,)
    halves: Floats  # (m,): ‖ω‖²/2
    harmonics: tuple[float, ...]  # four numbers each: real and imaginary part of A_h, and of A_h·iʰ
    pure: bool  # whether there is but the first harmonic, and the tuple is filled up with zeros
    step: int  # from one harmonic to the next: 2 where the even ones vanish
    z: Floats  # (2, m); the second row is 0 in a single sketch


@inlined
def sine_cosine(x):
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
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    return p * p


@inlined
def _ratios(s, c, e, step):
    """Return what leads from a harmonic to the next: a rotation, and the ratio of their dampings with its own ratio."""
    if step == 2:
        e8 = (e * e) * (e * e) * (e * e) * (e * e)
        return 2 * s * c, c * c - s * s, e8, e8
    return s, c, e * e * e, e * e


@compiled
def _spread_out(waves, points, widths, axes):
    """Return sine and cosine of the phases, and the damping e^{−b}, of clusters (K, m) each; and ω·v (K·r, m)."""
    K, r, n = axes.shape
    m = waves.phases.size
    sine = np.dot(points, waves.frequencies)
    along = np.dot(axes.reshape(K * r, n), waves.frequencies)
    cosine, damping = np.empty((K, m)), np.empty((K, m))
    for k in range(K):
        for j in range(m):
            sine[k, j], cosine[k, j] = sine_cosine(sine[k, j] + waves.phases[j])
            damping[k, j] = widths[k] * waves.halves[j]
        for i in range(k * r, k * r + r):
            for j in range(m):
                damping[k, j] += 0.5 * along[i, j] * along[i, j]
        for j in range(m):
            damping[k, j] = _decay(damping[k, j])
    return sine, cosine, damping, along


@compiled
def _add_atom(waves, weight, sine, cosine, damping, first, second):
    A = waves.harmonics
    if waves.pure:
        for j in range(first.size):
            first[j] += weight * damping[j] * (A[0] * cosine[j] - A[1] * sine[j])
            second[j] += weight * damping[j] * (A[2] * cosine[j] - A[3] * sine[j])
        return
    for j in range(first.size):
        s, c, e = sine[j], cosine[j], damping[j]
        turn_s, turn_c, ratio, grow = _ratios(s, c, e, waves.step)
        p = 0.0
        q = 0.0
        for h in range(len(A) // 4):
            p += e * (A[4 * h] * c - A[4 * h + 1] * s)
            q += e * (A[4 * h + 2] * c - A[4 * h + 3] * s)
            c, s = c * turn_c - s * turn_s, s * turn_c + c * turn_s
            e *= ratio
            ratio *= grow
        first[j] += weight * p
        second[j] += weight * q


@compiled
def _derive(waves, sine, cosine, damping, first, second):
    """Return an atom's product with a residual; its derivatives by phase and blur replace the sine and the damping."""
    A = waves.harmonics
    total = 0.0
    if waves.pure:
        for j in range(first.size):
            # Both measurements are multiplied by their residuals at once.
            a = damping[j] * (A[0] * first[j] + A[2] * second[j])
            b = damping[j] * (A[1] * first[j] + A[3] * second[j])
            u = a * cosine[j] - b * sine[j]
            total += u
            sine[j] = -a * sine[j] - b * cosine[j]
            damping[j] = -u
        return total
    for j in range(first.size):
        s, c, e = sine[j], cosine[j], damping[j]
        turn_s, turn_c, ratio, grow = _ratios(s, c, e, waves.step)
        r1 = first[j]
        r2 = second[j]
        turned = 0.0
        blurred = 0.0
        for h in range(len(A) // 4):
            order = 1.0 + h * waves.step
            a = e * (A[4 * h] * r1 + A[4 * h + 2] * r2)
            b = e * (A[4 * h + 1] * r1 + A[4 * h + 3] * r2)
            u = a * c - b * s
            total += u
            blurred -= order * order * u
            turned -= order * (a * s + b * c)
            c, s = c * turn_c - s * turn_s, s * turn_c + c * turn_s
            e *= ratio
            ratio *= grow
        sine[j] = turned
        damping[j] = blurred
    return total


@compiled
def atoms(waves, points, widths, axes):
    """Return the atoms (K, 2, m) of clusters at points (K, n) with widths τ (K,) and axes (K, r, n)."""
    sine, cosine, damping, _ = _spread_out(waves, points, widths, axes)
    out = np.zeros((points.shape[0], 2, waves.phases.size))
    for k in range(points.shape[0]):
        _add_atom(waves, 1.0, sine[k], cosine[k], damping[k], out[k, 0], out[k, 1])
    return out


@compiled
def misfit(waves, points, weights, widths, axes, by_points, by_weights, by_widths, by_axes):
    """Return ‖z − Σ_k α_k a_k‖² for clusters as above, and write its derivatives; those by axes are (K·r, n)."""
    K, r = axes.shape[:2]
    m = waves.phases.size
    sine, cosine, damping, along = _spread_out(waves, points, widths, axes)
    residual = np.empty((2, m))
    for j in range(m):
        residual[0, j] = -waves.z[0, j]
        residual[1, j] = -waves.z[1, j]
    for k in range(K):
        _add_atom(waves, weights[k], sine[k], cosine[k], damping[k], residual[0], residual[1])
    value = 0.0
    for j in range(m):
        value += residual[0, j] * residual[0, j] + residual[1, j] * residual[1, j]
    for k in range(K):
        by_weights[k] = 2 * _derive(waves, sine[k], cosine[k], damping[k], residual[0], residual[1])
        wider, factor = 0.0, 2 * weights[k]
        for j in range(m):
            sine[k, j] *= factor
            damping[k, j] *= factor
            wider += damping[k, j] * waves.halves[j]
        by_widths[k] = wider
        for i in range(k * r, k * r + r):
            for j in range(m):
                along[i, j] *= damping[k, j]
    np.dot(sine, waves.transposed, by_points)
    np.dot(along, waves.transposed, by_axes)
    return value


@compiled
def _correlate(waves, points, a, b):
    """Return Σ a·cos T − b·sin T at each point (S, n), and the gradients."""
    phase = np.dot(points, waves.frequencies)
    values = np.zeros(points.shape[0])
    for i in range(points.shape[0]):
        total = 0.0
        for j in range(phase.shape[1]):
            s, c = sine_cosine(phase[i, j] + waves.phases[j])
            total += a[j] * c - b[j] * s
            phase[i, j] = -a[j] * s - b[j] * c
        values[i] = total
    return values, np.dot(phase, waves.transposed)


@compiled
def ascend(waves, points, residual, damping, stride, steps, lower, upper):
    """Climb from points (S, n), within bounds, to where the first harmonic correlates with a damped residual (2, m).

    Steps have a length of their own, shorter and shorter, whatever the slope; and momentum. Returned are the points
    reached, and the correlations and their gradients there.
    """
    A, n = waves.harmonics, points.shape[1]
    a, b = np.empty(damping.size), np.empty(damping.size)
    for j in range(damping.size):
        a[j] = damping[j] * (A[0] * residual[0, j] + A[2] * residual[1, j])
        b[j] = damping[j] * (A[1] * residual[0, j] + A[3] * residual[1, j])
    points = points.copy()
    velocity = np.zeros(points.shape)
    step = 0
    while True:
        values, gradient = _correlate(waves, points, a, b)
        if step == steps:
            return points, values, gradient
        for i in range(points.shape[0]):
            norm = 1e-300
            for d in range(n):
                norm += gradient[i, d] * gradient[i, d]
            pull = 0.4 / np.sqrt(norm)
            for d in range(n):
                velocity[i, d] = 0.6 * velocity[i, d] + pull * gradient[i, d]
                points[i, d] = min(max(points[i, d] + stride * velocity[i, d], lower[d]), upper[d])
        stride *= 0.85
        step += 1
