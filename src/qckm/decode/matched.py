"""The default decoder: clusters with width, seen through all the harmonics that their width lets through.

The paper models clusters as points and keeps the first harmonic of the signature. Clusters have width, though, and for
N(c, τI) the expectation of *any* signature is a smooth, fast-decaying series (waves.py). Fitting centres, weights and
width together, with the harmonics that matter, removes the bias of points and makes one bit as informative as full
precision. What remains is to find the minimum:

1. searches from scratch (search.py), until one explains the sketch down to its sampling noise;
2. if K equal Gaussians do not explain it, K with widths and axes of their own; if these do not either, as on real data,
   richer densities (density.py);
3. k-means of points drawn from the density: the centroids.

What the misfit should be if the model were true is known: it is the sampling noise less what the unknowns absorb. That
ends the search, and gives the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.decode.density import (
    Centroids,
    as_good_as_the_best,
    choose_n_axes,
    cluster_rows,
    draw_rows,
    fit_densities,
)
from qckm.decode.expectation import expected_misfit
from qckm.decode.fitting import Mixture, Problem
from qckm.decode.model import SketchModel
from qckm.decode.search import Search

Floats = npt.NDArray[np.float64]

# A misfit up to this many times what it should be: all clusters but one or two are where they should be.
_PROMISING = 10.0
# Up to this many times, with measurements to spare, almost all are: k-means could not tell.
_NEARLY = 2.5
# So many times more searches are then worth their time.
_MORE = 2
# Searches where there are no more measurements than unknowns.
_HOPELESS = 3
# With few measurements, search at least for so many terms of sums, about a second: there any search may be the one.
_CHEAP = 1e8
# A sketch of less energy than this times its sampling noise says nothing.
_AUDIBLE = 2.0
# Centroids of one density that fare so much worse in another are not to be believed.
_RESTLESS = 1.2
# Frequencies of so many radians a cluster's deviation are high, and so much of a sketch's energy left is much.
_HIGH, _MUCH = 1.25, 7e-3
# Fewer measurements an unknown than this are few: then densities agree on little.
_ENOUGH = 4
# Densities fitted then.
_DENSITIES = 8
# Fresh starts of k-means, where clusters are closer than so many deviations: there its centroids are not their centres.
_FRESH, _CLOSE = 20, 3.0
# A search is given up after so many terms of sums: half a minute or so.
_PATIENCE = 2.7e9
# From a start that is near, earlier.
_SEEDED = 0.4e9


@dataclass(frozen=True, eq=False)
class Found:
    """What a decode found, in the model's coordinates.

    Parameters
    ----------
    points, weights, widths : ndarray of shape (K, n), (K,), (K,)
        The centroids, their shares and the variance around each.
    density : Mixture
        What they were taken from: those of it as they were fitted, or more clusters than K where these explain more.
    objective : float
        The density's misfit.
    explained : bool
        Whether K clusters leave no more of the sketch than chance would.
    unrest : float
        How much worse, in the density's own eyes, the centroids of the other densities are than these; 1 at best,
        infinite where measurements are too few for densities to tell.
    signal, left : float
        The sketch's energy over its sampling noise, and the share of it that the density leaves.
    n_evaluations : int
    """

    points: Floats
    weights: Floats
    widths: Floats
    density: Mixture
    objective: float
    explained: bool
    unrest: float
    signal: float
    left: float
    n_evaluations: int

    @property
    def converged(self) -> bool:
        """Whether to believe it: the sketch is explained to its noise, or different densities say about the same.

        They may agree on what is wrong where frequencies are much too high, which leaves much of the sketch without
        explanation. And one that is all noise is explained by anything.
        """
        radians = float(np.sqrt(self.weights @ self.widths))  # a cluster's deviation: rms ‖ω‖ is 1 here
        misled = radians > _HIGH and self.left > _MUCH
        return self.signal > _AUDIBLE and (self.explained or (self.unrest <= _RESTLESS and not misled))


class Attempt(NamedTuple):
    """K equal clusters, and the same with widths and perhaps axes of their own."""

    equal: Mixture
    own: Mixture
    goal: float  # what the former should leave of the sketch
    explained: bool  # whether either leaves no more than it should


def matched(
    model: SketchModel,
    n_clusters: int,
    lower: Floats,
    upper: Floats,
    rng: np.random.Generator,
    start: Floats | None,
    trusted: bool,
    n_init: int,
) -> Found:
    """Decode with Gaussian atoms, in the model's coordinates.

    Parameters
    ----------
    model : SketchModel
    n_clusters : int
    lower, upper : ndarray of shape (n,)
        The box that encloses the data.
    rng : Generator
    start : ndarray of shape (K, n), optional
        Points to begin from, instead of searching from scratch.
    trusted : bool
        Whether the start is known to be what k-means of rows like these would find: where K equal Gaussians do not
        explain the sketch, it is better than what any density gives.
    n_init : int
        A factor on the effort.
    """
    problem, patience = Problem(model.waves, lower, upper), (_PATIENCE if start is None else _SEEDED) * n_init
    search = Search(problem, model.n_measurements, model.mean, model.deviation, rng, patience)
    unknowns = n_clusters * (lower.size + 1) + 1
    n_axes = 0 if trusted else choose_n_axes(search, n_clusters)
    if start is None:
        tries = _n_searches(unknowns, model.n_measurements) * n_init
        few = unknowns < model.n_measurements < _ENOUGH * unknowns
        attempt = _search(search, model, n_clusters, n_axes, tries, _CHEAP * n_init if few else 0.0)
    else:
        seeded = search.fit(search.weigh(*search.round(start, 0.5 * search.fine)), 200)
        goal = expected_misfit(model, seeded, True, rng).goal
        attempt = _finish(search, model, search.swap(seeded, goal), n_axes, goal)
    equal, own, explained = attempt.equal, attempt.own, attempt.explained
    if model.n_measurements >= _ENOUGH * unknowns:
        explained |= equal.misfit <= _NEARLY * attempt.goal
    densities, count = [own], max(10_000, 500 * n_clusters)
    unrest, starts = np.inf, [own.points] if start is None else [own.points, start]
    if explained:
        rows = draw_rows(densities, count, search.problem, rng)
        centroids = cluster_rows(rows, n_clusters, starts, _FRESH if _overlap(own) else 0, rng)
    elif trusted and start is not None:
        centroids, unrest = Centroids(start, own.weights, own.widths), 1.0
    else:
        densities += fit_densities(search, equal if start is not None else None, n_clusters, _DENSITIES)
        densities.sort(key=lambda density: density.misfit)
        centroids, unrest = _agree(search, densities, n_clusters, starts, 2 * count)
        if model.n_measurements < _ENOUGH * unknowns:
            unrest = np.inf
    objective = model.objective(search.residual(densities[0]))
    return Found(
        *centroids,
        density=densities[0],
        objective=objective,
        explained=explained,
        unrest=unrest,
        signal=model.energy() / max(model.noise, 1e-9),
        left=objective / max(model.energy(), 1e-300),
        n_evaluations=search.n_evaluations,
    )


def _n_searches(unknowns: int, n_measurements: int) -> int:
    """Return how often to search: with hardly more measurements than unknowns, hardly any search finds the minimum."""
    if n_measurements <= unknowns:
        return _HOPELESS
    return int(np.ceil(3 + 30 * (unknowns / n_measurements) ** 2))


def _search(search: Search, model: SketchModel, n_clusters: int, n_axes: int, tries: int, least_work: float) -> Attempt:
    """Return the best of some searches from scratch; one that explains the sketch is the last.

    A misfit that is promising makes it worth to try more often: with one more cluster in its place it would be there.
    """
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
            best = _finish(search, model, found, n_axes, goal)
        wanted = tries if best.equal.misfit > _PROMISING * goal else _MORE * tries
        worthless = done >= wanted and search.work > least_work
        if best.explained or worthless or search.work > search.patience:
            return best


def _finish(search: Search, model: SketchModel, found: Mixture, n_axes: int, goal: float) -> Attempt:
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


def _agree(
    search: Search, densities: list[Mixture], n_clusters: int, starts: list[Floats], count: int
) -> tuple[Centroids, float]:
    """Return the centroids of the densities that are as good as the best, and how much worse those of each would do."""
    rng, problem = search.rng, search.problem
    rows = draw_rows(as_good_as_the_best(densities), count, problem, rng)
    centroids = cluster_rows(rows, n_clusters, starts, _FRESH, rng)
    least = _sse(rows, centroids.points)
    others = [
        cluster_rows(draw_rows([density], count // 2, problem, rng), n_clusters, [], 3, rng).points
        for density in densities[:_DENSITIES]
    ]
    return centroids, float(np.median([_sse(rows, points) for points in others]) / least) if least else 1.0


def _overlap(mixture: Mixture) -> bool:
    """Return whether any two clusters are so close that k-means would divide them otherwise."""
    from sklearn.metrics import pairwise_distances

    distances = pairwise_distances(mixture.points)
    deviations = np.sqrt(mixture.widths + (mixture.axes**2).sum(axis=(1, 2)))
    near = distances < _CLOSE * np.maximum.outer(deviations, deviations)
    return bool(near.sum() > len(near))  # each is near itself


def _sse(rows: Floats, points: Floats) -> float:
    from sklearn.metrics import pairwise_distances_argmin_min

    return float(pairwise_distances_argmin_min(rows, points, metric="sqeuclidean")[1].sum())
