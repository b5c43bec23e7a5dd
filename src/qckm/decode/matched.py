"""The default decoder: clusters with width, seen through all the harmonics that their width lets through.

The paper models clusters as points and keeps the first harmonic of the signature. Clusters have width, though, and for
N(c, τI) the expectation of *any* signature is a smooth, fast-decaying series (waves.py). Fitting centres, weights and
width together, with the harmonics that matter, removes the bias of points and makes one bit as informative as full
precision. What remains is to find the minimum:

1. searches from scratch (search.py), until one explains the sketch down to its sampling noise, or several agree;
2. if K equal Gaussians do not explain it, as on real data, richer densities (density.py);
3. k-means of points drawn from the density: the centroids.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qckm.decode.density import cluster_density, grow
from qckm.decode.fitting import Mixture, Problem
from qckm.decode.model import SketchModel
from qckm.decode.search import Search

Floats = npt.NDArray[np.float64]

# Evaluations of the misfit, times n_init: agreement is trusted after the first, the search given up after the second.
_TRUSTED, _EXHAUSTED = 4000, 16_000
# A misfit of this many times the sampling noise says that the clusters are no equal Gaussians.
_POOR = 3.0
# The richer densities have so many clusters for each that is wanted.
_RICHER = (2.0, 2.5, 2.0, 2.5)


def matched(
    model: SketchModel,
    n_clusters: int,
    lower: Floats,
    upper: Floats,
    rng: np.random.Generator,
    start: Floats | None,
    n_init: int,
) -> tuple[Mixture, int]:
    """Decode with Gaussian atoms, in the model's coordinates; return the clusters and the evaluations it took.

    Parameters
    ----------
    model : SketchModel
    n_clusters : int
    lower, upper : ndarray of shape (n,)
        The box that encloses the data.
    rng : Generator
    start : ndarray of shape (K, n), optional
        Points to begin from, instead of searching from scratch.
    n_init : int
        A factor on the effort.
    """
    search = Search(Problem(model.waves, lower, upper), model.mean, model.deviation, rng)
    unknowns = n_clusters * (lower.size + 1) + 1
    # What fitted clusters leave of the sampling noise; near as many unknowns as measurements leave hardly any.
    noise = model.noise * max(0.1, 1 - unknowns / model.n_measurements)
    goal = 0.3 * noise
    if start is None:
        found = _search(search, n_clusters, noise, goal, n_init)
    else:
        seeded, _ = search.weigh(start, np.full(n_clusters, 0.5 * search.fine))
        found = [search.swap(search.fit(seeded, 200), 8, goal)]
    best = search.fit(found[0], 500)
    best = search.fit(best, 200, "own", evenness=1e-4 * model.noise)
    density, n_fresh = [best], 0
    if best.misfit > _POOR * model.noise:
        density, n_fresh = _richer(search, [best, *found[1:]], n_clusters, model.n_measurements), 5
    centroids = cluster_density(density, n_clusters, best.points, search.problem, rng, n_fresh)
    return Mixture(*centroids, best.misfit), search.n_evaluations


def _search(search: Search, n_clusters: int, noise: float, goal: float, n_init: int) -> list[Mixture]:
    """Return the outcomes of searches from scratch, the best first."""
    found: list[Mixture] = []
    while True:
        rounds = 2 * n_clusters if len(found) % 2 == 0 else (3 * n_clusters + 1) // 2
        found.append(search.swap(search.greedy(n_clusters, rounds), 8, goal))
        found.sort(key=lambda mixture: mixture.misfit)
        least = found[0].misfit
        agreeing = sum(mixture.misfit <= 1.05 * least for mixture in found)
        explained = least <= goal or (least <= 1.35 * noise and agreeing >= 2)
        agreed = agreeing >= 3 and search.n_evaluations >= _TRUSTED * n_init
        if explained or agreed or search.n_evaluations >= _EXHAUSTED * n_init:
            return found


def _richer(search: Search, found: list[Mixture], n_clusters: int, n_measurements: int) -> list[Mixture]:
    """Fit densities of more clusters than K, as far as the sketch can carry them."""
    most = n_measurements // (2 * (search.mean.size + 2))  # two measurements an unknown
    sources = [mixture for mixture in found if mixture.misfit <= 1.5 * found[0].misfit]
    sizes = [min(int(np.ceil(factor * n_clusters)), most) for factor in _RICHER]
    richer = [grow(search, sources[i // 2 % len(sources)], size) for i, size in enumerate(sizes) if size > n_clusters]
    return richer or found[:1]
