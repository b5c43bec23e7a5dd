"""The default decoder: clusters with width, seen through all the harmonics that their width lets through.

The paper models clusters as points and keeps the first harmonic of the signature. Clusters have width, though, and for
N(c, τI) the expectation of *any* signature is a smooth, fast-decaying series (waves.py). Fitting centres, weights and
width together, with the harmonics that matter, removes the bias of points and makes one bit as informative as full
precision. What remains is to find the minimum:

1. searches from scratch (search.py), until one explains the sketch down to its sampling noise;
2. if K equal Gaussians do not explain it, as on real data, richer densities (density.py);
3. k-means of points drawn from the density: the centroids.

What the misfit should be if the model were true is known: it is the sampling noise less what the unknowns absorb. That
ends the search, and gives the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qckm.decode.density import Centroids, as_good_as_the_best, cluster_rows, draw_rows, fit_densities
from qckm.decode.fitting import Mixture, Problem
from qckm.decode.model import SketchModel
from qckm.decode.search import Search

Floats = npt.NDArray[np.float64]

# A misfit of this many times what it should be says that the clusters are no equal Gaussians, or were not found.
_POOR = 2.0
# Up to this many times, all clusters but one or two are where they should be.
_PROMISING = 10.0
# Centroids of one density that fare so much worse in another are not to be believed.
_RESTLESS = 1.2
# Measurements an unknown from which on that says something.
_ENOUGH = 4
# Densities fitted then.
_DENSITIES = 4
# A search is given up after so many terms of sums: half a minute or so.
_PATIENCE = 3e9


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
    excess : float
        The misfit of K equal clusters over what it should be; infinite with hardly more measurements than unknowns,
        where anything is explained.
    unrest : float
        How much worse, in the density's own eyes, the centroids of the other densities are than these; 1 at best,
        infinite where measurements are too few for densities to tell.
    signal : float
        The sketch's energy over its sampling noise.
    n_evaluations : int
    """

    points: Floats
    weights: Floats
    widths: Floats
    density: Mixture
    objective: float
    excess: float
    unrest: float
    signal: float
    n_evaluations: int

    @property
    def converged(self) -> bool:
        """Whether to believe it: the sketch is explained to its noise, or different densities say about the same.

        A sketch that is all noise, as at frequencies that are much too high, is explained by anything.
        """
        return self.signal > _POOR and (self.excess <= _POOR or self.unrest <= _RESTLESS)


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
    search = Search(Problem(model.waves, lower, upper), model.n_measurements, model.mean, model.deviation, rng)
    unknowns = n_clusters * (lower.size + 1) + 1
    freedom = max(model.n_measurements - unknowns, 0.05 * model.n_measurements)
    # Rows that are all alike have no sampling noise; arithmetic always has some.
    expected = max(model.noise * freedom / model.n_measurements, 1e-9 * model.n_measurements)
    goal = expected * min(1 + 3 * np.sqrt(2 / freedom), _POOR)
    if start is None:
        tries = _n_searches(unknowns, model.n_measurements) * n_init
        best = _search(search, n_clusters, goal, _PROMISING * expected, tries)
    else:
        seeded = search.weigh(start, np.full(n_clusters, 0.5 * search.fine))
        best = search.swap(search.fit(seeded, 200), 8, goal)
    best = search.fit(best, 500)
    best = search.fit(best, 200, "own", evenness=1e-4 * model.noise)
    densities, count = [best], max(10_000, 500 * n_clusters)
    if best.misfit <= _POOR * expected:
        rows = draw_rows(densities, count, search.problem, rng)
        centroids, unrest = cluster_rows(rows, n_clusters, best.points, 0, rng), np.inf  # not asked
    elif trusted and start is not None:
        centroids, unrest = Centroids(start, best.weights, best.widths), 1.0
    else:
        densities += fit_densities(search, best if start is not None else None, n_clusters, _DENSITIES)
        densities.sort(key=lambda density: density.misfit)
        centroids, unrest = _agree(search, densities, n_clusters, 2 * count)
        if model.n_measurements < _ENOUGH * unknowns:
            unrest = np.inf
    objective = model.objective(search.residual(densities[0]))
    return Found(
        *centroids,
        density=densities[0],
        objective=objective,
        excess=best.misfit / expected if freedom >= unknowns / 3 else np.inf,
        unrest=unrest,
        signal=model.energy() / max(model.noise, 1e-9),
        n_evaluations=search.n_evaluations,
    )


def _n_searches(unknowns: int, n_measurements: int) -> int:
    """Return how often to search: with hardly more measurements than unknowns, hardly any search finds the minimum."""
    return int(np.ceil(3 + 60 * min(unknowns / n_measurements, 0.7) ** 2))


def _search(search: Search, n_clusters: int, goal: float, promising: float, tries: int) -> Mixture:
    """Return the best of some searches from scratch; one that reaches the goal is the last.

    A misfit that is promising makes it worth to try more often: with one more cluster in its place it would be there.
    """
    best: Mixture | None = None
    for done in range(1, 4 * tries + 1):
        grown = search.grow(search.alone("shared"), 2 * n_clusters)
        found = search.swap(search.fit(search.prune(grown, n_clusters), 200), 8, goal)
        if best is None or found.misfit < best.misfit:
            best = found
        if best.misfit <= goal or search.work > _PATIENCE or (done >= tries and best.misfit > promising):
            break
    assert best is not None
    return best


def _agree(search: Search, densities: list[Mixture], n_clusters: int, count: int) -> tuple[Centroids, float]:
    """Return the centroids of the densities that are as good as the best, and how much worse those of each would do."""
    rng, problem = search.rng, search.problem
    rows = draw_rows(as_good_as_the_best(densities), count, problem, rng)
    centroids = cluster_rows(rows, n_clusters, None, 10, rng)
    least = _sse(rows, centroids.points)
    others = [
        cluster_rows(draw_rows([density], count // 2, problem, rng), n_clusters, None, 3, rng).points
        for density in densities[:_DENSITIES]
    ]
    return centroids, float(np.median([_sse(rows, points) for points in others]) / least) if least else 1.0


def _sse(rows: Floats, points: Floats) -> float:
    from sklearn.metrics import pairwise_distances_argmin_min

    return float(pairwise_distances_argmin_min(rows, points, metric="sqeuclidean")[1].sum())
