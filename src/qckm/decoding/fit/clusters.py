"""Fit clusters to a sketch: points, weights and widths together, by a projected limited-memory quasi-Newton method.

L-BFGS within bounds (quasi_newton.py), all of it in the C core. A step costs little more than evaluating the misfit,
so that a search can afford thousands of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.model.loops import Rules, loops
from qckm.decoding.model.waves import Waves

Widths = Literal["fixed", "shared", "own"]

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
        rules = Rules(iterations, every=10, gain=tolerance)
        found, tau = loops().fit(self.waves, (K, r, free), tau, evenness, x, low, high, rules)
        points, weights, _, axes = np.split(found.x, [K * n, K * n + K, K * n + K + free])
        return Mixture(points.reshape(K, n), weights, tau, axes.reshape(K, r, n), found.value), found.evaluations
