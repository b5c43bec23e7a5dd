"""From densities to centroids: those of k-means on points drawn from them.

Centroids of clusters that overlap are not their centres: k-means divides them in the middle. So where they do, and
where a density has more than K clusters, k-means is run, on points instead of rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.density import N_DENSITIES, as_good_as_the_best
from qckm.decoding.fitting import Mixture, Problem

# Points drawn at least, and a cluster; of several densities twice as many.
_ROWS, _A_CLUSTER = 10_000, 500
# Fresh starts of k-means, on so many rows, or so many a cluster; the best few go on with all rows.
_FRESH, _FEW_ROWS, _FEW_A_CLUSTER, _FINALISTS = 20, 2000, 50, 3
# Clusters closer than so many deviations overlap.
_CLOSE = 3.0
# Centroids around which rows spread so much more than around those that were trusted are worse than these: noise, where
# clusters overlap so much that a sketch hardly tells one division from another.
_WORSE = 1.2


class Centroids(NamedTuple):
    """Centroids (K, n) of a density, their shares of it (K,) and the variances around them (K,)."""

    points: Floats
    shares: Floats
    widths: Floats


def centroids_of_clusters(
    mixture: Mixture, n_clusters: int, starts: Sequence[Floats], problem: Problem, rng: np.random.Generator
) -> Centroids:
    """Return the centroids of K clusters: near their centres, or near one of the starts, unless they overlap."""
    rows = _draw_rows([mixture], max(_ROWS, _A_CLUSTER * n_clusters), problem, rng)
    return _cluster_rows(rows, n_clusters, starts, _FRESH if _overlap(mixture) else 0, rng)


def centroids_of_densities(
    densities: list[Mixture], n_clusters: int, starts: Sequence[Floats], problem: Problem, rng: np.random.Generator
) -> tuple[Centroids, float]:
    """Return the centroids of the densities, best first, that are as good as the best, and how well all agree on them.

    That is how much worse than these the centroids of each alone are, in the eyes of those: the median; 1 at best.
    """
    count = max(_ROWS, _A_CLUSTER * n_clusters)
    rows = _draw_rows(as_good_as_the_best(densities), 2 * count, problem, rng)
    centroids = _cluster_rows(rows, n_clusters, starts, _FRESH, rng)
    least = _sse(rows, centroids.points)
    others = [
        _cluster_rows(_draw_rows([density], count, problem, rng), n_clusters, [], 3, rng).points
        for density in densities[:N_DENSITIES]
    ]
    return centroids, float(np.median([_sse(rows, points) for points in others]) / least) if least else 1.0


def are_worse(
    centroids: Centroids, mixture: Mixture, trusted: Centroids, problem: Problem, rng: np.random.Generator
) -> bool:
    """Return whether centroids of a mixture are much worse than trusted ones, in the eyes of rows drawn around these.

    Where clusters stand apart, and the two differ in which they are and not only in where, it is the trusted that miss
    some: the sketch knows all rows.
    """
    no_axes = np.zeros((len(trusted.points), 0, trusted.points.shape[1]))
    clusters = Mixture(trusted.points, trusted.shares, trusted.widths, no_axes, misfit=0.0)
    rows = _draw_rows([clusters], max(_ROWS, _A_CLUSTER * len(trusted.points)), problem, rng)
    if _sse(rows, centroids.points) <= _WORSE * _sse(rows, trusted.points):
        return False
    return _overlap(mixture) or _are_the_same(centroids.points, trusted.points)


def _draw_rows(mixtures: list[Mixture], count: int, problem: Problem, rng: np.random.Generator) -> Floats:
    """Draw points (about `count`, n) from some mixtures, as many of each, in any order."""
    rows = np.concatenate([mixture.draw(-(-count // len(mixtures)), rng) for mixture in mixtures])
    clipped: Floats = np.clip(rng.permutation(rows), problem.lower, problem.upper)
    return clipped


def _cluster_rows(
    rows: Floats, n_clusters: int, starts: Sequence[Floats], n_fresh: int, rng: np.random.Generator
) -> Centroids:
    """Return the k-means centroids of rows: the best of runs from the starts and of `n_fresh` runs afresh.

    Runs afresh look at a part of the rows, for most of them lead nowhere.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        part = rows[: max(_FEW_ROWS, _FEW_A_CLUSTER * n_clusters)]
        fresh = [KMeans(n_clusters, n_init=1, random_state=int(rng.integers(2**31))).fit(part) for _ in range(n_fresh)]
        fresh.sort(key=lambda kmeans: kmeans.inertia_)
        finalists = [*starts, *(kmeans.cluster_centers_ for kmeans in fresh[:_FINALISTS])]
        best = min(
            (KMeans(n_clusters, init=points, n_init=1).fit(rows) for points in finalists),
            key=lambda kmeans: kmeans.inertia_,
        )
    counts = np.bincount(best.labels_, minlength=n_clusters)
    squares = ((rows - best.cluster_centers_[best.labels_]) ** 2).mean(axis=1)
    widths = np.bincount(best.labels_, squares, minlength=n_clusters) / np.maximum(counts, 1)
    return Centroids(best.cluster_centers_, counts / counts.sum(), widths)


def _overlap(mixture: Mixture) -> bool:
    """Return whether any two clusters are so close that k-means would divide them otherwise."""
    from sklearn.metrics import pairwise_distances

    distances = pairwise_distances(mixture.points)
    deviations = np.sqrt(mixture.widths + (mixture.axes**2).sum(axis=(1, 2)))
    near = distances < _CLOSE * np.maximum.outer(deviations, deviations)
    return bool(near.sum() > len(near))  # each is near itself


def _are_the_same(points: Floats, others: Floats) -> bool:
    """Return whether each of the points is nearest to another one of the others."""
    from sklearn.metrics import pairwise_distances_argmin

    return len(np.unique(pairwise_distances_argmin(points, others))) == len(points)


def _sse(rows: Floats, points: Floats) -> float:
    from sklearn.metrics import pairwise_distances_argmin_min

    return float(pairwise_distances_argmin_min(rows, points, metric="sqeuclidean")[1].sum())
