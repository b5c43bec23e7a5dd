"""Densities of more clusters than K, where K Gaussians do not explain a sketch: they propose where rows may be.

Real clusters are not round, not equally wide, and have tails. A density is grown well beyond K clusters, pruned to what
explains more than chance would, and given axes. No two fits end alike; points are drawn from several of them, and
which of the points count is for the sketch to say (cloud.py).
"""

from __future__ import annotations

from qckm.decoding.fit.clusters import Mixture
from qckm.decoding.search.search import LONG, Search

DENSITIES = 8
# Clusters of a density beyond K, before it is pruned; fewer where unknowns would be more than measurements.
MORE_THAN_K = 50
# The price of unequal widths, a measurement: enough to keep a cluster from swallowing the rest, too little to bias.
EVENNESS = 1e-5
# A cluster must explain so many times what its unknowns would by chance, as AIC has it.
WORTH = 2.0


def fit_densities(search: Search, n_clusters: int, n_axes: int) -> list[Mixture]:
    """Fit some densities, each grown from one wide cluster, at last with axes; fewer where that takes too long."""
    evenness = EVENNESS * search.problem.waves.phases.size
    most = search.n_measurements // (search.mean.size + 2)
    size = max(n_clusters, min(n_clusters + MORE_THAN_K, most))
    densities: list[Mixture] = []
    while len(densities) < DENSITIES and (not densities or search.work < search.patience):
        grown = search.grow(search.alone("own"), size, "own", evenness)
        pruned = search.prune(grown, n_clusters, "own", evenness, WORTH)
        densities.append(search.fit(search.lengthen(pruned, n_axes), LONG, "own", evenness))
    return densities
