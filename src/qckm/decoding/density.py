"""From a sketch to densities of as many clusters as it takes.

Real clusters are not round, not equally wide, and have tails. Where K equal Gaussians do not explain the sketch, a
density of more clusters does better: grown well beyond K, pruned to the clusters that explain more than chance would,
then each with a width and axes of its own. What k-means of the *rows* would find is what k-means of points drawn from
that density finds (centroids.py).

No two fits end alike. What they agree on is what the sketch says, and what they do not averages out: centroids are
taken from several of them together.
"""

from __future__ import annotations

from qckm.decoding.fitting import Mixture
from qckm.decoding.search import Search

# As many are fitted, and as many asked whether they agree.
N_DENSITIES = 8
# The price of unequal widths, a measurement: enough to keep a cluster from swallowing the rest, too little to bias.
_EVENNESS = 1e-5
# A cluster must explain so many times what its unknowns would by chance, as AIC has it.
_WORTH = 2.0
# Densities within this factor of the best misfit are equally good.
_AS_GOOD = 1.3
# Axes a cluster, and at most so many unknowns a measurement for K clusters with that many.
_MOST_AXES, _MOST_UNKNOWNS = 2, 0.6


def fit_densities(search: Search, start: Mixture | None, n_clusters: int, n_axes: int) -> list[Mixture]:
    """Fit some densities, the best first, each grown from the start, or from one wide cluster, at last with axes.

    Fewer than usual where that takes too long.
    """
    evenness = _EVENNESS * search.problem.waves.phases.size
    most = search.n_measurements // (search.mean.size + 2)  # no more unknowns than measurements
    size = max(n_clusters, min(6 * n_clusters, 2 * n_clusters + 40, most))
    densities = []
    for _ in range(N_DENSITIES):
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
