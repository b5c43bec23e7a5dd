"""Fit clusters to a sketch: points, weights and widths together, by a projected limited-memory quasi-Newton method.

L-BFGS within bounds: variables at a bound whose gradient pushes outwards rest, the others move along the quasi-Newton
direction, and what would leave the bounds is put back on them. A step costs little more than evaluating the misfit, so
that a search can afford thousands of them.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.compiling import compiled
from qckm.decode.waves import Waves, misfit

Floats = npt.NDArray[np.float64]
Widths = Literal["fixed", "shared", "own"]

_MEMORY = 12
_NARROWEST = 1e-4  # a width of 0 would have no derivative of its logarithm


class Mixture(NamedTuple):
    """Clusters N(c, τI): points (K, n), weights (K,), widths τ (K,), and their misfit to the sketch."""

    points: Floats
    weights: Floats
    widths: Floats
    misfit: float


@dataclass(frozen=True, eq=False)
class Problem:
    """A sketch to fit, and the bounds: points within a box, weights at 0 or above, widths up to the widest."""

    waves: Waves
    lower: Floats
    upper: Floats

    @cached_property
    def widest(self) -> float:
        """The widest cluster that frequencies can tell from no cluster: several times the length of the lowest."""
        squares = 2 * self.waves.halves
        return float(16 / np.quantile(squares[squares > 0], 0.02))

    def fit(
        self,
        start: Mixture,
        iterations: int,
        widths: Widths = "shared",
        evenness: float = 0.0,
        tolerance: float = 1e-4,
    ) -> tuple[Mixture, int]:
        """Minimise the misfit; return the mixture and the evaluations it took.

        `evenness` is the price of widths that differ (times the sum of squares of their logarithms' deviations). Stops
        after `iterations`, or when ten of them bring less than `tolerance` of the misfit.
        """
        K, n = start.points.shape
        free = {"fixed": 0, "shared": 1, "own": K}[widths]
        low = np.concatenate([np.tile(self.lower, K), np.zeros(K), np.full(free, _NARROWEST)])
        high = np.concatenate([np.tile(self.upper, K), np.full(K, 2.0), np.full(free, self.widest)])
        tau = start.widths
        first = {"fixed": tau[:0], "shared": tau.mean(keepdims=True), "own": tau}[widths]
        x = np.clip(np.concatenate([start.points.ravel(), start.weights, first]), low, high)
        x, value, evaluations = _minimise(self.waves, K, free, tau, evenness, x, low, high, iterations, tolerance)
        points, weights, moved = _unpack(x, K, n, free, tau)
        return Mixture(points.copy(), weights.copy(), moved.copy(), value), evaluations


@compiled
def _unpack(x, K, n, free, tau):
    """Return the points, weights and widths that the variables x stand for; widths are fixed, shared or own."""
    widths = tau
    if free == 1:
        widths = np.full(K, x[-1])
    elif free > 1:
        widths = x[K * n + K :]
    return x[: K * n].copy().reshape(K, n), x[K * n : K * n + K].copy(), widths.copy()


@compiled
def _evaluate(waves, K, free, tau, evenness, x):
    """Return the misfit, that plus the price of unequal widths, and the gradient of the latter."""
    n = waves.frequencies.shape[0]
    points, weights, widths = _unpack(x, K, n, free, tau)
    value, by_points, by_weights, by_widths = misfit(waves, points, weights, widths)
    gradient = np.empty(x.size)
    gradient[: K * n] = by_points.ravel()
    gradient[K * n : K * n + K] = by_weights
    price = 0.0
    if free == 1:
        gradient[-1] = by_widths.sum()
    elif free > 1:
        logs = np.log(widths)
        logs -= logs.mean()
        price = evenness * (logs * logs).sum()
        gradient[K * n + K :] = by_widths + 2 * evenness * logs / widths
    return value, value + price, gradient


@compiled
def _minimise(waves, K, free, tau, evenness, x, low, high, iterations, tolerance):
    """Return where the descent ends, the misfit there and the evaluations it took."""
    bare, value, gradient = _evaluate(waves, K, free, tau, evenness, x)
    evaluations = 1
    moves, turns = np.zeros((_MEMORY, x.size)), np.zeros((_MEMORY, x.size))
    curvatures = np.zeros(_MEMORY)
    stored, before = 0, value
    for iteration in range(iterations):
        direction = _direction(x, low, high, gradient, moves, turns, curvatures, stored)
        downhill = False
        step, candidate = direction, x
        new_bare, new_value, new_gradient = bare, value, gradient
        if (direction * gradient).sum() < 0:
            length = 1.0
            for _ in range(20):
                candidate = np.minimum(np.maximum(x + length * direction, low), high)
                step = candidate - x
                promised = (gradient * step).sum()
                new_bare, new_value, new_gradient = _evaluate(waves, K, free, tau, evenness, candidate)
                evaluations += 1
                if new_value <= value + 1e-4 * promised:
                    downhill = True
                    break
                # To the minimum of the parabola through both values and the slope, within reason.
                length *= min(0.5, max(0.1, -0.5 * promised / (new_value - value - promised)))
        if not downhill:  # forget the curvature, and try once more along the gradient
            if stored == 0:
                break
            stored = 0
            continue
        turn = new_gradient - gradient
        curvature = (step * turn).sum()
        if curvature > 1e-10 * np.sqrt((step * step).sum() * (turn * turn).sum()):
            moves[stored % _MEMORY] = step
            turns[stored % _MEMORY] = turn
            curvatures[stored % _MEMORY] = curvature
            stored += 1
        x, bare, value, gradient = candidate, new_bare, new_value, new_gradient
        if iteration % 10 == 9:
            if before - value <= tolerance * value:
                break
            before = value
    return x, bare, evaluations


@compiled
def _direction(x, low, high, gradient, moves, turns, curvatures, stored):
    """Return the two-loop quasi-Newton direction over the variables that are free to move."""
    size = x.size
    direction = np.empty(size)
    for i in range(size):
        outward = (x[i] <= low[i] and gradient[i] > 0) or (x[i] >= high[i] and gradient[i] < 0)
        direction[i] = 0.0 if outward else -gradient[i]
    memory = moves.shape[0]
    used = min(stored, memory)
    alphas = np.empty(memory)
    for back in range(used):
        s = (stored - 1 - back) % memory
        total = 0.0
        for i in range(size):
            total += moves[s, i] * direction[i]
        alphas[s] = total / curvatures[s]
        for i in range(size):
            direction[i] -= alphas[s] * turns[s, i]
    total = 0.0
    if used > 0:
        last = (stored - 1) % memory
        for i in range(size):
            total += turns[last, i] * turns[last, i]
        factor = curvatures[last] / total
    else:  # nothing is known yet: a tenth of the model's unit of length
        for i in range(size):
            total += direction[i] * direction[i]
        factor = 0.1 / (np.sqrt(total) + 1e-300)
    for i in range(size):
        direction[i] *= factor
    for forth in range(used):
        s = (stored - used + forth) % memory
        total = 0.0
        for i in range(size):
            total += turns[s, i] * direction[i]
        shift = alphas[s] - total / curvatures[s]
        for i in range(size):
            direction[i] += shift * moves[s, i]
    for i in range(size):
        if (x[i] <= low[i] and gradient[i] > 0) or (x[i] >= high[i] and gradient[i] < 0):
            direction[i] = 0.0
    return direction
