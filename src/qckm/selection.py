"""How many clusters there are, from one sketch: no second pass over the data, for a sketch can be decoded again.

More clusters always match a sketch better. The question is whether they match it better than chance would let them:
the misfit of K clusters is weighed against their number of unknowns by an information criterion, with a floor set by
the sampling noise of the sketch. What lies below that is explained by the rows having been drawn at random.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.decode import Clustering, decode
from qckm.errors import DecodeError, PoorFitWarning
from qckm.sketch import Sketch

Floats = npt.NDArray[np.float64]

# Part of the sampling noise moves centres and weights and is fitted with them: the true clusters leave 0.2 to 0.4 of
# it. A misfit below this share of the noise therefore counts as no better than one at it.
_FLOOR = 0.5
# Decoders that model points know no widths: a tenth of the kernel's own to begin with.
_LEAST_WIDTH = 0.1


@dataclass(frozen=True, eq=False)
class ClusterCount:
    """How well each number of clusters explains a sketch, and the number that is chosen.

    Parameters
    ----------
    n_clusters : int
        The K of the least criterion.
    ks : ndarray of int
        The numbers of clusters that were tried, increasing.
    objectives : ndarray
        Squared distance of the sketch from that of K round Gaussians fitted to it, by K.
    explained : ndarray
        Share of the sketch's energy that they explain, by K.
    criterion : ndarray
        M·log(objective / M) + unknowns·log(M), with an objective of at least half the noise: the lower, the better.
    noise : float
        What the randomness of the rows alone leaves unexplained: `Sketch.sampling_noise()`.
    clusterings : tuple of Clustering
        What was decoded, by K.
    """

    n_clusters: int
    ks: npt.NDArray[np.int64]
    objectives: Floats
    explained: Floats
    criterion: Floats
    noise: float
    clusterings: tuple[Clustering, ...]

    @property
    def clustering(self) -> Clustering:
        """The clustering of the chosen K."""
        return self.clusterings[int(np.flatnonzero(self.ks == self.n_clusters)[0])]


def choose_n_clusters(sketch: Sketch, ks: Iterable[int] = range(1, 11), **how: Any) -> ClusterCount:
    """Choose K from a sketch alone.

    Decodes the sketch for each K and takes the one of the least information criterion. The sketch should have some
    frequencies to spare for the largest K, 2nK or more, and a scale fit for clusters of the size that is looked for.
    Clusters that are no round Gaussians, as real ones, are counted as however many of these it takes to describe them:
    then the curve (`qckm.plots.selection`) says more than its minimum.

    Parameters
    ----------
    sketch : Sketch
    ks : iterable of int, default 1 … 10
        The numbers of clusters to try.
    **how
        Passed on to `decode`: bounds, decoder, n_init, random_state, spread.

    Returns
    -------
    ClusterCount

    Examples
    --------
    >>> import numpy as np, qckm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)) + 8 * rng.integers(0, 3, size=(3000, 1))
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=60, scale=1.8, random_state=0)
    >>> qckm.choose_n_clusters(op.sketch(X), ks=range(1, 6), random_state=0).n_clusters
    3
    """
    tried = sorted(set(ks))
    if not tried:
        raise DecodeError("Expected at least one number of clusters to try, got none.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorFitWarning)  # too few clusters fit poorly: that is what is compared here
        clusterings = tuple(decode(sketch, n_clusters, **how) for n_clusters in tried)
    objectives, energy = (
        np.array([_misfit(sketch, found) for found in clusterings]),
        float((sketch.values() ** 2).sum()),
    )
    noise = sketch.sampling_noise()
    M, n = sketch.operator.n_measurements, sketch.operator.n_features
    # A centre, a weight and a width each.
    unknowns = np.array(tried) * (n + 2)
    # The whisper keeps the logarithm of a perfect match of no noise finite.
    floored = np.maximum(objectives, _FLOOR * noise) + 1e-12 * M
    criterion = M * np.log(floored / M) + unknowns * np.log(M)
    return ClusterCount(
        n_clusters=tried[int(np.argmin(criterion))],
        ks=np.array(tried),
        objectives=objectives,
        explained=1 - objectives / max(energy, 1e-300),
        criterion=criterion,
        noise=noise,
        clusterings=clusterings,
    )


def _misfit(sketch: Sketch, found: Clustering) -> float:
    """Return how far the sketch is from K Gaussians, fitted to it from the centroids on.

    The objective of a decode may be that of a richer density, from which the centroids were taken.
    """
    from qckm.decode.fitting import Mixture, Problem  # numba takes its time to import
    from qckm.decode.model import SketchModel

    model = SketchModel.of(sketch)
    points = model.to_points(found.centers)
    lower, upper = (model.to_points(bound) for bound in sketch.bounds)
    box = np.minimum(lower, points.min(axis=0)), np.maximum(upper, points.max(axis=0))
    widths = np.maximum((found.spreads / model.spread) ** 2, _LEAST_WIDTH)
    start = Mixture(points, found.weights, widths, np.zeros((len(points), 0, points.shape[1])), np.inf)
    return Problem(model.waves, *box).fit(start, 300, "own", evenness=1e-4 * model.noise)[0].misfit
