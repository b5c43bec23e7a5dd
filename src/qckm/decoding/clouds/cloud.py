"""A cloud: points with weights that reproduce a sketch. K-means of it finds what k-means of all rows would find.

The points are rows, where there are any, or drawn from Gaussians that were fitted to the sketch.

Many densities have one sketch. Where they agree, the sketch tells; where they do not, it leaves something open. So they
begin as differently as what is known allows:

- at the K Gaussians that were fitted to the sketch: as they are, half of the points twice as wide, and all of them four
  times as wide (in variance);
- at mixtures of everything: densities of more clusters that were fitted to the sketch, each time other ones, the
  Gaussians, wide ones, points all over the box, and rows where there are any.

How far a cloud had to go is known: the divergence of its first weights from equal ones, in nats (`Cloud.surprise`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.clustering.centroids import kmeans, nearest
from qckm.common.arrays import Floats
from qckm.decoding.clouds.calibration import Solution, solve, solve_for_others
from qckm.decoding.clouds.totals import Totals, totals_of
from qckm.decoding.task import Task, count_rows
from qckm.decoding.watching import asked_to_stop, tell
from qckm.planning.pilot import Pilot
from qckm.sketch import Sketch

if TYPE_CHECKING:
    from qckm.decoding.model.mixture import Mixture
    from qckm.decoding.model.sketch_model import SketchModel
    from qckm.decoding.search.scales import Fitted

# Points of a drawn cloud at least, and per cluster: k-means of P points errs by a share of about K / P.
_POINTS, _PER_CLUSTER = 10_000, 200
# Contributions of a cloud at most, 64 MB as bits. Of more measurements, which were all drawn alike, some will do.
_MOST_CONTRIBUTIONS = 1 << 28
# Raking: so many rounds at most, each point moving by this share of the length that the frequencies resolve.
_ROUNDS, _STEP = 8, 0.15
# Weights by which points are only drawn anew may be rough.
_ROUGH = 0.1
# Variances of clusters that are wider than those fitted, lest what is further away has no point to stand for it.
WIDER, WIDEST = 2.0, 4.0
# Clouds that begin at mixtures of everything: enough for a mean and a scatter.
MIXED = 4


class Centroids(NamedTuple):
    """Centroids (K, n) of a cloud, their shares of it (K,), and the mean squared distance to each, per feature (K,)."""

    points: Floats
    shares: Floats
    widths: Floats


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points (P, n) in data units, and their weights, as far as the sketch tells."""

    sketch: Sketch
    points: Floats
    prior: Floats  # the weights before, of sum 1
    solution: Solution
    surprise: float  # how far the sketch is from the density that the points were drawn from, in nats

    @classmethod
    def calibrated(
        cls, sketch: Sketch, points: Floats, prior: Floats | None = None, tolerance: float | None = None
    ) -> Cloud:
        """Give points weights that reproduce a sketch, near those of a prior."""
        shares = np.full(len(points), 1 / len(points)) if prior is None else prior / prior.sum()
        found = solve(_totals_of(sketch, points, shares), shares, tolerance)
        return cls(sketch, points, shares, found, _surprise(found, shares))

    @classmethod
    def of_sample(cls, sketch: Sketch, sample: Pilot) -> Cloud:
        """Give rows weights that reproduce a sketch. Rows that were sketched count once each: others are weighed.

        One row far away, drawn for sure, stands for no other, whatever the sketch leaves open.
        """
        rows, count = sample.rows, count_rows(sketch)
        others = np.maximum(sample.weights - 1, 0)
        if not (sample.of_all and sketch.exact and others.any() and len(rows) < count):
            return cls.calibrated(sketch, rows, sample.weights)
        themselves = np.full(len(rows), 1 / count)
        shares = themselves + (1 - len(rows) / count) / others.sum() * others
        found = solve_for_others(_totals_of(sketch, rows, shares), themselves, shares)
        return cls(sketch, rows, shares, found, _surprise(found, shares))

    @classmethod
    def of_rows(cls, sketch: Sketch, sample: Pilot | None) -> Cloud | None:
        """Give rows weights that reproduce a sketch; return None where there are none, or they cannot."""
        cloud = None if sample is None or not len(sample.rows) else cls.of_sample(sketch, sample)
        return cloud if cloud is not None and cloud.solution.matches else None

    @classmethod
    def raked(
        cls, sketch: Sketch, points: Floats, lower: Floats, upper: Floats, length: Floats, rng: np.random.Generator
    ) -> Cloud:
        """Calibrate points, draw them anew in proportion to their weights, and again, until they reproduce the sketch.

        Points then are where the sketch says, also where few of them began. The surprise is that of the first weights.
        """
        begun = None
        for _ in range(_ROUNDS - 1):
            cloud = cls.calibrated(sketch, points, tolerance=_ROUGH)
            begun = cloud.surprise if begun is None else begun
            if cloud.solution.residual <= cloud.solution.noise or asked_to_stop("weighing points", 0):
                break
            drawn = points[rng.choice(len(points), size=len(points), p=cloud.weights)]
            points = np.clip(drawn + _STEP * length * rng.standard_normal(points.shape), lower, upper)
        cloud = cls.calibrated(sketch, points)
        return replace(cloud, surprise=cloud.surprise if begun is None else begun)

    @classmethod
    def together(cls, clouds: Sequence[Cloud], shares: Sequence[float]) -> Cloud:
        """Return the points of several clouds as one, each cloud with a share of the weight."""
        weights = np.concatenate([share * cloud.weights for share, cloud in zip(shares, clouds, strict=True)])
        weights /= weights.sum()
        solution = replace(clouds[0].solution, weights=weights)
        return cls(clouds[0].sketch, np.concatenate([cloud.points for cloud in clouds]), weights, solution, 0.0)

    def weighing(self, factors: npt.NDArray[np.int_]) -> Cloud:
        """Return the points with weights that are these times as large, without those of none."""
        shares = (factors * self.weights)[factors > 0]
        shares /= max(shares.sum(), np.finfo(np.float64).tiny)
        return replace(
            self, points=self.points[factors > 0], prior=shares, solution=replace(self.solution, weights=shares)
        )

    def before(self) -> Cloud:
        """Return the points with the weights that they had before they were weighed."""
        return replace(self, solution=replace(self.solution, weights=self.prior))

    @property
    def weights(self) -> Floats:
        """Shares of all rows, (P,), of sum 1."""
        return self.solution.weights

    @property
    def open(self) -> Floats:
        """Which share of each point (P,) is open to chance: a row that stands for W was drawn with a chance of 1/W."""
        found: Floats = 1 - 1 / np.maximum(self.prior * self.solution.n_rows, 1)
        return found

    @property
    def chance(self) -> Floats:
        """What each point adds to the variance of a mean, (P,)."""
        return self.weights**2 * self.open

    def nearest(self, centers: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
        """Return which of some centres (K, n) is the nearest of each point, and the squared distance in units, (P,)."""
        units = self.sketch.operator.units
        labels, squares = nearest(self.points / units, centers / units, n_jobs=1)
        return labels.astype(np.intp), squares

    def inertia(self, centers: Floats) -> float:
        """Return the mean squared distance to the nearest of some centres."""
        return float(self.weights @ self.nearest(centers)[1])

    def cluster(self, n_clusters: int, starts: Sequence[Floats], n_fresh: int, rng: np.random.Generator) -> Centroids:
        """Return the k-means centroids: the best of runs from the starts, each (K, n), and of `n_fresh` runs afresh.

        Of fewer points than K, each is a centroid, some more than once.
        """
        if len(self.points) < n_clusters:
            which = np.arange(n_clusters) % len(self.points)
            return Centroids(self.points[which], self.weights[which] / np.bincount(which)[which], np.zeros(n_clusters))
        # Centred and of unit size: k-means' own arithmetic then loses nothing to a large offset.
        units = self.sketch.operator.units
        mean = self.weights @ self.points
        size = float(np.sqrt(self.weights @ (((self.points - mean) / units) ** 2).mean(axis=1))) or 1.0
        rows, counts = (self.points - mean) / (units * size), self.weights * len(self.points)
        begun = [(start - mean) / (units * size) for start in starts]
        tell("clustering")
        best = kmeans(rows, counts, n_clusters, n_fresh, rng, begun)
        centers, labels = best.centers, best.labels.astype(np.int64)
        shares: Floats = np.bincount(labels, self.weights, minlength=n_clusters).astype(np.float64)
        squares = self.weights * ((rows - centers[labels]) ** 2).mean(axis=1) * size**2
        widths = np.bincount(labels, squares, minlength=n_clusters) / np.maximum(shares, 1e-300)
        return Centroids(centers * (units * size) + mean, shares, widths)


def _surprise(found: Solution, prior: Floats) -> float:
    """Return what is minimised by calibration: Σ w log(w/p), and what is left of the sketch at its price."""
    moved = found.weights > 0
    divergence = found.weights[moved] @ np.log(found.weights[moved] / prior[moved])
    return float(divergence + found.residual / (2 * found.ridge))


def _totals_of(sketch: Sketch, points: Floats, shares: Floats) -> Totals:
    """Return the totals at all frequencies, or at as many at even distances, octaves alike, as memory allows."""
    m, a_frequency = sketch.operator.n_frequencies, len(points) * (2 if sketch.operator.paired else 1)
    most = max(1, _MOST_CONTRIBUTIONS // a_frequency)
    which = np.arange(m) if m <= most else np.linspace(0, m - 1, most).astype(np.intp)
    return totals_of(sketch, points, shares, which)


def clouds_of(task: Task, fitted: Fitted, rng: np.random.Generator) -> list[Cloud]:
    """Return clouds that have the sketch; the first began at the K Gaussians as they are, and has not moved."""
    size, gaussians = max(_POINTS, _PER_CLUSTER * task.n_clusters), fitted.attempt.own_widths
    wider, widest = (gaussians._replace(widths=factor * gaussians.widths) for factor in (WIDER, WIDEST))

    def draw(mixture: Mixture, share: float) -> Floats:
        drawn = fitted.model.to_centers(mixture.draw(int(share * size), rng))
        return np.clip(drawn, task.lower, task.upper)

    def raked(*parts: Floats) -> Cloud:
        return Cloud.raked(task.sketch, np.concatenate(parts), task.lower, task.upper, fitted.model.length, rng)

    clouds = [Cloud.calibrated(task.sketch, draw(gaussians, 1.0))]
    clouds.append(raked(draw(gaussians, 0.5), draw(wider, 0.5)))
    clouds.append(raked(draw(widest, 1.0)))
    # Rows are half of what a mixture begins at, where there are any: they need not be of all rows, but are real.
    share = 1.0 if task.rows is None else 0.5
    for richer in _dealt(fitted.densities or [gaussians], MIXED):
        parts = [draw(density, share / 2 / len(richer)) for density in richer]
        parts += [
            draw(gaussians, share / 8),
            draw(widest, share / 4),
            _anywhere(task, fitted.model, share * size / 8, rng),
        ]
        if task.rows is not None:
            chances = task.rows.weights / task.rows.weights.sum()
            parts.append(task.rows.rows[rng.choice(len(chances), size // 2, p=chances)])
        clouds.append(raked(*parts))
    return clouds


def _dealt(densities: Sequence[Mixture], count: int) -> list[list[Mixture]]:
    """Deal densities out to so many hands; of fewer densities than hands, each is dealt again."""
    times = -(-count // len(densities))
    return [(list(densities) * times)[hand::count] for hand in range(count)]


def _anywhere(task: Task, model: SketchModel, count: float, rng: np.random.Generator) -> Floats:
    """Draw points around the middle of the data, at distances from their deviation to the ends of the box."""
    lower, upper = model.to_points(task.lower), model.to_points(task.upper)
    furthest = model.furthest(lower, upper)
    drawn = rng.standard_normal((int(count), model.mean.size)) * furthest ** rng.random((int(count), 1))
    return np.clip(model.to_centers(model.mean + model.deviation * drawn), task.lower, task.upper)
