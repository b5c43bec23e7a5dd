"""Private k-means of others, and DP-Lloyd, for experiments/privacy.py."""

from __future__ import annotations

import numpy as np

import qckm


def dp_lloyd(
    X: np.ndarray, K: int, lower: np.ndarray, upper: np.ndarray, epsilon: float, delta: float, seed: int
) -> np.ndarray:
    """Return the centroids of five rounds of Lloyd's algorithm, with Gaussian noise on sums and counts."""
    rounds, n, rng = 5, X.shape[1], np.random.default_rng(seed)
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    rows = (X - middle) / half
    # A row moves one cluster's sum by up to √n, and its count, weighted as the sums are, by as much.
    sigma = np.sqrt(2 * n) / np.sqrt(2 * qckm.privacy.rho_of(epsilon, delta) / rounds)
    centers = rng.uniform(-1, 1, (K, n))
    for _ in range(rounds):
        which = ((rows[:, np.newaxis] - centers) ** 2).sum(axis=2).argmin(axis=1)
        sums = np.stack([np.bincount(which, rows[:, i], K) for i in range(n)], axis=1)
        counts = np.bincount(which, minlength=K) + rng.normal(size=K) * sigma / np.sqrt(n)
        noisy = (sums + rng.normal(size=(K, n)) * sigma) / np.maximum(counts, 1)[:, np.newaxis]
        centers = np.where((counts > 1)[:, np.newaxis], np.clip(noisy, -1, 1), rng.uniform(-1, 1, (K, n)))
    return centers * half + middle


def peers(
    X: np.ndarray, K: int, lower: np.ndarray, upper: np.ndarray, epsilon: float, delta: float, seed: int
) -> dict[str, np.ndarray]:
    """Return the centroids of diffprivlib, where it is installed, and of DP-Lloyd."""
    found = {"dp-lloyd": dp_lloyd(X, K, lower, upper, epsilon, delta, seed)}
    from sklearn.tree import _tree

    # diffprivlib 0.6.6 asks scikit-learn 1.9 for names that are gone, for its forests; its k-means needs none.
    _tree.DOUBLE, _tree.DTYPE = getattr(_tree, "DOUBLE", np.float64), getattr(_tree, "DTYPE", np.float32)
    try:
        from diffprivlib.models import KMeans as PrivateKMeans
    except ImportError:
        return found
    model = PrivateKMeans(K, epsilon=epsilon, bounds=(lower, upper), random_state=seed)
    return {**found, "diffprivlib": model.fit(X).cluster_centers_}
