"""Fit clusters to a sketch: points, weights and widths together, by a projected limited-memory quasi-Newton method.

L-BFGS within bounds: variables at a bound whose gradient pushes outwards rest, the others move along the quasi-Newton
direction, and what would leave the bounds is put back on them. A step costs little more than evaluating the misfit, so
that a search can afford thousands of them.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

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
        return float(4 / np.quantile(2 * self.waves.halves, 0.02))

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
        tau = start.widths
        low = np.concatenate([np.tile(self.lower, K), np.zeros(K), np.full(free, _NARROWEST)])
        high = np.concatenate([np.tile(self.upper, K), np.full(K, 2.0), np.full(free, self.widest)])
        first = {"fixed": tau[:0], "shared": tau.mean(keepdims=True), "own": tau}[widths]
        cut, end = K * n, K * n + K

        def unpack(x: Floats) -> tuple[Floats, Floats, Floats]:
            moved = {"fixed": tau, "shared": np.full(K, x[-1]), "own": x[end:]}[widths]
            return x[:cut].reshape(K, n), x[cut:end], moved

        def evaluate(x: Floats) -> tuple[float, Floats]:
            points, weights, moved = unpack(x)
            value, by_points, by_weights, by_widths = misfit(self.waves, points, weights, moved)
            if widths == "fixed":
                return value, np.concatenate([by_points.ravel(), by_weights])
            if widths == "shared":
                return value, np.concatenate([by_points.ravel(), by_weights, by_widths.sum(keepdims=True)])
            if evenness:
                logs = np.log(moved)
                logs -= logs.mean()
                value += evenness * float(logs @ logs)
                by_widths = by_widths + 2 * evenness * logs / moved
            return value, np.concatenate([by_points.ravel(), by_weights, by_widths])

        x = np.concatenate([start.points.ravel(), start.weights, first])
        x, evaluations = _minimise(evaluate, np.clip(x, low, high), low, high, iterations, tolerance)
        points, weights, moved = unpack(x)
        found = Mixture(points.copy(), weights.copy(), moved.copy(), misfit(self.waves, points, weights, moved)[0])
        return found, evaluations


def _minimise(
    evaluate: Any, x: Floats, low: Floats, high: Floats, iterations: int, tolerance: float
) -> tuple[Floats, int]:
    value, gradient = evaluate(x)
    evaluations = 1
    moves, turns = np.zeros((_MEMORY, x.size)), np.zeros((_MEMORY, x.size))
    curvatures = np.zeros(_MEMORY)
    stored, before = 0, value
    for iteration in range(iterations):
        direction = _direction(x, low, high, gradient, moves, turns, curvatures, stored)
        slope = direction @ gradient
        trial = None
        if slope < 0:
            length = 1.0
            for _ in range(20):
                candidate = np.clip(x + length * direction, low, high)
                step = candidate - x
                promised = gradient @ step
                new_value, new_gradient = evaluate(candidate)
                evaluations += 1
                if new_value <= value + 1e-4 * promised:
                    trial = candidate
                    break
                # To the minimum of the parabola through both values and the slope, within reason.
                length *= min(0.5, max(0.1, -0.5 * promised / (new_value - value - promised)))
        if trial is None:  # no way down: forget the curvature, and try once more along the gradient
            if not stored:
                break
            stored = 0
            continue
        turn = new_gradient - gradient
        curvature = step @ turn
        if curvature > 1e-10 * np.sqrt((step @ step) * (turn @ turn)):
            moves[stored % _MEMORY], turns[stored % _MEMORY] = step, turn
            curvatures[stored % _MEMORY] = curvature
            stored += 1
        x, value, gradient = trial, new_value, new_gradient
        if iteration % 10 == 9:
            if before - value <= tolerance * value:
                break
            before = value
    return x, evaluations


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
