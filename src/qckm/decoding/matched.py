"""The default decoder: clusters with width, seen through all the harmonics that their width lets through.

The paper models clusters as points and keeps the first harmonic of the signature. Clusters have width, though, and for
N(c, τI) the expectation of *any* signature is a smooth, fast-decaying series (waves.py). Fitting centres, weights and
width together, with the harmonics that matter, removes the bias of points and makes one bit as informative as full
precision. What remains is to find the minimum:

1. searches from scratch (attempts.py), until one explains the sketch down to its sampling noise;
2. if K equal Gaussians do not explain it, K with widths and axes of their own; if these do not either, as on real data,
   richer densities (density.py);
3. k-means of points drawn from the density: the centroids (centroids.py).

What the misfit should be if the model were true is known (expectation.py). That ends the search, and gives the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.attempts import begin_at, search_from_scratch
from qckm.decoding.centroids import Centroids, are_worse, centroids_of_clusters, centroids_of_densities
from qckm.decoding.density import choose_n_axes, fit_densities
from qckm.decoding.fitting import Mixture, Problem
from qckm.decoding.model import SketchModel
from qckm.decoding.search import Search

# A search is given up after so much work (terms of sums): half a minute or so. From a start that is near, earlier.
_PATIENCE, _SEEDED = 2.7e9, 0.4e9
# With fewer measurements an unknown than this, wrong clusters explain a sketch as well as the right ones.
_MORE_THAN = 1.15
# Fewer measurements an unknown than this are few: then densities agree on little.
_ENOUGH = 4
# With more, a misfit up to this many times what it should be has almost all clusters in place: k-means could not tell.
_NEARLY = 2.5
# A sketch of less energy than this times its sampling noise says nothing.
_AUDIBLE = 2.0
# K clusters that leave more of a sketch's energy than this were led astray, all too wide to be seen, as happens to some
# of one width while they are few. Densities are not: fitted again from there, K clusters tell what they can explain.
_ASTRAY = 0.5
# Centroids of one density that fare so much worse in another are not to be believed.
_RESTLESS = 1.2
# Frequencies of so many radians a cluster's deviation are high, and so much of a sketch's energy left is much.
_HIGH, _MUCH = 1.25, 7e-3


@dataclass(frozen=True, eq=False)
class Found:
    """What a decode found, in the model's coordinates.

    Parameters
    ----------
    points, weights, widths : ndarray of shape (K, n), (K,), (K,)
        The centroids, their shares and the variance around each.
    density : Mixture
        What they were taken from: those of it as they were fitted, or more clusters than K where these explain more.
    objective, of_clusters : float
        The misfit of the density, and that of K clusters.
    kept : bool
        Whether the centroids are those it began from: trusted, and better than what the sketch gives.
    explained : bool
        Whether K clusters leave no more of the sketch than chance would, though they could not explain just anything.
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
    of_clusters: float
    kept: bool
    explained: bool
    unrest: float
    signal: float
    left: float
    n_evaluations: int

    @property
    def converged(self) -> bool:
        """Whether to believe it: the sketch is explained to its noise, or different densities say about the same.

        They may agree on what is wrong where frequencies are much too high, which leaves much of the sketch without
        explanation; and a sketch that is all noise is explained by anything. What was kept is what rows say.
        """
        radians = float(np.sqrt(self.weights @ self.widths))  # a cluster's deviation: rms ‖ω‖ is 1 here
        misled = radians > _HIGH and self.left > _MUCH
        stable = self.unrest <= _RESTLESS and not misled
        return self.signal > _AUDIBLE and (self.explained or self.kept or stable)


def matched(
    model: SketchModel,
    n_clusters: int,
    lower: Floats,
    upper: Floats,
    rng: np.random.Generator,
    start: Floats | None,
    trusted: Centroids | None,
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
    trusted : Centroids, optional
        The start, where it is known to be what k-means of rows like these would find: where K equal Gaussians do not
        explain the sketch, measurements are few, or what they tell is far from it, it is better than what the sketch
        gives.
    n_init : int
        A factor on the effort.
    """
    problem, patience = Problem(model.waves, lower, upper), (_PATIENCE if start is None else _SEEDED) * n_init
    search = Search(problem, model.n_measurements, model.mean, model.deviation, rng, patience)
    unknowns = search.unknowns(n_clusters)
    enough = model.n_measurements >= _ENOUGH * unknowns
    n_axes = 0 if trusted is not None else choose_n_axes(search, n_clusters)
    if start is None:
        few = not enough and model.n_measurements > unknowns
        attempt = search_from_scratch(search, model, n_clusters, n_axes, few, n_init)
    else:
        attempt = begin_at(search, model, start, n_axes)
    own = attempt.own
    explained = attempt.explained or (enough and attempt.equal.misfit <= _NEARLY * attempt.goal)
    densities, unrest, starts = [own], np.inf, [own.points] if start is None else [own.points, start]
    kept = trusted is not None and not (explained and enough)
    if trusted is not None and kept:
        centroids = trusted
    elif explained:
        centroids = centroids_of_clusters(own, n_clusters, starts, problem, rng)
        if trusted is not None and are_worse(centroids, own, trusted, problem, rng):
            centroids, kept = trusted, True
    else:
        densities += fit_densities(search, None if start is None else attempt.equal, n_clusters, n_axes)
        densities.sort(key=lambda density: density.misfit)
        centroids, agreed = centroids_of_densities(densities, n_clusters, starts, problem, rng)
        unrest = agreed if enough else np.inf
        if own.misfit > _ASTRAY * model.energy():
            again = begin_at(search, model, centroids.points, n_axes, swaps=False).own
            own = min(own, again, key=lambda mixture: mixture.misfit)
    objective = model.objective(search.residual(densities[0]))
    return Found(
        *centroids,
        density=densities[0],
        objective=objective,
        of_clusters=model.objective(search.residual(own)),
        kept=kept,
        explained=explained and model.n_measurements >= _MORE_THAN * unknowns,
        unrest=unrest,
        signal=model.energy() / max(model.noise, 1e-9),
        left=objective / max(model.energy(), 1e-300),
        n_evaluations=search.n_evaluations,
    )
