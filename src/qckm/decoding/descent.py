"""The compiled part of CL-OMPR: the costs of the paper's steps 1 and 5, and the quasi-Newton descent on them.

The first harmonic of a signature at a point is a·cos(T) in the measurement at ξ and −b·sin(T) a quarter turn on, with
T = Ωᵀc + ξ + arg F₁ and a = b = 2|F₁|; a single sketch has b = 0. Sine and cosine of each point are computed once an
evaluation and serve the value and its derivatives. The whole descent runs without returning to Python, which would take
longer than the arithmetic at the sizes of the paper's figures.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.compiling import compiled
from qckm.decoding.quasi_newton import direction_of, remember
from qckm.decoding.waves import sine_cosine

_MEMORY = 10
# When to stop, as L-BFGS-B has it: an iteration that gains less than this, or a gradient that is as good as none.
_GAIN, _SLOPE = 2.2e-9, 1e-5
_MOST_ITERATIONS = 2000


class Tones(NamedTuple):
    """The first harmonic of an operator's measurements."""

    frequencies: Floats  # (n, m)
    phases: Floats  # (m,)
    first: float  # amplitude of the measurements at ξ
    second: float  # amplitude of those a quarter turn on; 0 in a single sketch


@compiled
def _turn(tones, point, cosine, sine):
    """Write cosine and sine of the phases (m,) of one point (n,)."""
    m = tones.phases.size
    for j in range(m):
        cosine[j] = tones.phases[j]
    for i in range(point.size):
        along = point[i]
        row = tones.frequencies[i]
        for j in range(m):
            cosine[j] += along * row[j]
    for j in range(m):
        s, c = sine_cosine(cosine[j])
        cosine[j] = c
        sine[j] = s


@compiled
def atoms(tones, points):
    """Return the two halves (K, 2, m) of the atoms of points (K, n)."""
    out = np.empty((points.shape[0], 2, tones.phases.size))
    for k in range(points.shape[0]):
        _turn(tones, points[k], out[k, 0], out[k, 1])
        for j in range(tones.phases.size):
            out[k, 0, j] *= tones.first
            out[k, 1, j] *= -tones.second
    return out


@compiled
def _pull_back(tones, by_phase, gradient):
    """Turn derivatives by the phases (m,) into derivatives by the point (n,)."""
    for i in range(gradient.size):
        row = tones.frequencies[i]
        total = 0.0
        for j in range(by_phase.size):
            total += by_phase[j] * row[j]
        gradient[i] = total


@compiled
def correlation(tones, residual, point, cosine, sine, gradient):
    """Return ⟨a(c) / ‖a(c)‖, r⟩ of a point (n,) with a residual (2, m), and write its gradient (step 1)."""
    a, b, m = tones.first, tones.second, tones.phases.size
    _turn(tones, point, cosine, sine)
    square, product = 0.0, 0.0
    for j in range(m):
        square += a * a * cosine[j] * cosine[j] + b * b * sine[j] * sine[j]
        product += a * cosine[j] * residual[0, j] - b * sine[j] * residual[1, j]
    norm = np.sqrt(square)
    value = product / norm
    # d(a·r/‖a‖) = a'·(r/‖a‖ − (a·r)·a/‖a‖³); in a paired sketch ‖a‖ is constant and the second part vanishes.
    for j in range(m):
        x, y = a * cosine[j], -b * sine[j]
        slope = -a * sine[j] * (residual[0, j] - value / norm * x) - b * cosine[j] * (residual[1, j] - value / norm * y)
        cosine[j] = slope / norm
    _pull_back(tones, cosine, gradient)
    return value


@compiled
def objective(tones, z, points, weights, cosine, sine, residual, by_points, by_weights):
    """Return ‖z − Σ_k α_k a(c_k)‖² for z (2, m), and write its gradients by the points and the weights (step 5)."""
    a, b, m = tones.first, tones.second, tones.phases.size
    for j in range(m):
        residual[0, j] = -z[0, j]
        residual[1, j] = -z[1, j]
    for k in range(weights.size):
        _turn(tones, points[k], cosine[k], sine[k])
        heavy, other = a * weights[k], b * weights[k]
        for j in range(m):
            residual[0, j] += heavy * cosine[k, j]
            residual[1, j] -= other * sine[k, j]
    value = 0.0
    for j in range(m):
        value += residual[0, j] * residual[0, j] + residual[1, j] * residual[1, j]
    for k in range(weights.size):
        total, factor = 0.0, 2 * weights[k]
        for j in range(m):
            x, y = a * residual[0, j], b * residual[1, j]
            total += x * cosine[k, j] - y * sine[k, j]
            cosine[k, j] = -factor * (x * sine[k, j] + y * cosine[k, j])
        by_weights[k] = 2 * total
        _pull_back(tones, cosine[k], by_points[k])
    return value


@compiled
def _evaluate(tones, target, n_atoms, x, gradient, cosine, sine, residual):
    """Return the cost of step 5 at x = (points, weights), or, where there are 0 atoms, of step 1 at x = a point."""
    if n_atoms == 0:
        value = correlation(tones, target, x, cosine[0], sine[0], gradient)
        for i in range(x.size):
            gradient[i] = -gradient[i]
        return -value
    n = tones.frequencies.shape[0]
    cut = n_atoms * n
    points, by_points = x[:cut].reshape(n_atoms, n), gradient[:cut].reshape(n_atoms, n)
    return objective(tones, target, points, x[cut:], cosine, sine, residual, by_points, gradient[cut:])


@compiled
def descend(tones, target, n_atoms, start, low, high):
    """Minimise a cost from a start within bounds; return where it ended, the value there and the evaluations it took.

    Projected L-BFGS: what would leave the bounds is put back on them, and a step is halved until it keeps a share of
    the decrease that the gradient promised.
    """
    size, m, rows = start.size, tones.phases.size, max(n_atoms, 1)
    cosine, sine, residual = np.empty((rows, m)), np.empty((rows, m)), np.empty((2, m))
    moves, turns, curvatures = np.zeros((_MEMORY, size)), np.zeros((_MEMORY, size)), np.zeros(_MEMORY)
    x, gradient = np.minimum(np.maximum(start, low), high), np.empty(size)
    trial, new_gradient = np.empty(size), np.empty(size)
    value = _evaluate(tones, target, n_atoms, x, gradient, cosine, sine, residual)
    evaluations, stored = 1, 0
    for _ in range(_MOST_ITERATIONS):
        steepest = 0.0
        for i in range(size):
            steepest = max(steepest, abs(min(max(x[i] - gradient[i], low[i]), high[i]) - x[i]))
        if steepest <= _SLOPE:
            break
        direction = direction_of(x, low, high, gradient, moves, turns, curvatures, stored)
        found, new_value, length = False, value, 1.0
        for _ in range(25):
            promised = 0.0
            for i in range(size):
                trial[i] = min(max(x[i] + length * direction[i], low[i]), high[i])
                promised += gradient[i] * (trial[i] - x[i])
            if promised >= 0:
                break
            new_value = _evaluate(tones, target, n_atoms, trial, new_gradient, cosine, sine, residual)
            evaluations += 1
            if new_value <= value + 1e-4 * promised:
                found = True
                break
            # To the minimum of the parabola through both values and the slope, within reason.
            length *= min(0.5, max(0.1, -0.5 * promised / (new_value - value - promised)))
        if not found:  # no way down: forget the curvature, and try once more along the gradient
            if stored == 0:
                break
            stored = 0
            continue
        stored += remember(x, trial, gradient, new_gradient, moves, turns, curvatures, stored)
        gain = value - new_value
        value = new_value
        for i in range(size):
            x[i], gradient[i] = trial[i], new_gradient[i]
        if gain <= _GAIN * max(1.0, abs(value)):
            break
    return x, value, evaluations
