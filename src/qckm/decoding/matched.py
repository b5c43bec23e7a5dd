"""The default decoder: k-means of a cloud that reproduces the sketch.

Rows that were kept are the cloud, where they can reproduce the sketch (calibration.py): then there is nothing to search
for. Where there are none, or they do not cover what was sketched:

1. K Gaussians are fitted to the sketch (attempts.py), through all the harmonics that their width lets through. What
   their misfit should be if they were the truth is known (expectation.py), and so is how far the means and variances of
   their columns may be from those of all rows, where the sketch has the sums of its columns (column_test.py).
2. Points are drawn from them. Where the Gaussians explain the sketch, that is the cloud. Where they nearly do, that is
   the cloud once it is weighed. Elsewhere, as on real data, points are also drawn wider, and from densities of more
   clusters (density.py), and all are raked until they reproduce the sketch (cloud.py).
3. K-means of the cloud gives the centroids.

The centroids are believed, or not, for a reason that is told:

- K Gaussians that explain the sketch are believed if that can be no accident (expectation.py, `log_odds`): the columns,
  which take no part in the fit, tell.
- Otherwise many clouds reproduce the sketch. Another one, begun from points all over the box, tells what the sketch has
  left open: the centroids are believed unless each cloud finds those of the other poor, and where the sketch has enough
  to say at all: measurements, energy above the noise, and frequencies that resolve the clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.random import spawn
from qckm.decoding.cloud import Centroids, Cloud, choose_runs, choose_size
from qckm.decoding.estimate import Estimate, estimate
from qckm.decoding.task import Task, count_rows
from qckm.decoding.watching import tell
from qckm.sketch import Sketch

if TYPE_CHECKING:
    from qckm.decoding.attempts import Attempt
    from qckm.decoding.fitting import Mixture
    from qckm.decoding.sketch_model import SketchModel

# Half of the cloud is drawn from densities, a quarter from the K Gaussians, and a quarter from Gaussians of so many
# times their variance, lest what is further away has no point to stand for it.
WIDER = 4.0
# Centroids are good if their SSE is at most this many times the best: what the experiments count as success, too. Two
# clouds disagree if for each the other's centroids are worse than its own by the square root of that, or more.
TOLERANCE = 1.2
# Points of Gaussians that nearly explain a sketch: weights that reproduce it move less than this share of the rows.
NEARLY = 0.1
# A search is given up after so much work (terms of sums): half a minute or so.
PATIENCE = 2.7e9
# Gaussians that explain a sketch are an accident at most this often: a test's level.
LEVEL = 0.03
# What K Gaussians do not explain is not told from noise or from another density by a sketch of less energy than so many
# times its sampling noise, or by frequencies of fewer radians (root mean square) from a centroid to the next.
ENOUGH_ENERGY, ENOUGH_RADIANS = 10.0, 0.5
# With hardly more measurements than unknowns, and no sums of columns to test them by, clusters that explain all are
# wrong in half of the runs, and the odds do not tell.
MORE_MEASUREMENTS = 1.15


_BY_ACCIDENT = (
    "Clusters that are elsewhere might explain the sketch as well: it has too few measurements, or too much noise."
)
_UNDECIDED = "Two different densities reproduce the sketch, and do not agree on the centroids."
_TOO_FEW = "K Gaussians do not explain the sketch, and there are too few measurements to tell what does."
_TOO_HIGH = "Hardly more than noise is left of the data at these frequencies: a larger scale may help."
_TOO_LOW = "The frequencies are too low to tell narrow clusters apart: a smaller scale may help."


@dataclass(frozen=True, eq=False)
class Found:
    """What a decode found, in data units; the mean squared distance and the misfits are as far as the sketch tells.

    Parameters
    ----------
    centroids : Centroids
    inertia : Estimate
        The mean squared distance of a row to its centroid, and the error.
    objective : float
        What the cloud leaves of the sketch, squared.
    doubts : tuple of str
        Why the centroids may be wrong.
    n_evaluations : int
    """

    centroids: Centroids
    inertia: Estimate
    objective: float
    doubts: tuple[str, ...]
    n_evaluations: int


def decode_rows(task: Task) -> Found | None:
    """Decode with rows; None where they cannot reproduce the sketch."""
    if task.rows is None:
        return None
    (rng,) = spawn(task.random_state, 1)
    tell("weighing rows")
    cloud = Cloud.calibrated(task.sketch, task.rows.rows, task.rows.weights)
    if not cloud.solution.matches(count_rows(task.sketch)):
        return None
    runs = task.n_init * choose_runs(len(cloud.points), task.lower.size, task.n_clusters, of_rows=True)
    starts = [start for start in (task.start, task.rows.centers) if start is not None]
    centroids = cloud.cluster(task.n_clusters, starts, runs, rng)
    return Found(centroids, estimate(cloud, centroids.points, rng), cloud.solution.residual, (), 0)


class Gaussians(NamedTuple):
    """K Gaussians fitted to a sketch at one scale, richer densities where they do not explain it, and their model."""

    model: SketchModel
    attempt: Attempt
    near: Cloud | None  # points of the K Gaussians, weighed, where these nearly explain the sketch
    densities: list[Mixture]
    n_evaluations: int


def fit_gaussians(task: Task, sketch: Sketch) -> Gaussians:
    """Fit K Gaussians to a sketch at one scale, and densities of more where these do not explain it."""
    from qckm.decoding.attempts import begin_at, choose_n_axes, search_from_scratch  # SciPy takes its time to import
    from qckm.decoding.density import fit_densities
    from qckm.decoding.expectation import leaves_out_much
    from qckm.decoding.fitting import Problem
    from qckm.decoding.search import Search
    from qckm.decoding.sketch_model import SketchModel
    from qckm.decoding.waves import MORE_HARMONICS

    model = SketchModel.of(sketch, task.spread)
    (rng,) = spawn(task.random_state, 1)
    problem = Problem(model.waves, model.to_points(task.lower), model.to_points(task.upper))
    furthest = model.furthest(problem.lower, problem.upper)
    search = Search(problem, model.n_measurements, model.mean, model.deviation, rng, PATIENCE * task.n_init, furthest)
    n_axes = choose_n_axes(search, task.n_clusters)
    if task.start is None:
        attempt = search_from_scratch(search, model, task.n_clusters, n_axes, task.n_init)
    else:
        attempt = begin_at(search, model, model.to_points(task.start), n_axes)
    width = float(attempt.equal.widths[0])
    if not attempt.explained and leaves_out_much(model, width):  # the clusters are narrow, beside their distances
        more = SketchModel.of(sketch, task.spread, MORE_HARMONICS[model.waves.step])
        closer = replace(search, problem=replace(problem, waves=more.waves))
        another = begin_at(closer, more, attempt.equal.points, n_axes, width)
        search.n_evaluations = closer.n_evaluations
        if another.explained:  # else narrow clusters are the model's, not the data's, and would make a poor cloud
            model, attempt = more, another
    near = None if attempt.explained else _near(task, model, attempt.own, rng)
    # Densities of many clusters do with the usual harmonics: more would take several times as long.
    densities = [] if attempt.explained or near else fit_densities(search, task.n_clusters, n_axes)
    return Gaussians(model, attempt, near, densities, search.n_evaluations)


def _near(task: Task, model: SketchModel, gaussians: Mixture, rng: np.random.Generator) -> Cloud | None:
    """Return points of Gaussians with weights that reproduce the sketch to its noise, if these hardly differ."""
    cloud = Cloud.calibrated(task.sketch, _draw(task, model, gaussians, choose_size(task.n_clusters), rng))
    moved = float(np.abs(cloud.weights - cloud.prior).sum()) / 2
    return (
        cloud if moved <= NEARLY and cloud.solution.residual <= cloud.solution.noise(count_rows(task.sketch)) else None
    )


def decode_gaussians(task: Task, fitted: Gaussians) -> Found:
    """Decode with points drawn from Gaussians, which were fitted to the sketch or to one octave of it."""
    (rng,) = spawn(task.random_state, 1)
    starts = [fitted.model.to_centers(fitted.attempt.own.points), *([] if task.start is None else [task.start])]
    if fitted.attempt.explained:
        return _cluster_gaussians(task, fitted, starts, rng)
    return (
        _cluster_near(task, fitted, fitted.near, starts, rng)
        if fitted.near
        else _cluster_raked(task, fitted, starts, rng)
    )


def _cluster_gaussians(task: Task, fitted: Gaussians, starts: list[Floats], rng: np.random.Generator) -> Found:
    """Cluster points of Gaussians that explain the sketch: nothing is left to weigh the points by."""
    from qckm.decoding.expectation import inertia_error, log_odds

    model, attempt = fitted.model, fitted.attempt
    cloud = Cloud.of_columns(task.sketch, _draw(task, model, attempt.own, choose_size(task.n_clusters), rng))
    runs = choose_runs(len(cloud.points), task.lower.size, task.n_clusters, of_rows=False)
    centroids = cloud.cluster(task.n_clusters, starts, runs * task.n_init, rng)
    distances = cloud.nearest(centroids.points)[1]
    mean = float(cloud.weights @ distances)
    error = inertia_error(model, attempt.own, model.to_points(centroids.points), rng)
    error = float(np.hypot(error, distances.std() / np.sqrt(len(distances))))
    judged = attempt.equal if attempt.equal_will_do else attempt.own
    odds = log_odds(model, judged, attempt.equal_will_do) + attempt.log_odds
    doubts = [_BY_ACCIDENT] if odds < -np.log(LEVEL) else []
    if model.column_means is None and model.n_measurements < MORE_MEASUREMENTS * (
        task.n_clusters * (task.lower.size + 1) + 1
    ):
        doubts.append(_TOO_FEW)
    return Found(centroids, Estimate(mean, error), attempt.own.misfit, tuple(doubts), fitted.n_evaluations)


def _cluster_near(task: Task, fitted: Gaussians, cloud: Cloud, starts: list[Floats], rng: np.random.Generator) -> Found:
    """Cluster points of Gaussians that nearly explain the sketch, with the weights that do."""
    from qckm.decoding.expectation import inertia_error

    runs = choose_runs(len(cloud.points), task.lower.size, task.n_clusters, of_rows=False)
    centroids = cloud.cluster(task.n_clusters, starts, runs * task.n_init, rng)
    distances = cloud.nearest(centroids.points)[1]
    mean = float(cloud.weights @ distances)
    error = inertia_error(fitted.model, fitted.attempt.own, fitted.model.to_points(centroids.points), rng)
    error = float(np.hypot(error, mean - cloud.prior @ distances))
    doubts = _too_little_told(task, fitted.model, centroids)
    return Found(centroids, Estimate(mean, error), cloud.solution.residual, doubts, fitted.n_evaluations)


def _too_little_told(task: Task, model: SketchModel, centroids: Centroids) -> tuple[str, ...]:
    """Return why a sketch that K Gaussians do not explain says too little."""
    from qckm.decoding.attempts import has_enough

    K, n = centroids.points.shape
    doubts = []
    if not has_enough(model.n_measurements, K * (n + 1) + 1):
        doubts.append(_TOO_FEW)
    if model.energy() < ENOUGH_ENERGY * model.noise:
        doubts.append(_TOO_HIGH)
    if _spacing(centroids.points / task.sketch.operator.units) < ENOUGH_RADIANS * model.spread * np.sqrt(n):
        doubts.append(_TOO_LOW)
    return tuple(doubts)


def _cluster_raked(task: Task, fitted: Gaussians, starts: list[Floats], rng: np.random.Generator) -> Found:
    """Cluster points of several densities, and rows where there are any, raked until they reproduce the sketch."""
    model, gaussians, densities = fitted.model, fitted.attempt.own, fitted.densities
    K, n = task.n_clusters, task.lower.size
    count = choose_size(K)
    half = count // 2
    wider = gaussians._replace(widths=WIDER * gaussians.widths)

    def raked(*parts: Floats) -> Cloud:
        points = np.concatenate(parts)
        return Cloud.raked(task.sketch, points, task.lower, task.upper, model.length, rng)

    def drawn(mixture: Mixture, size: int) -> Floats:
        return _draw(task, model, mixture, size, rng)

    rows = [] if task.rows is None else [task.rows.rows]
    richer = [drawn(density, half // len(densities)) for density in densities]
    cloud = raked(*rows, drawn(gaussians, half // 2), drawn(wider, half // 2), *richer)
    other = raked(_anywhere(task, model, half, rng), drawn(wider, half))
    runs = choose_runs(count, n, K, of_rows=False)
    centroids = cloud.cluster(K, starts, runs * task.n_init, rng)
    others = other.cluster(K, starts, runs, rng)
    mean, of_other = cloud.inertia(centroids.points), other.inertia(others.points)
    doubts, worse = _too_little_told(task, model, centroids), np.sqrt(TOLERANCE)
    if cloud.inertia(others.points) > worse * mean and other.inertia(centroids.points) > worse * of_other:
        doubts = (_UNDECIDED, *doubts)
    # What the sketch leaves open, clouds differ by that were begun unlike: at densities, at K Gaussians, and anywhere.
    narrow = Cloud.calibrated(task.sketch, drawn(gaussians, count))
    found = Estimate(mean, float(np.ptp([mean, of_other, narrow.inertia(centroids.points)])) / 2)
    return Found(centroids, found, cloud.solution.residual, doubts, fitted.n_evaluations)


def _spacing(places: Floats) -> float:
    """Return the distance from a typical one of some places (K, n) to the next, the median."""
    if len(places) < 2:
        return np.inf
    squares = ((places[:, np.newaxis] - places) ** 2).sum(axis=2)
    squares[np.diag_indices_from(squares)] = np.inf
    return float(np.median(np.sqrt(squares.min(axis=1))))


def _draw(task: Task, model: SketchModel, mixture: Mixture, size: int, rng: np.random.Generator) -> Floats:
    """Draw points (size, n) of a mixture, in data units and within the box."""
    return np.clip(model.to_centers(mixture.draw(size, rng)), task.lower, task.upper)


def _anywhere(task: Task, model: SketchModel, count: int, rng: np.random.Generator) -> Floats:
    """Draw points around the middle of the data, at distances from their deviation to the ends of the box."""
    lower, upper = model.to_points(task.lower), model.to_points(task.upper)
    reach = np.maximum(upper - model.mean, model.mean - lower)
    furthest = np.max(reach[model.deviation > 0] / model.deviation[model.deviation > 0], initial=1.0)
    drawn = model.deviation * rng.standard_normal((count, model.mean.size)) * furthest ** rng.random((count, 1))
    return np.clip(model.to_centers(model.mean + drawn), task.lower, task.upper)
