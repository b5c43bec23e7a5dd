"""Search for K clusters in a sketch: climb, add, prune, swap.

All clusters share one width while they are searched for: with a width of its own a cluster can swallow its neighbours,
and no search comes back from that. Points climb on the correlation with the residual, blurred at first, so that a start
far from any cluster feels the pull of all of them, and sharper then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qckm.decode.fitting import Mixture, Problem, Widths
from qckm.decode.waves import atoms, correlations
from qckm.decode.weights import non_negative_weights

Floats = npt.NDArray[np.float64]


@dataclass(eq=False)
class Search:
    """A sketch to explain, where its clusters may be, and the dice."""

    problem: Problem
    mean: Floats  # starts are drawn from a Gaussian around the data …
    deviation: Floats  # … (n,) each, in the model's coordinates
    rng: np.random.Generator
    n_starts: int = 40
    n_evaluations: int = 0

    def __post_init__(self) -> None:
        squares = np.sort(2 * self.problem.waves.halves)
        # Squared lengths: what the lowest frequencies still tell apart, and what typical ones do.
        self.coarse = float(1 / squares[int(0.02 * squares.size)])
        self.fine = float(1 / np.median(squares))

    def greedy(self, n_clusters: int, rounds: int) -> Mixture:
        """Add the residual's best place, round by round, and keep the K clusters that matter most."""
        points, widths = np.empty((0, self.mean.size)), np.empty(0)
        residual, best = self.problem.waves.z, None
        while best is None or rounds > 0:
            rounds -= 1
            width = widths[0] if widths.size else 0.3 * self.fine
            found = self.climb(residual, self.draw_starts(self.n_starts), width)
            mixture, worth = self.weigh(np.concatenate([points, found[:1]]), np.append(widths, width))
            if len(mixture.points) > n_clusters:
                kept = np.sort(np.argsort(-worth, kind="stable")[:n_clusters])
                mixture, _ = self.weigh(mixture.points[kept], mixture.widths[kept])
            mixture = self.fit(mixture, 40)
            points, widths, residual = mixture.points, mixture.widths, self.residual(mixture)
            if len(points) == n_clusters and (best is None or mixture.misfit < best.misfit):
                best = mixture
        return self.fit(best, 200)

    def swap(self, mixture: Mixture, tries: int, goal: float) -> Mixture:
        """Add a cluster, at the residual's peak or by splitting one, and drop the least missed; keep what is better."""
        for attempt in range(tries):
            if mixture.misfit <= goal:
                break
            larger = self.fit(self._one_more(mixture, split=attempt % 2 == 1), 40)
            trial = self.fit(self._one_less(larger), 80)
            if trial.misfit < mixture.misfit * (1 - 1e-3):
                mixture = trial
        return mixture

    def fit(self, mixture: Mixture, iterations: int, widths: Widths = "shared", evenness: float = 0.0) -> Mixture:
        """Descend over points, weights and widths together."""
        found, evaluations = self.problem.fit(mixture, iterations, widths, evenness)
        self.n_evaluations += evaluations
        return found

    def weigh(self, points: Floats, widths: Floats) -> tuple[Mixture, Floats]:
        """Return the mixture of the best weights ≥ 0, and what each cluster is worth: weight times norm of its atom."""
        matrix = atoms(self.problem.waves, points, widths).reshape(len(points), -1)
        weights, misfit = non_negative_weights(matrix, self.problem.waves.z.ravel())
        return Mixture(points, weights, widths, misfit), weights * np.linalg.norm(matrix, axis=1)

    def residual(self, mixture: Mixture) -> Floats:
        """Return what the mixture leaves of the sketch, (2, m)."""
        waves = self.problem.waves
        left: Floats = waves.z - np.tensordot(mixture.weights, atoms(waves, mixture.points, mixture.widths), 1)
        return left

    def draw_starts(self, count: int) -> Floats:
        """Draw points where the data are."""
        drawn = self.mean + self.deviation * self.rng.standard_normal((count, self.mean.size))
        return np.clip(drawn, self.problem.lower, self.problem.upper)

    def climb(self, residual: Floats, starts: Floats, sharpest: float, levels: int = 3, steps: int = 15) -> Floats:
        """Return the places that correlate best with the residual among those reached from the starts, best first."""
        waves = self.problem.waves
        points = starts
        for width in np.geomspace(self.coarse, min(max(sharpest, 0.05 * self.fine), self.coarse), levels):
            damping = np.exp(-waves.halves * width)
            energy = damping**2
            stride = 0.8 * np.sqrt(self.mean.size * energy.sum() / (2 * waves.halves * energy).sum())
            velocity = np.zeros_like(points)
            for step in range(steps):
                _, gradient = correlations(waves, points, residual, damping)
                gradient /= np.linalg.norm(gradient, axis=1, keepdims=True) + 1e-300
                velocity = 0.6 * velocity + 0.4 * gradient
                points = np.clip(points + stride * 0.85**step * velocity, self.problem.lower, self.problem.upper)
            values, _ = correlations(waves, points, residual, damping)
            self.n_evaluations += steps + 1
            points = points[np.argsort(-values, kind="stable")[: max(5, len(points) // 3)]]
        return points

    def _one_more(self, mixture: Mixture, split: bool) -> Mixture:
        points, weights, widths, _ = mixture
        if not split:
            found = self.climb(self.residual(mixture), self.draw_starts(self.n_starts), float(np.median(widths)))
            return self.weigh(np.concatenate([points, found[:1]]), np.append(widths, np.median(widths)))[0]
        share = weights * widths + 1e-12
        k = self.rng.choice(len(points), p=share / share.sum())
        side = self.rng.standard_normal(self.mean.size)
        side *= 0.7 * np.sqrt(self.mean.size * max(widths[k], 0.3 * self.fine)) / np.linalg.norm(side)
        both = np.concatenate([points, points[k : k + 1] + side])
        both[k] -= side
        return self.weigh(np.clip(both, self.problem.lower, self.problem.upper), np.append(widths, widths[k]))[0]

    def _one_less(self, mixture: Mixture) -> Mixture:
        matrix = atoms(self.problem.waves, mixture.points, mixture.widths).reshape(len(mixture.points), -1)
        worth = mixture.weights * np.linalg.norm(matrix, axis=1)
        trials = []
        for k in np.argsort(worth, kind="stable")[:4]:
            kept = np.delete(np.arange(len(matrix)), k)
            weights, misfit = non_negative_weights(matrix[kept], self.problem.waves.z.ravel())
            trials.append(Mixture(mixture.points[kept], weights, mixture.widths[kept], misfit))
        return min(trials, key=lambda trial: trial.misfit)
