"""How many clusters there are, from one sketch: no second pass over the data, for a sketch can be decoded again.

More clusters always match a sketch better. The question is whether they match it better than chance would let them.
What K Gaussians leave of a sketch if they are the truth is known (expectation.py): where some K leaves no more, more
clusters have nothing to explain. Until then the misfit is weighed against the number of unknowns, by an information
criterion.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.common.random import spawn
from qckm.decoding.decode import Clustering, decode, require_sketch, warn_of_clipping
from qckm.errors import DecodeError, PoorFitWarning, RemarkWarning, SaturationWarning, warn
from qckm.sketch import Sketch

if TYPE_CHECKING:
    from qckm.decoding.fitting import Mixture
    from qckm.decoding.sketch_model import SketchModel


# Decoders that model points know no widths: a tenth of the kernel's own to begin with.
_LEAST_WIDTH = 0.1
# Rows with less noise a measurement are all alike.
_ALIKE = 1e-9
# Clusters so narrow that fitting them is a matter of high harmonics may leave this many times the noise, and be right.
_ABOVE = 3.0
_LOOK = "Look at the curve (qckm.plots.selection) rather than at its minimum."


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
        Share of the sketch's energy that K clusters explain, as of `decode`, by K.
    by_chance : ndarray
        The most that K Gaussians would leave of the sketch if they were the truth, by K: an objective up to this leaves
        nothing to explain.
    criterion : ndarray
        M·log(objective / M) + unknowns·log(M): the lower, the better. Objectives count as no less than what chance
        leaves of the fewest clusters that explain the sketch.
    noise : float
        The squared distance that the randomness of the rows alone puts between a sketch and its expectation:
        `Sketch.sampling_noise()`; where weights are no whole numbers, that of 10 000 rows or more.
    clusterings : tuple of Clustering
        What was decoded, by K.
    """

    n_clusters: int
    ks: npt.NDArray[np.int64]
    objectives: Floats
    explained: Floats
    by_chance: Floats
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
    then the curve (`qckm.plots.selection`) says more than its minimum, and a `PoorFitWarning` says so.

    Parameters
    ----------
    sketch : Sketch
        Whole weights of rows count as repeats; of others the noise is not known, and a warning says so. Of a sketch at
        several scales, that octave counts which suits the largest K.
    ks : iterable of int, default 1 … 10
        The numbers of clusters to try, as far as there are rows.
    **how
        Passed on to `decode`: bounds, decoder, n_init, random_state, spread.

    Returns
    -------
    ClusterCount
        With a `PoorFitWarning` where none of the numbers explains the sketch, or that cannot be known.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)) + 8 * rng.integers(0, 3, size=(3000, 1))
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=60, scale=1.8, random_state=0)
    >>> qckm.choose_n_clusters(op.sketch(X), ks=range(1, 6), random_state=0).n_clusters
    3
    """
    tried = _to_try(sketch, ks)
    warn_of_clipping(sketch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RemarkWarning)
        warnings.simplefilter("ignore", PoorFitWarning)  # too few clusters fit poorly: that is what is compared here
        warnings.simplefilter("ignore", SaturationWarning)  # said once
        octave = None
        if sketch.operator.octaves > 1:
            octave = decode(sketch, tried[-1], **how).octave
            sketch = sketch.octave(octave or 0)
        clusterings = tuple(replace(decode(sketch, K, **how), octave=octave) for K in tried)
    objectives, by_chance, noise = _misfits(sketch, clusterings, how.get("random_state"))
    M, n = sketch.operator.n_measurements, sketch.operator.n_features
    # A centre, a weight and a width each.
    unknowns = np.array(tried) * (n + 2)
    explain = np.flatnonzero(objectives <= by_chance)
    floor, alike = by_chance[explain[0]] if explain.size else 0.0, noise <= _ALIKE * M
    if alike:  # one cluster is all there is, whatever high harmonics say
        floor = objectives.max()
    # The whisper keeps the logarithm of a perfect match of no noise finite.
    criterion = M * np.log(np.maximum(objectives, floor) / M + 1e-12) + unknowns * np.log(M)
    chosen = int(np.argmin(criterion))
    if len(tried) > 1 and not sketch.exact:
        warn(f"Weights are no whole numbers: what chance leaves of the sketch is not known. {_LOOK}", PoorFitWarning)
    elif len(tried) > 1 and not (alike or explain.size) and objectives[chosen] > _ABOVE * noise:
        warn(
            f"None of the numbers of clusters tried, {tried[0]} to {tried[-1]}, explains the sketch: there are more, "
            f"or they are no round Gaussians. {_LOOK}",
            PoorFitWarning,
        )
    return ClusterCount(
        n_clusters=tried[chosen],
        ks=np.array(tried),
        objectives=objectives,
        explained=np.array([one.explained for one in clusterings]),
        by_chance=by_chance,
        criterion=criterion,
        noise=noise,
        clusterings=clusterings,
    )


def _to_try(sketch: Sketch, ks: Iterable[int]) -> list[int]:
    """Return the numbers of clusters, increasing, that a sketch of so many rows can have."""
    require_sketch(sketch)
    try:
        tried = sorted({operator.index(K) for K in ks})
    except TypeError as error:
        raise DecodeError(f"Expected numbers of clusters to try, such as range(1, 11), got {ks!r:.80}.") from error
    if not tried:
        raise DecodeError("Expected at least one number of clusters to try, got none.")
    possible = [K for K in tried if sketch.count >= K] if sketch.exact else tried
    return possible or tried[:1]  # which decoding then refuses, with the reason


def _misfits(sketch: Sketch, clusterings: tuple[Clustering, ...], random_state: Any) -> tuple[Floats, Floats, float]:
    """Return how far the sketch is from K Gaussians, how far it should be, both by K, and the sampling noise.

    They are fitted from the centroids on, and from those of the K before it: with more clusters a misfit only falls.
    The objective of a decode may be that of a richer density, from which the centroids were taken.
    """
    from qckm.decoding.expectation import expected_misfit  # SciPy takes its time to import
    from qckm.decoding.fitting import Problem
    from qckm.decoding.search import LONG, Search
    from qckm.decoding.sketch_model import SketchModel
    from qckm.decoding.waves import N_HARMONICS

    # Misfits are compared here, so that low frequencies count: as many harmonics as there are loops for.
    many = None if sketch.operator.signature.is_pure_tone else max(N_HARMONICS.values())
    model = SketchModel.of(sketch, n_harmonics=many)
    points = np.concatenate([model.to_points(found.centers) for found in clusterings])
    lower, upper = (model.to_points(bound) for bound in sketch.coded_bounds)
    problem = Problem(model.waves, np.minimum(lower, points.min(axis=0)), np.maximum(upper, points.max(axis=0)))
    (rng,) = spawn(random_state, 1)
    search = Search(problem, model.n_measurements, model.mean, model.deviation, rng, np.inf)
    fits: list[Mixture] = []
    for found in clusterings:
        starts = [_mixture(model.to_points(found.centers), found.weights, found.spreads / model.spread)]
        if fits:
            starts.append(search.grow(fits[-1], len(found.centers), "own"))
        candidates = [search.fit(start, LONG, "own") for start in starts]
        fits.append(min(candidates, key=lambda mixture: mixture.misfit))
    by_chance = [expected_misfit(model, mixture, False, rng).by_chance for mixture in fits]
    return np.array([_distance(sketch, model, mixture) for mixture in fits]), np.array(by_chance), model.noise


def _distance(sketch: Sketch, model: SketchModel, mixture: Mixture) -> float:
    """Return how far a sketch is from that of a mixture, squared, through every harmonic: narrow clusters have many."""
    from qckm.decoding.held_out import Density, predict

    everything = predict(sketch.operator, Density.of(model, mixture), sketch.operator.signature.harmonics.size)
    return float(((sketch.values() - everything) ** 2).sum())


def _mixture(points: Floats, weights: Floats, spreads: Floats) -> Mixture:
    from qckm.decoding.fitting import Mixture

    no_axes = np.zeros((len(points), 0, points.shape[1]))
    return Mixture(points, weights, np.maximum(spreads**2, _LEAST_WIDTH), no_axes, np.inf)
