"""A cloud: points with weights that reproduce a sketch. K-means of it finds what k-means of all rows would find.

The points are rows, where there are any, or drawn from Gaussians that were fitted to the sketch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.clustering.centroids import count_runs, kmeans, nearest
from qckm.common.arrays import Floats
from qckm.decoding.clouds.calibration import Solution, solve, solve_for_others
from qckm.decoding.clouds.known_totals import totals_of
from qckm.decoding.task import count_rows
from qckm.decoding.watching import asked_to_stop, tell
from qckm.planning.pilot import Pilot
from qckm.sketch import Sketch

# Points of a drawn cloud at least, and per cluster: k-means of P points errs by a share of about K / P.
_POINTS, _PER_CLUSTER = 10_000, 200
# Starts of k-means on rows: half or twice as many change the excess by a hundredth of a per cent (constants.csv).
_RUNS_ON_ROWS = 30
# Runs on points that were drawn, which begin at Gaussians: a few will do.
_RUNS_ON_POINTS = 3
# Contributions of a cloud at most, 64 MB as bits. Of more measurements, which were all drawn alike, some will do.
_MOST_CONTRIBUTIONS = 1 << 28
# Raking: so many rounds at most, each point moving by this share of the length that the frequencies resolve.
_ROUNDS, _STEP = 8, 0.15
# Weights by which points are only drawn anew may be rough.
_ROUGH = 0.1


class Centroids(NamedTuple):
    """Centroids (K, n) of a cloud, their shares of it (K,), and the mean squared distance to each, a feature (K,)."""

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
        which = _looked_at(sketch, len(points))
        shares = np.full(len(points), 1 / len(points)) if prior is None else prior / prior.sum()
        known = totals_of(sketch, points, shares, which)
        found = solve(known.contributions, known.values, shares, tolerance, sketch.noise_variance, known.n_measured)
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
        known = totals_of(sketch, rows, shares, _looked_at(sketch, len(rows)))
        found = solve_for_others(
            known.contributions, known.values, themselves, shares, sketch.noise_variance, known.n_measured
        )
        return cls(sketch, rows, shares, found, _surprise(found, shares))

    @classmethod
    def of_rows(cls, sketch: Sketch, sample: Pilot | None) -> Cloud | None:
        """Give rows weights that reproduce a sketch; return None where there are none, or they cannot."""
        cloud = None if sample is None or not len(sample.rows) else cls.of_sample(sketch, sample)
        return cloud if cloud is not None and cloud.matches else None

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
            done = cloud.solution.residual <= cloud.solution.noise(count_rows(sketch))
            if done or asked_to_stop("weighing points", 0):
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
    def matches(self) -> bool:
        """Whether the points reproduce the sketch at least as well as rows drawn at random."""
        return self.solution.matches(count_rows(self.sketch))

    @property
    def weights(self) -> Floats:
        """Shares of all rows, (P,), of sum 1."""
        return self.solution.weights

    @property
    def open(self) -> Floats:
        """Which share of each point (P,) is open to chance: a row that stands for W was drawn with a chance of 1/W."""
        found: Floats = 1 - 1 / np.maximum(self.prior * count_rows(self.sketch), 1)
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


def choose_size(n_clusters: int) -> int:
    """Choose how many points to draw for K clusters, where there are no rows."""
    return max(_POINTS, _PER_CLUSTER * n_clusters)


def choose_runs(n_points: int, n_features: int, n_clusters: int, of_rows: bool) -> int:
    """Choose how often to start k-means afresh, on rows or on points that were drawn."""
    return count_runs(_RUNS_ON_ROWS if of_rows else _RUNS_ON_POINTS, n_points, n_features, n_clusters)


def _looked_at(sketch: Sketch, n_points: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return which frequencies to calibrate by: all, or as many at even distances, octaves alike, as memory allows."""
    m, a_frequency = sketch.operator.n_frequencies, n_points * (2 if sketch.operator.paired else 1)
    most = max(1, _MOST_CONTRIBUTIONS // a_frequency)
    return np.arange(m) if m <= most else np.linspace(0, m - 1, most).astype(np.intp)
