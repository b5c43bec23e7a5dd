"""How much work is worth while, so that nothing takes minutes unasked."""

from __future__ import annotations

# All starts of k-means together take no more than so many products, at about thirty rounds per run: ten seconds or so.
_PRODUCTS, _ROUNDS = 1e10, 30


def kmeans_runs(most: int, n_rows: int, n_features: int, n_clusters: int) -> int:
    """Return how often to start k-means afresh: so often at most, fewer times where that takes long, but once."""
    return int(min(most, max(1, _PRODUCTS // (_ROUNDS * n_rows * n_features * n_clusters))))
