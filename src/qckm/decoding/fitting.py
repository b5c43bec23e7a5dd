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

from qckm.common.arrays import Floats
from qckm.common.compiling import compiled
from qckm.decoding.quasi_newton import direction_of, remember
from qckm.decoding.waves import Waves, misfit

Widths = Literal["fixed", "shared", "own"]

_MEMORY = 12
_NARROWEST = 1e-4  # a width of 0 would have no derivative of its logarithm


class Mixture(NamedTuple):
    """Clusters N(c, τI + Σ_r v_r v_rᵀ): their points, weights, widths τ and axes v, and their misfit to the sketch."""

    points: Floats  # (K, n)
    weights: Floats  # (K,)
    widths: Floats  # (K,)
    axes: Floats  # (K, r, n); r = 0 for round clusters
    misfit: float

    @property
    def shape(self) -> tuple[Floats, Floats, Floats]:
        """Where the clusters are and how far they reach: what their atoms depend on."""
        return self.points, self.widths, self.axes

    @property
    def unknowns(self) -> int:
        """The numbers that were fitted."""
        return self.points.size + self.weights.size + self.widths.size + self.axes.size

    def some(self, which: npt.NDArray[np.intp]) -> Mixture:
        """Return some of the clusters, as they are."""
        return Mixture(self.points[which], self.weights[which], self.widths[which], self.axes[which], np.inf)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw points (count, n) from the mixture."""
        shares = self.weights + np.finfo(np.float64).tiny  # where there is no weight at all, as much of each
        which = rng.choice(len(shares), size=count, p=shares / shares.sum())
        around = np.sqrt(self.widths[which])[:, np.newaxis] * rng.standard_normal((count, self.points.shape[1]))
        along = rng.standard_normal((count, self.axes.shape[1]))
        drawn: Floats = self.points[which] + around + np.einsum("ir,irn->in", along, self.axes[which])
        return drawn


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
        K, r, n = start.axes.shape
        free = {"fixed": 0, "shared": 1, "own": K}[widths]
        longest = np.full(K * r * n, np.sqrt(self.widest))
        low = np.concatenate([np.tile(self.lower, K), np.zeros(K), np.full(free, _NARROWEST), -longest])
        high = np.concatenate([np.tile(self.upper, K), np.full(K, 2.0), np.full(free, self.widest), longest])
        tau = start.widths
        first = {"fixed": tau[:0], "shared": tau.mean(keepdims=True), "own": tau}[widths]
        x = np.concatenate([start.points.ravel(), start.weights, first, start.axes.ravel()])
        x = np.minimum(np.maximum(x, low), high)
        tau = tau.copy()
        value, evaluations = _minimise(self.waves, (K, r, free), tau, evenness, x, low, high, iterations, tolerance)
        points, weights, _, axes = np.split(x, [K * n, K * n + K, K * n + K + free])
        return Mixture(points.reshape(K, n), weights, tau, axes.reshape(K, r, n), value), evaluations


@compiled
def _minimise(waves, sizes, widths, evenness, x, low, high, iterations, tolerance):
    """Descend from x to where it ends, with the widths; return the misfit there and the evaluations it took."""
    size, n = x.size, waves.frequencies.shape[0]
    K, r, free = sizes
    moves, turns, curvatures = np.zeros((_MEMORY, size)), np.zeros((_MEMORY, size)), np.zeros(_MEMORY)
    gradient, new_gradient, candidate = np.empty(size), np.empty(size), x.copy()
    # The parts of what is tried, and of the gradient there.
    points, by_points = candidate[: K * n].reshape(K, n), new_gradient[: K * n].reshape(K, n)
    weights, by_weights = candidate[K * n : K * n + K], new_gradient[K * n : K * n + K]
    own, by_own = candidate[K * n + K : K * n + K + free], new_gradient[K * n + K : K * n + K + free]
    axes = candidate[K * n + K + free :].reshape(K, r, n)
    by_axes = new_gradient[K * n + K + free :].reshape(K * r, n)
    by_widths = np.empty(K)
    direction, promised, length = candidate, 0.0, 1.0
    bare = value = before = np.inf
    evaluations, shorter, stored, iteration = 0, 0, 0, -1
    while True:
        _set_widths(own, widths)
        new_bare = misfit(waves, points, weights, widths, axes, by_points, by_weights, by_widths, by_axes)
        new_value = new_bare + _price(widths, by_widths, evenness, by_own)
        evaluations += 1
        if iteration >= 0 and new_value > value + 1e-4 * promised:
            shorter += 1
            # To the minimum of the parabola through both values and the slope, within reason.
            length *= min(0.5, max(0.1, -0.5 * promised / (new_value - value - promised)))
        else:
            if iteration >= 0:
                stored += remember(x, candidate, gradient, new_gradient, moves, turns, curvatures, stored)
            for i in range(size):
                x[i], gradient[i] = candidate[i], new_gradient[i]
            bare, value, shorter, iteration = new_bare, new_value, 0, iteration + 1
            if iteration % 10 == 0:
                if before - value <= tolerance * value:
                    break
                before = value
            if iteration == iterations:
                break
        if shorter == 20:  # no way down: forget the curvature, and try once more along the gradient
            if stored == 0:
                break
            shorter = stored = 0
        while shorter == 0:
            direction, length, slope = direction_of(x, low, high, gradient, moves, turns, curvatures, stored), 1.0, 0.0
            for i in range(size):
                slope += direction[i] * gradient[i]
            if slope < 0 or stored == 0:
                break
            stored = 0
        promised = 0.0
        for i in range(size):
            candidate[i] = min(max(x[i] + length * direction[i], low[i]), high[i])
            promised += gradient[i] * (candidate[i] - x[i])
        if promised >= 0 and stored == 0:
            break
    _set_widths(x[K * n + K : K * n + K + free], widths)
    return bare, evaluations


@compiled
def _set_widths(own, widths):
    """Set the widths: as they are, one for all, or each its own."""
    if own.size > 0:
        for k in range(widths.size):
            widths[k] = own[min(k, own.size - 1)]


@compiled
def _price(widths, by_widths, evenness, by_own):
    """Return the price of unequal widths, and write the derivatives by the widths that are free, price included."""
    price, total, mean = 0.0, 0.0, 0.0
    for k in range(widths.size):
        total += by_widths[k]
        mean += np.log(widths[k]) / widths.size
    if by_own.size == 1:
        by_own[0] = total
    elif by_own.size > 1:
        for k in range(widths.size):
            off = np.log(widths[k]) - mean
            price += evenness * off * off
            by_own[k] = by_widths[k] + 2 * evenness * off / widths[k]
    return price
