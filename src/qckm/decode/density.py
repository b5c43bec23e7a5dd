"""From a sketch to a density, and from that to the centroids of k-means.

Real clusters are not round, not equally wide, and have tails. Where K equal Gaussians do not explain the sketch, a
density of more clusters does better: grown well beyond K, pruned to the clusters that explain more than chance would,
then each with a width and axes of its own. What k-means of the *rows* would find is what k-means of points drawn from
that density finds. It also puts the centroids of overlapping clusters, whose centres are elsewhere, where k-means does.

No two fits end alike. What they agree on is what the sketch says, and what they do not averages out: centroids are
taken from several of them together.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.decode.fitting import Mixture, Problem
from qckm.decode.search import Search

Floats = npt.NDArray[np.float64]

# The price of unequal widths, a measurement: enough to keep a cluster from swallowing the rest, too little to bias.
_EVENNESS = 1e-5
# A cluster must explain so many times what its unknowns would by chance, as AIC has it.
_WORTH = 2.0
# Densities within this factor of the best misfit are equally good.
_AS_GOOD = 1.3
# Axes a cluster, and at most so many unknowns a measurement for K clusters with that many.
_MOST_AXES, _MOST_UNKNOWNS = 2, 0.6
# Of K-means' fresh starts, on so many rows, or so many a cluster, the best few go on with all rows.
_FEW_ROWS, _FEW_A_CLUSTER, _FINALISTS = 2000, 50, 3


class Centroids(NamedTuple):
    """Centroids (K, n) of a density, their shares of it (K,) and the variances around them (K,)."""

    points: Floats
    shares: Floats
    widths: Floats


def fit_densities(search: Search, start: Mixture | None, n_clusters: int, count: int) -> list[Mixture]:
    """Fit some densities, the best first, each grown from the start, or from one wide cluster.

    Fewer than `count` where that takes too long.
    """
    evenness = _EVENNESS * search.problem.waves.phases.size
    most = search.n_measurements // (search.mean.size + 2)  # no more unknowns than measurements
    size = max(n_clusters, min(6 * n_clusters, 2 * n_clusters + 40, most))
    n_axes = choose_n_axes(search, n_clusters)
    densities = []
    for _ in range(count):
        grown = search.grow(search.alone("own") if start is None else start, size, "own", evenness)
        pruned = search.prune(grown, n_clusters, "own", evenness, _WORTH)
        densities.append(search.fit(search.lengthen(pruned, n_axes), 500, "own", evenness))
        if search.work > search.patience:
            break
    return sorted(densities, key=lambda density: density.misfit)


def choose_n_axes(search: Search, n_clusters: int) -> int:
    """Choose how many axes clusters have: as many as there are measurements to find them by."""
    n = search.mean.size
    room = _MOST_UNKNOWNS * search.n_measurements / n_clusters - (n + 2)
    return int(min(_MOST_AXES, n - 1, max(0, room // n)))


def as_good_as_the_best(densities: list[Mixture]) -> list[Mixture]:
    """Return those of some densities, the best first, that match the sketch about as well as the first."""
    return [density for density in densities if density.misfit <= _AS_GOOD * densities[0].misfit]


def draw_rows(mixtures: list[Mixture], count: int, problem: Problem, rng: np.random.Generator) -> Floats:
    """Draw points (about `count`, n) from some mixtures, as many of each, in any order."""
    rows = np.concatenate([mixture.draw(-(-count // len(mixtures)), rng) for mixture in mixtures])
    clipped: Floats = np.clip(rng.permutation(rows), problem.lower, problem.upper)
    return clipped


def cluster_rows(
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
