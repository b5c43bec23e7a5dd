"""From a sketch to a density, and from that to the centroids of k-means.

Real clusters are not round, not equally wide, and have tails. Where K equal Gaussians do not explain the sketch, a
density of more clusters, each with a width of its own, does better: grown well beyond K, then pruned to the clusters
that explain more than chance would. What k-means of the *rows* would find is what k-means of points drawn from that
density finds. It also puts the centroids of overlapping clusters, whose centres are elsewhere, where k-means does.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.decode.fitting import Mixture, Problem
from qckm.decode.search import Search

Floats = npt.NDArray[np.float64]

# The price of unequal widths, a measurement: enough to keep a cluster from swallowing the rest, too little to bias.
_EVENNESS = 1e-5
# A cluster must explain so many times what its unknowns would by chance: between AIC (2) and BIC (6 or 7 here).
_WORTH = 3.0
# Densities within this factor of the best misfit are equally good.
_AS_GOOD = 1.15


class Centroids(NamedTuple):
    """Centroids (K, n) of a density, their shares of it (K,) and the variances around them (K,)."""

    points: Floats
    shares: Floats
    widths: Floats


def fit_densities(search: Search, start: Mixture | None, n_clusters: int, count: int) -> list[Mixture]:
    """Fit some densities, the best first, each grown from the start, or from one wide cluster."""
    evenness = _EVENNESS * search.problem.waves.phases.size
    most = search.n_measurements // (search.mean.size + 2)  # no more unknowns than measurements
    size = max(n_clusters, min(6 * n_clusters, 2 * n_clusters + 40, most))
    densities = []
    for _ in range(count):
        grown = search.grow(search.alone("own") if start is None else start, size, "own", evenness)
        pruned = search.prune(grown, n_clusters, "own", evenness, _WORTH)
        densities.append(search.fit(pruned, 400, "own", evenness))
    return sorted(densities, key=lambda density: density.misfit)


def as_good_as_the_best(densities: list[Mixture]) -> list[Mixture]:
    """Return those of some densities, the best first, that match the sketch about as well as the first."""
    return [density for density in densities if density.misfit <= _AS_GOOD * densities[0].misfit]


def draw_rows(mixtures: list[Mixture], count: int, problem: Problem, rng: np.random.Generator) -> Floats:
    """Draw points (count, n) from the mean of some mixtures."""
    points = np.concatenate([mixture.points for mixture in mixtures])
    widths = np.concatenate([mixture.widths for mixture in mixtures])
    shares = np.concatenate([mixture.weights / mixture.weights.sum() for mixture in mixtures])
    which = rng.choice(len(points), size=count, p=shares / shares.sum())
    noise = rng.standard_normal((count, points.shape[1]))
    rows: Floats = points[which] + np.sqrt(widths[which])[:, np.newaxis] * noise
    return np.clip(rows, problem.lower, problem.upper)


def cluster_rows(
    rows: Floats, n_clusters: int, start: Floats | None, n_fresh: int, rng: np.random.Generator
) -> Centroids:
    """Return the k-means centroids of rows: the best of one run from `start` and of `n_fresh` runs afresh."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    tries = [] if start is None else [KMeans(n_clusters, init=start, n_init=1)]
    if n_fresh:
        tries.append(KMeans(n_clusters, n_init=n_fresh, random_state=int(rng.integers(2**31))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        best = min((kmeans.fit(rows) for kmeans in tries), key=lambda kmeans: kmeans.inertia_)
    counts = np.bincount(best.labels_, minlength=n_clusters)
    squares = ((rows - best.cluster_centers_[best.labels_]) ** 2).mean(axis=1)
    widths = np.bincount(best.labels_, squares, minlength=n_clusters) / np.maximum(counts, 1)
    return Centroids(best.cluster_centers_, counts / counts.sum(), widths)
