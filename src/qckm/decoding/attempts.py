"""Attempts to explain a sketch by K clusters: searches from scratch, or from a start, until one does."""

from __future__ import annotations

from typing import NamedTuple

from qckm.common.arrays import Floats
from qckm.decoding.expectation import expected_misfit
from qckm.decoding.fitting import Mixture
from qckm.decoding.search import LONG, Search
from qckm.decoding.sketch_model import SketchModel

# Search until the sketch is explained, or for so much work, a second or so; once at least. With few measurements hardly
# any search ends in the best minimum.
EFFORT = 1e8
# … or until the best minimum was reached so often, to a thousandth of its misfit: it is then hardly a chance find.
OFTEN, _SAME = 3, 1.001
# Axes a cluster at most; fewer where unknowns would be more than half of the measurements.
MOST_AXES = 2


class Attempt(NamedTuple):
    """K equal clusters, and the same with widths and perhaps axes of their own."""

    equal: Mixture
    own: Mixture
    goal: float  # what the former should leave of the sketch
    explained: bool  # whether either leaves no more than it should


def search_from_scratch(search: Search, model: SketchModel, n_clusters: int, n_axes: int, n_init: int) -> Attempt:
    """Return the best of some searches; one that explains the sketch is the last."""
    best: Attempt | None = None
    goal, reached = 0.0, 0
    while best is None or not (best.explained or search.work > EFFORT * n_init or reached >= OFTEN * n_init):
        grown = search.grow(search.alone("shared"), 2 * n_clusters)
        found = search.fit(search.prune(grown, n_clusters), LONG)
        goal = goal or expected_misfit(model, found, True, search.rng).goal
        found = search.swap(found, goal)
        found = search.fit(found, LONG)
        if best is None or found.misfit * _SAME < best.equal.misfit:
            best, reached = finish(search, model, found, n_axes, goal), 0
        reached += found.misfit <= _SAME * best.equal.misfit
    return best


def begin_at(search: Search, model: SketchModel, start: Floats, n_axes: int, width: float | None = None) -> Attempt:
    """Fit clusters from points (K, n) on, of some width, and search further from there."""
    seeded = search.fit(search.weigh(*search.round(start, width or search.fine)), LONG)
    goal = expected_misfit(model, seeded, True, search.rng).goal
    return finish(search, model, search.swap(seeded, goal), n_axes, goal)


def choose_n_axes(search: Search, n_clusters: int) -> int:
    """Choose how many axes clusters have: as many as there are measurements to find them by."""
    n = search.mean.size
    room = search.n_measurements / 2 / n_clusters - (n + 2)
    return int(min(MOST_AXES, n - 1, max(0, room // n)))


def finish(search: Search, model: SketchModel, found: Mixture, n_axes: int, goal: float) -> Attempt:
    """Fit to the end, give clusters widths of their own, and axes if that is not enough to explain the sketch.

    More unknowns should leave less than `goal`, which is for a shared width; how much less is only worked out when it
    matters.
    """
    equal = search.fit(found, LONG)
    own = search.fit(equal, LONG, "own")

    def explains(mixture: Mixture) -> bool:
        return mixture.misfit <= goal and mixture.misfit <= expected_misfit(model, mixture, False, search.rng).goal

    if equal.misfit <= goal or explains(own):
        return Attempt(equal, own, goal, True)
    if n_axes:
        long = search.fit(search.lengthen(own, n_axes), LONG, "own")
        own = min(own, long, key=lambda mixture: mixture.misfit)
    return Attempt(equal, own, goal, explains(own))
