"""Attempts to explain a sketch by K clusters: searches from scratch, or from a start, until one does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.fit.clusters import Mixture
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.search.column_test import column_gap
from qckm.decoding.search.expectation import BY_CHANCE, expected_misfit
from qckm.decoding.search.search import LONG, Search

# Search until the sketch is explained, or for so much work, a second or so; once at least. With few measurements, of
# which hardly any search ends in the best minimum, three times as long.
EFFORT, LONGER = 1e8, 3.0
# … or until the best minimum was reached so often, to a thousandth of its misfit, unless measurements are few: it is
# then hardly a chance find.
OFTEN, _SAME = 3, 1.001
# Measurements an unknown, to tell what K Gaussians do not explain from noise, or from another density.
ENOUGH_MEASUREMENTS = 4
# Axes a cluster at most; fewer where unknowns would be more than half of the measurements.
MOST_AXES = 2


def has_enough(n_measurements: int, unknowns: int) -> bool:
    """Return whether there are measurements to tell what clusters leave unexplained from noise or another density."""
    return n_measurements >= ENOUGH_MEASUREMENTS * unknowns


class Attempt(NamedTuple):
    """K equal clusters, and the same with widths and perhaps axes of their own."""

    equal: Mixture
    own: Mixture
    goal: float  # what the former should leave of the sketch
    explained: bool  # whether either leaves no more than it should, and has the columns' means and variances


def search_from_scratch(search: Search, model: SketchModel, n_clusters: int, n_axes: int, n_init: int) -> Attempt:
    """Return the best of some searches; one that explains the sketch is the last."""
    best: Attempt | None = None
    goal, reached = 0.0, 0
    enough = has_enough(search.n_measurements, search.unknowns(n_clusters))
    often = OFTEN * n_init if enough else np.inf
    effort = EFFORT * n_init * (1 if enough else LONGER)
    while best is None or not (best.explained or search.work > effort or reached >= often):
        grown = search.grow(search.alone("shared"), 2 * n_clusters)
        found = search.fit(search.prune(grown, n_clusters), LONG)
        goal = goal or expected_misfit(model, found, True, search.rng).goal
        found = search.swap(found, goal)
        found = search.fit(found, LONG)
        # Of clusters that explain the sketch by accident, as columns tell, there may be many: search on.
        accident = best is not None and best.equal.misfit <= goal and found.misfit <= goal
        if best is None or accident or found.misfit * _SAME < best.equal.misfit:
            attempt = finish(search, model, found, n_axes, goal)
            if best is None or attempt.explained or not accident:
                best, reached = attempt, 0
        reached += goal < found.misfit <= _SAME * best.equal.misfit
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

    def explained_by(mixture: Mixture, shared_width: bool) -> Attempt | None:
        if mixture.misfit > goal:
            return None
        if not shared_width and mixture.misfit > expected_misfit(model, mixture, False, search.rng).goal:
            return None
        explained = column_gap(model, mixture, shared_width, search.rng) <= BY_CHANCE
        return Attempt(equal, own, goal, True) if explained else None

    attempt = explained_by(equal, True) or explained_by(own, False)
    if attempt is None and n_axes:
        long = search.fit(search.lengthen(own, n_axes), LONG, "own")
        own = min(own, long, key=lambda mixture: mixture.misfit)
        attempt = explained_by(own, False)
    return attempt or Attempt(equal, own, goal, False)
