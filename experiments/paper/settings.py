"""The paper's synthetic data (section 5), and what counts as success."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from qckm.clustering.centroids import nearest

N_ROWS = 10_000
SUCCESS = 1.2  # times the SSE of the best of five k-means

FEATURES = (2, 3, 4, 6, 8, 12, 16, 24, 32)  # figure 2a, K = 2
CLUSTERS = (2, 3, 4, 5, 6, 8, 10, 12)  # figure 2b, n = 5


def two_clusters(n: int, seed: int) -> np.ndarray:
    """Figure 2a: two Gaussians at ±(1 … 1), covariance (n/20)·I."""
    rng = np.random.default_rng([seed, n, 2])
    return _around(np.array([np.ones(n), -np.ones(n)]), rng)


def corners(n_clusters: int, seed: int, n: int = 5) -> np.ndarray:
    """Figure 2b: K Gaussians at corners of {±1}ⁿ, covariance (n/20)·I.

    The paper draws the means at random; here no corner is drawn twice, for two clusters at one place are one.
    """
    rng = np.random.default_rng([seed, n, n_clusters])
    chosen = rng.choice(2**n, n_clusters, replace=False)
    return _around(2.0 * ((chosen[:, np.newaxis] >> np.arange(n)) & 1) - 1, rng)


def _around(centers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    n_clusters, n = centers.shape
    return centers[rng.integers(n_clusters, size=N_ROWS)] + np.sqrt(n / 20) * rng.normal(size=(N_ROWS, n))


def best_of_five(X: np.ndarray, n_clusters: int, seed: int) -> float:
    """Return the paper's reference: the least SSE of five k-means."""
    return float(KMeans(n_clusters, n_init=5, random_state=seed).fit(X).inertia_)


def sse(X: np.ndarray, centers: np.ndarray) -> float:
    """Sum of squared distances to the nearest centroid."""
    return float(nearest(X, centers, n_jobs=1)[1].sum())
