"""Densities of more clusters than K, where K Gaussians do not explain a sketch: they propose where rows may be.

Real clusters are not round, not equally wide, and have tails. A density is grown well beyond K clusters, pruned to what
explains more than chance would, and given axes. No two fits end alike; points are drawn from several of them, and
which of the points count is for the sketch to say (cloud.py).
"""

from __future__ import annotations

from contextvars import copy_context
from dataclasses import replace

from qckm.decoding.fit.clusters import Mixture
from qckm.decoding.search.search import LONG, Search
from qckm.kernels.threads import Tasks, count_threads, share

DENSITIES = 8
# Clusters of a density beyond K, before it is pruned; fewer where unknowns would be more than measurements.
MORE_THAN_K = 50
# The price of unequal widths, a measurement: enough to keep a cluster from swallowing the rest, too little to bias.
EVENNESS = 1e-5
# A cluster must explain so many times what its unknowns would by chance, as AIC has it.
WORTH = 2.0


def fit_densities(search: Search, n_clusters: int, n_axes: int) -> list[Mixture]:
    """Fit some densities, each grown from one wide cluster, at last with axes; fewer where that takes too long.

    Each has dice of its own, so that several are fitted at a time and none depends on how many.
    """
    evenness = EVENNESS * search.problem.waves.phases.size
    most = search.n_measurements // (search.mean.size + 2)
    size = max(n_clusters, min(n_clusters + MORE_THAN_K, most))
    searches = [replace(search, rng=rng, work=0.0, n_evaluations=0) for rng in search.rng.spawn(DENSITIES)]
    fitted: dict[int, Mixture] = {}

    def fit(number: int) -> Mixture:
        own = searches[number]
        grown = own.grow(own.alone("own"), size, "own", evenness)
        pruned = own.prune(grown, n_clusters, "own", evenness, WORTH)
        return own.fit(own.lengthen(pruned, n_axes), LONG, "own", evenness)

    def out_of_patience(number: int) -> bool:
        spent = sum(searches[before].work for before in range(number) if before in fitted)
        return number > 0 and search.work + spent >= search.patience

    caller = copy_context()  # who watches is known there

    def work(tasks: Tasks) -> None:
        for number in tasks:
            if out_of_patience(number):
                tasks.stop()
            else:
                fitted[number] = caller.copy().run(fit, number)

    try:
        share(work, DENSITIES, count_threads(None))
    except BaseException:
        search.cut.set()  # the other threads end soon, too
        raise
    densities = [fitted[0]]
    for number in range(1, DENSITIES):
        # What another thread had begun when patience was out does not count.
        if number not in fitted or out_of_patience(number):
            break
        densities.append(fitted[number])
    for own in searches[: len(densities)]:
        search.work += own.work
        search.n_evaluations += own.n_evaluations
    return densities
