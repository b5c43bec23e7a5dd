"""Search for clusters in a sketch: grow beyond what is wanted, prune to what is needed, swap.

A fit of K clusters from a poor start ends in a poor minimum. One of twice as many hardly does: some of them are near
every cluster, and what the others explain is explained better once they are gone. So a search adds clusters where the
residual is, a few at a time, then removes those that are missed least, and fits all of them together in between.

Points climb on the correlation with the residual, blurred at first, so that a start far from any cluster feels the pull
of all of them, and sharper then. Searching for K clusters, all share one width: with a width of its own a cluster can
swallow its neighbours, and no search comes back from that.

Where K Gaussians do not explain a sketch, densities of more clusters propose where rows may be. Real clusters are not
round, not equally wide, and have tails. A density is grown well beyond K clusters, pruned to what explains more than
chance would, and given axes. No two fits end alike; points are drawn from several of them, and which of the points
count is for the sketch to say (cloud.py).
"""

from __future__ import annotations

from contextvars import copy_context
from dataclasses import dataclass, field, replace
from threading import Event

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.model.loops import Climb
from qckm.decoding.model.mixture import Mixture, Problem, Widths, non_negative_weights
from qckm.decoding.model.sketch_model import SketchModel, loops
from qckm.decoding.watching import asked_to_stop
from qckm.kernels.threads import Tasks, share

# Climbs of a round: from so many points, in so many stages from blurred to sharp, of so many steps, a step of so many
# lengths that the frequencies of a stage resolve.
STARTS, STAGES, STEPS, STRIDE = 40, 3, 15, 0.8
# Of the clusters there are, this share is added, removed or swapped at a time; at least one.
SHARE = 0.1
# Iterations of a fit in between, of one that others are to follow, and of one that is to end where it may: it stops
# before that, when it gains nothing.
BRIEF, ONCE, LONG = 25, 200, 500
# So many swaps in a row that gain nothing are the last.
IDLE = 5
# A gain is a misfit that is less by this share, which is above what is left of a brief fit's descent.
GAIN = 1e-3
# What it takes to evaluate a misfit of no terms, in terms.
OVERHEAD = 500
# Densities: so many.
DENSITIES = 8
# Clusters of a density beyond K, before it is pruned; fewer where unknowns would be more than measurements.
MORE_THAN_K = 50
# Axes per cluster at most; fewer where unknowns would be more than half of the measurements.
MOST_AXES = 2
# The price of unequal widths, per measurement: enough to keep a cluster from swallowing the rest, too little to bias.
EVENNESS = 1e-5
# A cluster must explain so many times what its unknowns would by chance, as AIC has it.
WORTH = 2.0


@dataclass(eq=False)
class Search:
    """A sketch to explain by K clusters, where these may be, and the dice."""

    model: SketchModel
    problem: Problem
    n_clusters: int
    rng: np.random.Generator
    patience: float  # give up after so much work
    furthest: float = 1.0  # rows are up to so many times further from the mean than most
    n_evaluations: int = 0
    work: float = 0.0  # terms of all sums over clusters and frequencies, a few nanoseconds each
    cut: Event = field(default_factory=Event)  # whether this search, and those that came of it, are to end

    def __post_init__(self) -> None:
        squares = 2 * self.problem.waves.halves
        # Squared lengths: what typical frequencies resolve, and what the lowest do, of which `widest` is four.
        self.fine = float(1 / np.median(squares[squares > 0]))
        self.coarse = self.problem.widest / 4**2

    @property
    def n_axes(self) -> int:
        """How many axes clusters have: as many as there are measurements to find them by."""
        n = self.model.mean.size
        spare = self.model.n_measurements / 2 / self.n_clusters - (n + 2)
        return int(min(MOST_AXES, n - 1, max(0, spare // n)))

    def alone(self, widths: Widths) -> Mixture:
        """Return one cluster, from where the data are: no two searches begin alike."""
        width = float((self.model.deviation**2).mean()) if widths == "own" else self.fine
        return self.fit(self.weigh(*self.round(self.draw_starts(1), width)), BRIEF, widths)

    def once(self, iterations: int = ONCE) -> Mixture:
        """Search once for K clusters of one width: grow beyond them, prune, and fit what is left."""
        grown = self.grow(self.alone("shared"), 2 * self.n_clusters)
        return self.fit(self.prune(grown, self.n_clusters), iterations)

    def begin(self, points: Floats, width: float | None = None) -> Mixture:
        """Return round clusters that were fitted from points (K, n) on, of some width."""
        return self.fit(self.weigh(*self.round(points, width or self.fine)), LONG)

    def round(self, points: Floats, width: float) -> tuple[Floats, Floats, Floats]:
        """Return the shape of round clusters, all of one width."""
        return points, np.full(len(points), width), np.zeros((len(points), 0, self.model.mean.size))

    def lengthen(self, mixture: Mixture) -> Mixture:
        """Give each cluster axes of its own in any direction, together as long as it is wide: a fit turns them."""
        K, n = mixture.points.shape
        lengths = np.sqrt(mixture.widths / n)[:, np.newaxis, np.newaxis]
        return mixture._replace(axes=lengths * self.rng.standard_normal((K, self.n_axes, n)))

    def grow(self, mixture: Mixture, size: int, widths: Widths = "shared", evenness: float = 0.0) -> Mixture:
        """Add clusters up to `size`, at the peaks of the residual and, lest all searches are alike, one anywhere."""
        while len(mixture.points) < size:
            points, _, tau, axes, _ = mixture
            typical = min(float(np.median(tau)), self.fine)
            starts = self.draw_starts(STARTS)
            if widths == "own":  # what is left to explain is also near what is there: tails, and lumps
                starts = np.concatenate([starts, self._within(mixture.draw(STARTS, self.rng))])
            peaks = self.climb(self.residual(mixture), starts, typical)
            room = size - len(points)
            new = _apart(peaks, min(_some(len(points)), room), np.sqrt(self.fine))
            new = np.concatenate([new, self.draw_starts(min(1, room - len(new)))])
            none = np.zeros((len(new), *axes.shape[1:]))
            mixture = self.weigh(
                np.concatenate([points, new]), np.append(tau, np.full(len(new), typical)), np.concatenate([axes, none])
            )
            mixture = self.fit(mixture, BRIEF, widths, evenness)
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
            left = max(self.model.n_measurements - unknowns * len(costs), 1)
            surplus = min(len(costs) - size, int((costs < worth * unknowns * mixture.misfit / left).sum()))
            if not surplus:
                break
            kept = np.sort(np.argsort(costs, kind="stable")[min(surplus, _some(len(costs))) :])
            mixture = self.fit(self.some(mixture, kept), BRIEF, widths, evenness)
        return mixture

    def swap(self, mixture: Mixture, goal: float) -> Mixture:
        """Add clusters where the residual is, or split one, and drop those missed least; keep what is better.

        Of many clusters several at a time, fewer when that gains nothing; until nothing did several times in a row.
        """
        size, tried, idle = len(mixture.points), 0, 0
        count = _some(size)
        while mixture.misfit > goal and idle < IDLE and self.work < self.patience:
            larger = self._split(mixture) if count == 1 and tried % 2 else self.grow(mixture, size + count)
            trial = self.fit(self.prune(self.fit(larger, BRIEF), size), 4 * BRIEF)
            tried += 1
            if trial.misfit < mixture.misfit * (1 - GAIN):
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
        matrix = loops().atoms(self.problem.waves, points, widths, axes).reshape(len(points), -1)
        weights, misfit = non_negative_weights(matrix, self.problem.waves.z.ravel())
        return Mixture(points, weights, widths, axes, misfit)

    def some(self, mixture: Mixture, which: npt.NDArray[np.intp]) -> Mixture:
        """Return some of the clusters, with the best weights of these."""
        return self.weigh(*(part[which] for part in mixture.shape))

    def missed(self, mixture: Mixture) -> Floats:
        """Return by how much the misfit would grow without each cluster, the other weights adapting (of any sign)."""
        matrix = loops().atoms(self.problem.waves, *mixture.shape).reshape(len(mixture.points), -1)
        gram = matrix @ matrix.T
        gram[np.diag_indices_from(gram)] *= 1 + 1e-9
        costs: Floats = mixture.weights**2 / np.maximum(np.diag(np.linalg.pinv(gram, hermitian=True)), 1e-300)
        return costs

    def residual(self, mixture: Mixture) -> Floats:
        """Return what the mixture leaves of the sketch, (2, m)."""
        waves = self.problem.waves
        left: Floats = waves.z - np.tensordot(mixture.weights, loops().atoms(waves, *mixture.shape), 1)
        return left

    def draw_starts(self, count: int) -> Floats:
        """Draw points where the data are; where some rows are far away, every second one up to there.

        How far is not known: the logarithm of the distance is uniform.
        """
        drawn = self.model.deviation * self.rng.standard_normal((count, self.model.mean.size))
        if self.furthest > 1:
            drawn *= self.furthest ** (self.rng.random((count, 1)) * self.rng.integers(2, size=(count, 1)))
        return self._within(self.model.mean + drawn)

    def climb(self, residual: Floats, starts: Floats, sharpest: float) -> Floats:
        """Return the places that correlate best with the residual among those reached from the starts, best first."""
        waves = self.problem.waves
        points = starts
        for width in np.geomspace(max(self.coarse, sharpest), sharpest, STAGES):
            damping = np.exp(-waves.halves * width)
            energy = damping**2
            stride = STRIDE * np.sqrt(self.model.mean.size * energy.sum() / (2 * waves.halves * energy).sum())
            climb = Climb(residual, damping, stride, STEPS, self.problem.lower, self.problem.upper)
            points, values, _ = loops().ascend(waves, points, climb)
            self._count(STEPS + 1, len(points) / 2)
            points = points[np.argsort(-values, kind="stable")[: max(1, len(points) // 2)]]
        return points

    def _split(self, mixture: Mixture) -> Mixture:
        """Put two clusters in the place of one of those that explain most: on either side, one deviation away."""
        points, weights, widths, axes, _ = mixture
        share = weights * widths + np.finfo(np.float64).tiny
        k = self.rng.choice(len(points), p=share / share.sum())
        side = np.sqrt(widths[k]) * self.rng.standard_normal(self.model.mean.size)
        both = np.concatenate([points, points[k : k + 1] + side])
        both[k] -= side
        twice = np.concatenate([axes, axes[k : k + 1]])
        return self.weigh(self._within(both), np.append(widths, widths[k]), twice)

    def _within(self, points: Floats) -> Floats:
        return np.clip(points, self.problem.lower, self.problem.upper)

    def _count(self, evaluations: int, size: float) -> None:
        self.n_evaluations += evaluations
        self.work += evaluations * (size * self.problem.waves.phases.size + OVERHEAD)
        if self.cut.is_set() or asked_to_stop("searching", self.n_evaluations):
            self.work = np.inf  # out of patience


def fit_densities(search: Search) -> list[Mixture]:
    """Fit some densities, each grown from one wide cluster, at last with axes; fewer where that takes too long.

    Each has dice of its own, so that several are fitted at a time and none depends on how many.
    """
    evenness = EVENNESS * search.problem.waves.phases.size
    most = search.model.n_measurements // (search.model.mean.size + 2)
    size = max(search.n_clusters, min(search.n_clusters + MORE_THAN_K, most))
    searches = [replace(search, rng=rng, work=0.0, n_evaluations=0) for rng in search.rng.spawn(DENSITIES)]
    fitted: dict[int, Mixture] = {}

    def fit(number: int) -> Mixture:
        own = searches[number]
        grown = own.grow(own.alone("own"), size, "own", evenness)
        pruned = own.prune(grown, own.n_clusters, "own", evenness, WORTH)
        return own.fit(own.lengthen(pruned), LONG, "own", evenness)

    def out_of_patience(number: int) -> bool:
        spent = sum(searches[before].work for before in range(number) if before in fitted)
        return number > 0 and search.work + spent >= search.patience

    caller = copy_context()  # who watches is known there

    def work(tasks: Tasks) -> None:
        for number in tasks:
            if out_of_patience(number):
                tasks.stop()
            else:
                fitted[number] = caller.copy().run(fit, number)

    try:
        share(work, DENSITIES)
    except BaseException:
        search.cut.set()  # the other threads end soon, too
        raise
    densities = [fitted[0]]
    for number in range(1, DENSITIES):
        # What another thread had begun when patience was out does not count.
        if number not in fitted or out_of_patience(number):
            break
        densities.append(fitted[number])
    for own in searches[: len(densities)]:
        search.work += own.work
        search.n_evaluations += own.n_evaluations
    return densities


def _some(count: int) -> int:
    return max(1, int(SHARE * count))


def _apart(points: Floats, count: int, distance: float) -> Floats:
    """Return the first of the points, at most `count`, that are not near each other."""
    chosen = [points[0]]
    for point in points[1:]:
        if len(chosen) == count:
            break
        if min(np.linalg.norm(point - other) for other in chosen) > distance:
            chosen.append(point)
    return np.array(chosen)
