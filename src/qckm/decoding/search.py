"""Search for clusters in a sketch: grow beyond what is wanted, prune to what is needed, swap.

A fit of K clusters from a poor start ends in a poor minimum. One of twice as many hardly does: some of them are near
every cluster, and what the others explain is explained better once they are gone. So a search adds clusters where the
residual is, a few at a time, then removes those that are missed least, and fits all of them together in between.

Points climb on the correlation with the residual, blurred at first, so that a start far from any cluster feels the pull
of all of them, and sharper then. Searching for K clusters, all share one width: with a width of its own a cluster can
swallow its neighbours, and no search comes back from that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.fitting import Mixture, Problem, Widths
from qckm.decoding.waves import ascend, atoms
from qckm.decoding.weights import non_negative_weights

_STARTS = 40
_STEPS = 25  # of a fit in between
# New clusters of a round: so many at the residual's peaks for each there is, and so many anywhere.
_SHARE_AT_PEAKS, _ANYWHERE = 0.1, 1
# The clusters swapped at first, of all.
_SHARE_SWAPPED = 0.12
# So many swaps in a row that gain nothing are the last.
_IDLE = 5
# What it takes to evaluate a misfit of no terms, in terms.
_OVERHEAD = 500
# An axis begins so long, in deviations of its cluster.
_FIRST_AXIS = 0.3
# Clusters closer than so many typical lengths are one.
_APART = 0.7


@dataclass(eq=False)
class Search:
    """A sketch to explain, where its clusters may be, and the dice."""

    problem: Problem
    n_measurements: int  # the numbers in the sketch
    mean: Floats  # starts are drawn from a Gaussian around the data …
    deviation: Floats  # … (n,) each, in the model's coordinates
    rng: np.random.Generator
    patience: float  # give up after so much work
    n_evaluations: int = 0
    work: float = 0.0  # terms of all sums over clusters and frequencies, a few nanoseconds each

    def __post_init__(self) -> None:
        squares = 2 * self.problem.waves.halves
        squares = squares[squares > 0]
        # Squared lengths: what the lowest frequencies still tell apart, and what typical ones do.
        self.coarse = float(1 / np.quantile(squares, 0.02))
        self.fine = float(1 / np.median(squares))

    def unknowns(self, n_clusters: int) -> int:
        """Return how many numbers K clusters of one width are."""
        return n_clusters * (self.mean.size + 1) + 1

    def alone(self, widths: Widths) -> Mixture:
        """Return one cluster: as wide as the data where it has a width of its own, else one to begin a search with."""
        width = float((self.deviation**2).mean()) if widths == "own" else 0.5 * self.fine
        return self.fit(self.weigh(*self.round(self.mean[np.newaxis], width)), 60, widths)

    def round(self, points: Floats, width: float) -> tuple[Floats, Floats, Floats]:
        """Return the shape of round clusters, all of one width."""
        return points, np.full(len(points), width), np.zeros((len(points), 0, self.mean.size))

    def lengthen(self, mixture: Mixture, n_axes: int) -> Mixture:
        """Give each cluster axes of its own, short ones in any direction; without any, nothing would tell where to."""
        K, n = mixture.points.shape
        lengths = _FIRST_AXIS * np.sqrt(mixture.widths)[:, np.newaxis, np.newaxis]
        return mixture._replace(axes=lengths * self.rng.standard_normal((K, n_axes, n)))

    def grow(self, mixture: Mixture, size: int, widths: Widths = "shared", evenness: float = 0.0) -> Mixture:
        """Add clusters up to `size`, at the peaks of the residual and, lest all begin alike, a few anywhere."""
        while len(mixture.points) < size:
            points, _, tau, axes, _ = mixture
            typical = float(np.median(tau))
            starts = self.draw_starts(_STARTS)
            if widths == "own":
                starts = np.concatenate([starts, self._draw_nearby(mixture, _STARTS)])
            sharpest = typical if widths == "shared" else max(0.3 * typical, 0.05 * self.fine)
            peaks = self.climb(self.residual(mixture), starts, sharpest)
            room = size - len(points)
            count = min(max(1, int(_SHARE_AT_PEAKS * len(points))), room)
            new = _apart(peaks, count, _APART * np.sqrt(self.fine))
            anywhere = min(_ANYWHERE * (2 if widths == "own" else 1), room - len(new))
            new = np.concatenate([new, self.draw_starts(anywhere)])
            width = typical if widths == "shared" else min(typical, self.fine)
            none = np.zeros((len(new), *axes.shape[1:]))
            mixture = self.weigh(
                np.concatenate([points, new]), np.append(tau, np.full(len(new), width)), np.concatenate([axes, none])
            )
            mixture = self.fit(mixture, _STEPS, widths, evenness)
        return mixture

    def prune(
        self, mixture: Mixture, size: int = 1, widths: Widths = "shared", evenness: float = 0.0, worth: float = np.inf
    ) -> Mixture:
        """Remove the clusters that are missed least, a few at a time, down to `size`.

        With `worth`, a cluster stays that explains more than that many times what as many unknowns would by chance.
        """
        unknowns = mixture.unknowns / len(mixture.points)
        while len(mixture.points) > size:
            costs = self.missed(mixture)
            left = max(self.n_measurements - unknowns * len(costs), self.n_measurements / 4)
            chance = unknowns * mixture.misfit / left
            surplus = min(len(costs) - size, int((costs < worth * chance).sum()))
            if not surplus:
                break
            dropped = min(surplus, max(1, min(len(costs) // 6, (len(costs) - size + 1) // 2)))
            kept = np.sort(np.argsort(costs, kind="stable")[dropped:])
            mixture = self.fit(self.weigh(*mixture.some(kept).shape), _STEPS, widths, evenness)
        return mixture

    def swap(self, mixture: Mixture, goal: float) -> Mixture:
        """Add a cluster, at the residual's peak or by splitting one, and drop the least missed; keep what is better.

        Of many clusters, several at a time, fewer when that gains nothing; until nothing did several times in a row.
        """
        size, attempt, idle = len(mixture.points), 0, 0
        count = max(1, int(_SHARE_SWAPPED * size))
        while mixture.misfit > goal and idle < _IDLE and self.work < self.patience:
            larger = self._split(mixture) if count == 1 and attempt % 2 else self.grow(mixture, size + count)
            trial = self.fit(self.prune(self.fit(larger, 40), size), 80)
            attempt += 1
            if trial.misfit < mixture.misfit * (1 - 1e-3):
                mixture, idle = trial, 0
            elif count > 1:
                count //= 2
            else:
                idle += 1
        return mixture

    def fit(self, mixture: Mixture, iterations: int, widths: Widths = "shared", evenness: float = 0.0) -> Mixture:
        """Descend over points, weights and widths together."""
        found, evaluations = self.problem.fit(mixture, iterations, widths, evenness)
        self._count(evaluations, len(mixture.points))
        return found

    def weigh(self, points: Floats, widths: Floats, axes: Floats) -> Mixture:
        """Return the mixture of the best weights ≥ 0."""
        matrix = atoms(self.problem.waves, points, widths, axes).reshape(len(points), -1)
        weights, misfit = non_negative_weights(matrix, self.problem.waves.z.ravel())
        return Mixture(points, weights, widths, axes, misfit)

    def missed(self, mixture: Mixture) -> Floats:
        """Return by how much the misfit would grow without each cluster, the other weights adapting (of any sign)."""
        matrix = atoms(self.problem.waves, *mixture.shape).reshape(len(mixture.points), -1)
        gram = matrix @ matrix.T
        gram[np.diag_indices_from(gram)] *= 1 + 1e-9
        costs: Floats = mixture.weights**2 / np.maximum(np.diag(np.linalg.pinv(gram, hermitian=True)), 1e-300)
        return costs

    def residual(self, mixture: Mixture) -> Floats:
        """Return what the mixture leaves of the sketch, (2, m)."""
        waves = self.problem.waves
        left: Floats = waves.z - np.tensordot(mixture.weights, atoms(waves, *mixture.shape), 1)
        return left

    def draw_starts(self, count: int) -> Floats:
        """Draw points where the data are."""
        drawn = self.mean + self.deviation * self.rng.standard_normal((count, self.mean.size))
        return self._within(drawn)

    def climb(self, residual: Floats, starts: Floats, sharpest: float, levels: int = 3, steps: int = 15) -> Floats:
        """Return the places that correlate best with the residual among those reached from the starts, best first."""
        waves = self.problem.waves
        points = starts
        for width in np.geomspace(self.coarse, min(max(sharpest, 0.05 * self.fine), self.coarse), levels):
            damping = np.exp(-waves.halves * width)
            energy = damping**2
            stride = 0.8 * np.sqrt(self.mean.size * energy.sum() / (2 * waves.halves * energy).sum())
            points, values, _ = ascend(
                waves, points, residual, damping, stride, steps, self.problem.lower, self.problem.upper
            )
            self._count(steps + 1, len(points) / 2)
            points = points[np.argsort(-values, kind="stable")[: max(5, len(points) // 3)]]
        return points

    def _draw_nearby(self, mixture: Mixture, count: int) -> Floats:
        shares = mixture.weights + 1e-9
        near = self.rng.choice(len(shares), size=count, p=shares / shares.sum())
        reach = 1.5 * np.sqrt(mixture.widths[near])[:, np.newaxis]
        return self._within(mixture.points[near] + reach * self.rng.standard_normal((count, self.mean.size)))

    def _split(self, mixture: Mixture) -> Mixture:
        points, weights, widths, axes, _ = mixture
        share = weights * widths + 1e-12
        k = self.rng.choice(len(points), p=share / share.sum())
        side = self.rng.standard_normal(self.mean.size)
        side *= 0.7 * np.sqrt(self.mean.size * max(widths[k], 0.3 * self.fine)) / np.linalg.norm(side)
        both = np.concatenate([points, points[k : k + 1] + side])
        both[k] -= side
        twice = np.concatenate([axes, axes[k : k + 1]])
        return self.weigh(self._within(both), np.append(widths, widths[k]), twice)

    def _within(self, points: Floats) -> Floats:
        return np.clip(points, self.problem.lower, self.problem.upper)

    def _count(self, evaluations: int, size: float) -> None:
        self.n_evaluations += evaluations
        self.work += evaluations * (size * self.problem.waves.phases.size + _OVERHEAD)


def _apart(points: Floats, count: int, distance: float) -> Floats:
    """Return the first of the points, at most `count`, that are not near each other."""
    chosen = [points[0]]
    for point in points[1:]:
        if len(chosen) == count:
            break
        if min(np.linalg.norm(point - other) for other in chosen) > distance:
            chosen.append(point)
    return np.array(chosen)
