"""Attempts to explain a sketch by K clusters: searches from scratch, or from a start, until one does.

To a private sketch noise of a known variance was added. A wrong mixture may leave no more of it than chance lets a
right one leave. It still leaves more than the right one does: of two mixtures, noise changes the misfits almost alike.
With noise of the variance v a measurement, −2·log(likelihood) is misfit/v, so that a misfit that is larger by some v
tells against a mixture, whatever the misfit should be. So no search stops where chance would let it, and there are
several, until the best minimum was reached often enough. A cluster that noise may have brought about somewhere is left
out, lest it takes a centroid from where the rows are, and widths are each cluster's own only where that gains more than
as many unknowns should (AIC).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.model.mixture import Mixture
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.search.expectation import BY_CHANCE, column_gap, expected_misfit, worthless
from qckm.decoding.search.search import LONG, Search

# Search until the sketch is explained, or for so much work, a second or so; once at least. With few measurements, of
# which hardly any search ends in the best minimum, three times as long.
EFFORT, LONGER = 1e8, 3.0
# … or until the best minimum was reached so often, to a thousandth of its misfit, unless measurements are few: it is
# then hardly a chance find.
OFTEN, _SAME = 3, 1.001
# Measurements an unknown, to tell what K Gaussians do not explain from noise, or from another density.
ENOUGH_MEASUREMENTS = 4
# Searches at most, and how many must end in the best minimum. Where a sketch just settles the centroids (ε·N = 3000 in
# docs/guide/privacy.md), a search ends there in a sixth of the runs on some data: 24 all miss it in 1 % of the runs.
SEARCHES, _OFTEN = 24, 3
# Two searches end in the same minimum if their misfits differ by less than this many v: a factor √e in likelihood.
_ALIKE = 1.0
# A cluster is taken for noise unless noise would bring it about less often than this: a test's level.
LEVEL = 0.03


class Attempt(NamedTuple):
    """K clusters of one width, and the same with widths and perhaps axes of their own."""

    one_width: Mixture
    own_widths: Mixture
    goal: float  # what the former should leave of the sketch
    explained: bool  # whether either leaves no more than it should, and has the columns' means and variances


def search_from_scratch(search: Search, n_init: int) -> Attempt:
    """Return the best of some searches; one that explains the sketch is the last."""
    best: Attempt | None = None
    goal, reached = 0.0, 0
    unknowns = search.n_clusters * (search.model.mean.size + 1) + 1
    enough = search.model.n_measurements >= ENOUGH_MEASUREMENTS * unknowns
    often = OFTEN * n_init if enough else np.inf
    effort = EFFORT * n_init * (1 if enough else LONGER)
    while best is None or not (best.explained or search.work > effort or reached >= often):
        found = search.once(LONG)
        goal = goal or expected_misfit(search.model, found, True, search.rng).goal
        found = search.swap(found, goal)
        found = search.fit(found, LONG)
        # Of clusters that explain the sketch by accident, as columns tell, there may be many: search on.
        accident = best is not None and best.one_width.misfit <= goal and found.misfit <= goal
        if best is None or accident or found.misfit * _SAME < best.one_width.misfit:
            attempt = finish(search, found, goal)
            if best is None or attempt.explained or not accident:
                best, reached = attempt, 0
        reached += goal < found.misfit <= _SAME * best.one_width.misfit
    return best


def begin_at(search: Search, start: Floats, width: float | None = None) -> Attempt:
    """Fit clusters from points (K, n) on, of some width, and search further from there."""
    seeded = search.begin(start, width)
    goal = expected_misfit(search.model, seeded, True, search.rng).goal
    return finish(search, search.swap(seeded, goal), goal)


def finish(search: Search, found: Mixture, goal: float) -> Attempt:
    """Fit to the end, give clusters widths of their own, and axes if that is not enough to explain the sketch.

    More unknowns should leave less than `goal`, which is for a shared width; how much less is only worked out when it
    matters.
    """
    equal = search.fit(found, LONG)
    own = search.fit(equal, LONG, "own")

    def explained_by(mixture: Mixture, shared_width: bool) -> Attempt | None:
        if mixture.misfit > goal:
            return None
        if not shared_width and mixture.misfit > expected_misfit(search.model, mixture, False, search.rng).goal:
            return None
        explained = column_gap(search.model, mixture, shared_width, search.rng) <= BY_CHANCE
        return Attempt(equal, own, goal, True) if explained else None

    attempt = explained_by(equal, True) or explained_by(own, False)
    if attempt is None and search.n_axes:
        long = search.fit(search.lengthen(own), LONG, "own")
        own = min(own, long, key=lambda mixture: mixture.misfit)
        attempt = explained_by(own, False)
    return attempt or Attempt(equal, own, goal, False)


def search_in_noise(search: Search, n_init: int, start: Floats | None = None) -> tuple[Mixture, Mixture]:
    """Return the best of some searches, none of which stops before it finds nothing better: the clusters, and all K.

    The first begins at centroids (K, n), where some are given.
    """
    misfits: list[float] = []
    best: tuple[Mixture, Mixture] | None = None
    alike = likeness(search.model)
    while len(misfits) < SEARCHES * n_init and (best is None or search.work < search.patience):
        begun = search.begin(search.model.to_points(start)) if start is not None and not misfits else None
        found = search_once(search, begun)
        misfits.append(found[0].misfit)
        best = found if best is None or found[0].misfit < best[0].misfit else best
        if (np.asarray(misfits) <= best[0].misfit + alike).sum() >= _OFTEN * n_init:
            break
    assert best is not None
    return best


def search_once(search: Search, begun: Mixture | None = None) -> tuple[Mixture, Mixture]:
    """Search until nothing better is found; return the clusters that are more than noise, and all K."""
    every = search.fit(search.swap(begun or search.once(), 0.0), LONG)
    kept = every
    while len(kept.points) > 1 and (fewer := _without_noise(search, kept)) is not None:
        kept = fewer
    return kept, every


def _without_noise(search: Search, mixture: Mixture) -> Mixture | None:
    """Leave out a cluster that noise has brought about; return None where there is none.

    It is either where nothing else is, in any of many places, or one of two into which noise has split a cluster. The
    latter gains no more than as many unknowns should (AIC).
    """
    model, (K, n), costs = search.model, mixture.points.shape, search.missed(mixture)
    least = int(costs.argmin())
    if worthless(model, mixture, costs, LEVEL)[least]:
        return search.fit(search.some(mixture, np.delete(np.arange(K), least)), LONG)
    squares = ((mixture.points[:, np.newaxis] - mixture.points) ** 2).sum(axis=2)
    squares[np.diag_indices(K)] = np.inf
    pair = np.array(np.unravel_index(squares.argmin(), squares.shape))
    lighter = pair[mixture.weights[pair].argmin()]
    merged = search.fit(search.some(mixture, np.delete(np.arange(K), lighter)), LONG)
    price = 2 * (n + 1) * model.noise / model.n_measurements
    return merged if merged.misfit <= mixture.misfit + price else None


def likeness(model: SketchModel) -> float:
    """Return by how much the misfits of two searches that end in the same minimum differ at most."""
    return _ALIKE * model.noise / model.n_measurements


def finish_in_noise(search: Search, found: Sequence[Mixture]) -> Attempt:
    """Fit clusters to the end; where those that are more than noise do not explain the sketch, all K."""
    for mixture in found:
        goal = expected_misfit(search.model, mixture, True, search.rng).goal
        attempt = frugal(search.model, finish(search, mixture, goal))
        if attempt.explained or len(mixture.points) == search.n_clusters:
            break
    return attempt


def frugal(model: SketchModel, attempt: Attempt) -> Attempt:
    """Give clusters that explain a sketch one width, unless their own gain more than as many unknowns should (AIC)."""
    equal, own = attempt.one_width, attempt.own_widths
    more = own.unknowns - equal.unknowns + len(equal.widths) - 1  # `unknowns` counts every width, shared or not
    gained = (equal.misfit - own.misfit) / (model.noise / model.n_measurements)
    return attempt._replace(own_widths=equal) if equal.misfit <= attempt.goal and gained <= 2 * more else attempt
