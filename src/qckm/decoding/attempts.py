"""Attempts to explain a sketch by K clusters: searches from scratch, or from a start, until one does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.expectation import expected_misfit
from qckm.decoding.fitting import Mixture
from qckm.decoding.search import Search
from qckm.decoding.sketch_model import SketchModel

# A misfit up to this many times what it should be: all clusters but one or two are where they should be.
_PROMISING = 10.0
# So many times more searches are then worth their time.
_MORE = 2
# Searches where there are no more measurements than unknowns.
_HOPELESS = 3
# With few measurements, search at least for so much work, about a second: there any search may be the one.
_CHEAP = 1e8


# Axes a cluster, and at most so many unknowns a measurement for K clusters with that many.
_MOST_AXES, _MOST_UNKNOWNS = 2, 0.6


class Attempt(NamedTuple):
    """K equal clusters, and the same with widths and perhaps axes of their own."""

    equal: Mixture
    own: Mixture
    goal: float  # what the former should leave of the sketch
    explained: bool  # whether either leaves no more than it should


def search_from_scratch(
    search: Search, model: SketchModel, n_clusters: int, n_axes: int, few: bool, n_init: int
) -> Attempt:
    """Return the best of some searches; one that explains the sketch is the last.

    A misfit that is promising makes it worth to try more often: with one more cluster in its place it would be there.
    """
    tries = _n_searches(search.unknowns(n_clusters), model.n_measurements) * n_init
    least_work = _CHEAP * n_init if few else 0.0
    best: Attempt | None = None
    goal, done = 0.0, 0
    while True:
        done += 1
        grown = search.grow(search.alone("shared"), 2 * n_clusters)
        found = search.fit(search.prune(grown, n_clusters), 200)
        if not goal:
            goal = expected_misfit(model, found, True, search.rng).goal
        found = search.swap(found, goal)
        if best is None or found.misfit < best.equal.misfit:
            best = finish(search, model, found, n_axes, goal)
        wanted = tries if best.equal.misfit > _PROMISING * goal else _MORE * tries
        worthless = done >= wanted and search.work > least_work
        if best.explained or worthless or search.work > search.patience:
            return best


def begin_at(search: Search, model: SketchModel, start: Floats, n_axes: int) -> Attempt:
    """Fit clusters from points (K, n) on, and search further from there."""
    seeded = search.fit(search.weigh(*search.round(start, 0.5 * search.fine)), 200)
    goal = expected_misfit(model, seeded, True, search.rng).goal
    return finish(search, model, search.swap(seeded, goal), n_axes, goal)


def choose_n_axes(search: Search, n_clusters: int) -> int:
    """Choose how many axes clusters have: as many as there are measurements to find them by."""
    n = search.mean.size
    room = _MOST_UNKNOWNS * search.n_measurements / n_clusters - (n + 2)
    return int(min(_MOST_AXES, n - 1, max(0, room // n)))


def _n_searches(unknowns: int, n_measurements: int) -> int:
    """Return how often to search: with hardly more measurements than unknowns, hardly any search finds the minimum."""
    if n_measurements <= unknowns:
        return _HOPELESS
    return int(np.ceil(3 + 30 * (unknowns / n_measurements) ** 2))


def finish(search: Search, model: SketchModel, found: Mixture, n_axes: int, goal: float) -> Attempt:
    """Fit to the end, give clusters widths of their own, and axes if that is not enough to explain the sketch.

    More unknowns should leave less than `goal`, which is for a shared width; how much less is only worked out when it
    matters.
    """
    equal = search.fit(found, 500)
    evenness = 1e-4 * model.noise
    own = search.fit(equal, 200, "own", evenness)

    def explains(mixture: Mixture) -> bool:
        return mixture.misfit <= goal and mixture.misfit <= expected_misfit(model, mixture, False, search.rng).goal

    if equal.misfit <= goal or explains(own):
        return Attempt(equal, own, goal, True)
    if n_axes:
        long = search.fit(search.lengthen(own, n_axes), 500, "own", evenness)
        own = min(own, long, key=lambda mixture: mixture.misfit)
    return Attempt(equal, own, goal, explains(own))
