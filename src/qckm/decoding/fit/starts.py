"""Where a fit of Gaussian clusters begins. Each start has data that another fails on; the least misfit is kept.

- One cluster for all, of which one after another is split in two: from the sketch alone, for clusters that overlap or
  that are in many columns.
- The centroids that k-means decoding finds (kmeans.py): for clusters that are far apart, in few columns.
- Points drawn around these centroids, weighted so that they reproduce the sketch: EM, again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.clouds.cloud import Cloud
from qckm.decoding.fit.em import Mixture, race
from qckm.decoding.fit.gaussians import Fit, Gaussians, Problem
from qckm.decoding.targets.clustering import Clustering
from qckm.decoding.targets.kmeans import decode_hinted
from qckm.errors import PoorFitWarning, RemarkWarning
from qckm.planning.pilot import Pilot
from qckm.sketch import Sketch

# Points that are drawn around centroids.
_POINTS = 10_000
# Of clusters whose width is not known, as decoders that model points do not, in scales.
_WIDTH = 0.1
# Steps that a fit takes after a split, before the best of the splits is chosen.
_STEPS_OF_A_SPLIT = 30
# One cluster for all has its deviation among these shares of the box.
_SHARES_OF_BOX = tuple(0.25 / 2**j for j in range(7))
# A cluster that is split moves so many deviations either way, and is left so much of its variance in that direction.
_MOVE, _VARIANCE_LEFT = 0.8, 0.25
# In fewer columns, clusters are mostly many scales apart, and one cluster for all of them is hardly seen.
_FEW_COLUMNS = 4


def starts(
    problem: Problem, kind: str, hints: Pilot | None, n_init: int, rng: np.random.Generator
) -> Iterator[Gaussians]:
    """Yield starts from the sketch alone, those that are most likely to be right, and quick, first."""
    seed = int(rng.integers(2**31))
    if problem.n_clusters == 1:
        yield one_for_all(problem).gaussians
        return
    if problem.measured.n_features >= _FEW_COLUMNS:
        yield split_up(problem, rng)
    decoded = _decoded(problem, hints, n_init, seed)
    yield _round_clusters(problem, decoded)
    cloud = Cloud.calibrated(problem.measured.sketch, draw_around(problem.measured.sketch, decoded, rng))
    yield as_gaussians(problem, race(cloud.points, cloud.weights, problem.n_clusters, kind, n_init, rng))
    if problem.measured.n_features < _FEW_COLUMNS:
        yield split_up(problem, rng)


def as_gaussians(problem: Problem, mixture: Mixture) -> Gaussians:
    """Return a mixture in data units in a fit's coordinates."""
    length = problem.measured.length
    entries = problem.shape.entries(mixture.covariances / np.multiply.outer(length, length))
    return Gaussians(mixture.weights, problem.measured.to_points(mixture.means), entries)


def one_for_all(problem: Problem) -> Fit:
    """Fit one cluster to the sketch, from the best of some starts."""
    single = replace(problem, n_clusters=1)
    lower, upper = map(problem.measured.to_points, problem.measured.sketch.coded_bounds)
    middles = ((lower + upper) / 2, np.clip(np.zeros_like(lower), lower, upper))
    tries = [
        Gaussians(
            np.ones(1), middle[np.newaxis], problem.shape.entries(np.diag((share * (upper - lower)) ** 2)[np.newaxis])
        )
        for middle in middles
        for share in _SHARES_OF_BOX
    ]
    tries.sort(key=lambda one: float((single.residual(one)[0] ** 2).sum()))
    return min((single.fit(one) for one in tries[:2]), key=lambda fit: fit.misfit)


def split_up(problem: Problem, rng: np.random.Generator) -> Gaussians:
    """Split one cluster for all until there are K: each time the one whose halves leave the least misfit."""
    found = one_for_all(problem).gaussians
    for size in range(2, problem.n_clusters + 1):
        larger = replace(problem, n_clusters=size)
        halved = [larger.fit(_split(larger, found, k, rng), _STEPS_OF_A_SPLIT) for k in range(size - 1)]
        found = min(halved, key=lambda fit: fit.misfit).gaussians
    return found


def _split(problem: Problem, whole: Gaussians, k: int, rng: np.random.Generator) -> Gaussians:
    """Split cluster k along its longest axis; a round one, along any."""
    covariances = problem.shape.covariances(whole.entries)
    values, vectors = np.linalg.eigh(covariances[k])
    direction = vectors[:, -1]
    if values[0] > (1 - 1e-9) * values[-1]:
        direction = rng.standard_normal(len(values))
        direction /= np.linalg.norm(direction)
    axis = direction * np.sqrt(direction @ covariances[k] @ direction)
    half = covariances[k] - (1 - _VARIANCE_LEFT) * np.outer(axis, axis)
    weights = np.append(whole.weights, whole.weights[k] / 2)
    means = np.concatenate([whole.means, [whole.means[k] - _MOVE * axis]])
    both = np.concatenate([covariances, [half]])
    weights[k], means[k], both[k] = weights[-1], whole.means[k] + _MOVE * axis, half
    return Gaussians(weights, means, problem.shape.entries(both))


def _decoded(problem: Problem, hints: Pilot | None, n_init: int, seed: int) -> Clustering:
    told = None if hints is None else hints.without_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RemarkWarning)
        warnings.simplefilter("ignore", PoorFitWarning)  # it is a start, and is judged as one
        return decode_hinted(
            problem.measured.sketch,
            problem.n_clusters,
            told,
            "auto" if told else "sketch",
            n_init=n_init,
            random_state=seed,
        )


def _round_clusters(problem: Problem, decoded: Clustering) -> Gaussians:
    variances = (decoded.spreads[:, np.newaxis] * problem.measured.sketch.operator.units / problem.measured.length) ** 2
    covariances = variances[:, np.newaxis] * np.eye(problem.measured.n_features)
    return Gaussians(decoded.weights, problem.measured.to_points(decoded.centers), problem.shape.entries(covariances))


def resolution(sketch: Sketch) -> Floats:
    """Return the length (n,) that the frequencies resolve, in data units: a scale."""
    squares = (sketch.operator.frequencies.T * sketch.operator.units) ** 2
    length: Floats = sketch.operator.units / np.sqrt(squares.mean())
    return length


def draw_around(sketch: Sketch, decoded: Clustering, rng: np.random.Generator) -> Floats:
    """Draw points around centroids, half of them twice as wide, within the box."""
    which = rng.choice(len(decoded.weights), size=_POINTS, p=decoded.weights)
    wider = np.where(np.arange(_POINTS) % 2, 1.0, 2.0)
    spreads = decoded.spreads[:, np.newaxis]
    widths = np.where(spreads > 0, spreads * sketch.operator.units, _WIDTH * resolution(sketch))
    reach = wider[:, np.newaxis] * widths[which]
    points = decoded.centers[which] + reach * rng.standard_normal(reach.shape)
    return np.clip(points, *sketch.coded_bounds)
