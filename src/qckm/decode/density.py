"""From a sketch to a density, and from that to the centroids of k-means.

The centres of overlapping clusters are not where k-means puts its centroids; k-means of points drawn from the fitted
density does. And where K equal Gaussians do not explain the sketch, a richer density does better.

Real clusters are not round, not equally wide, and have tails. More clusters than K, each with a width of its own,
follow them; what k-means of the *rows* would find is then approximated by k-means of points drawn from that density.
"""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from qckm.decode.fitting import Mixture, Problem
from qckm.decode.search import Search

Floats = npt.NDArray[np.float64]

# The price of unequal widths, a measurement: enough to keep a cluster from swallowing the rest, too little to bias.
_EVENNESS = 1e-5


def grow(search: Search, mixture: Mixture, n_clusters: int) -> Mixture:
    """Add clusters where the sketch is not explained yet, up to `n_clusters`, and give each its own width."""
    waves, rng = search.problem.waves, search.rng
    evenness = _EVENNESS * waves.phases.size
    batch = max(1, (n_clusters - len(mixture.points)) // 5)
    while len(mixture.points) < n_clusters:
        points, weights, widths, _ = mixture
        typical = float(np.median(widths))
        near = rng.choice(len(points), size=80, p=weights / weights.sum())
        reach = 1.5 * np.sqrt(np.maximum(widths[near], 0.3 * search.fine))
        starts = points[near] + reach[:, np.newaxis] * rng.standard_normal((80, points.shape[1]))
        starts = np.clip(starts, search.problem.lower, search.problem.upper)
        found = search.climb(search.residual(mixture), starts, max(0.5 * typical, 0.05 * search.fine), levels=2)
        new = _apart(found, min(batch, n_clusters - len(points)), 0.7 * np.sqrt(search.fine))
        points, widths = np.concatenate([points, new]), np.append(widths, np.full(len(new), typical))
        mixture = search.fit(search.weigh(points, widths)[0], 60, "own", evenness)
    return search.fit(mixture, 600, "own", evenness)


def cluster_density(
    mixtures: list[Mixture], n_clusters: int, start: Floats, problem: Problem, rng: np.random.Generator, n_fresh: int
) -> tuple[Floats, Floats, Floats]:
    """Return the k-means centroids (K, n) of points drawn from the mean of some mixtures, their weights and widths.

    Begins at `start` and, besides, `n_fresh` times afresh.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    points = np.concatenate([mixture.points for mixture in mixtures])
    widths = np.concatenate([mixture.widths for mixture in mixtures])
    shares = np.concatenate([mixture.weights / mixture.weights.sum() for mixture in mixtures])
    which = rng.choice(len(points), size=max(10_000, 500 * n_clusters), p=shares / shares.sum())
    noise = rng.standard_normal((which.size, points.shape[1]))
    rows = np.clip(points[which] + np.sqrt(widths[which])[:, np.newaxis] * noise, problem.lower, problem.upper)
    tries = [KMeans(n_clusters, init=start, n_init=1)]
    if n_fresh:
        tries.append(KMeans(n_clusters, n_init=n_fresh, random_state=int(rng.integers(2**31))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        best = min((kmeans.fit(rows) for kmeans in tries), key=lambda kmeans: kmeans.inertia_)
    counts = np.bincount(best.labels_, minlength=n_clusters)
    squares = ((rows - best.cluster_centers_[best.labels_]) ** 2).mean(axis=1)
    widths = np.bincount(best.labels_, squares, minlength=n_clusters) / np.maximum(counts, 1)
    return best.cluster_centers_, counts / counts.sum(), widths


def _apart(points: Floats, count: int, distance: float) -> Floats:
    """Return the first of the points, at most `count`, that are not near each other."""
    chosen = [points[0]]
    for point in points[1:]:
        if len(chosen) == count:
            break
        if min(np.linalg.norm(point - other) for other in chosen) > distance:
            chosen.append(point)
    return np.array(chosen)
