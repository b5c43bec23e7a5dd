"""The default decoder: k-means of a cloud that reproduces the sketch.

Rows that were kept are the cloud, where they can reproduce the sketch (calibration.py): then there is nothing to search
for. Where there are none, or they do not cover what was sketched:

1. K Gaussians are fitted to the sketch (attempts.py), through all the harmonics that their width lets through. What
   their misfit should be if they were the truth is known (expectation.py).
2. Points are drawn from them. Where the Gaussians explain the sketch, that is the cloud. Where they do not, as on real
   data, points are also drawn wider, and from densities of more clusters (density.py), and all are raked until they
   reproduce the sketch (cloud.py).
3. K-means of the cloud gives the centroids.

Many clouds reproduce a sketch. Another one, begun from points all over the box, tells what the sketch has left open:
the centroids are believed unless each cloud finds those of the other poor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.random import spawn
from qckm.decoding.cloud import Centroids, Cloud, choose_runs, choose_size
from qckm.decoding.estimate import Estimate, estimate
from qckm.decoding.task import Task, count_rows
from qckm.sketch import Sketch

if TYPE_CHECKING:
    from qckm.decoding.attempts import Attempt
    from qckm.decoding.fitting import Mixture
    from qckm.decoding.sketch_model import SketchModel

# A quarter of the points is drawn from clusters this many times as wide, squared.
_WIDER = 4.0
# Centroids are good if their SSE is at most this many times the best: what the experiments count as success, too. Two
# clouds disagree if for each the other's centroids are worse than its own by the square root of that, or more.
TOLERANCE = 1.2
# A search is given up after so much work (terms of sums): half a minute or so. From a start that is near, earlier.
_PATIENCE, _SEEDED = 2.7e9, 0.4e9
# With fewer measurements an unknown than this, wrong clusters explain a sketch as well as the right ones.
_MORE_THAN = 1.15
# Fewer measurements an unknown than this are few: then different clouds agree on what is wrong.
_ENOUGH = 4
# With more, a misfit up to this many times what it should be has almost all clusters in place: k-means could not tell.
_NEARLY = 2.5
# Of a sketch of less energy than this times its sampling noise, noise is more than a tenth: wrong clusters explain the
# rest within chance.
_AUDIBLE = 10.0


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
    converged : bool
    n_evaluations : int
    """

    centroids: Centroids
    inertia: Estimate
    objective: float
    converged: bool
    n_evaluations: int


def decode_rows(task: Task) -> Found | None:
    """Decode with rows; None where they cannot reproduce the sketch."""
    if task.rows is None:
        return None
    (rng,) = spawn(task.random_state, 1)
    cloud = Cloud.calibrated(task.sketch, task.rows.rows, task.rows.weights)
    if not cloud.solution.matches(count_rows(task.sketch)):
        return None
    runs = task.n_init * choose_runs(len(cloud.points), task.lower.size, task.n_clusters, of_rows=True)
    starts = [start for start in (task.start, task.rows.centers) if start is not None]
    centroids = cloud.cluster(task.n_clusters, starts, runs, rng)
    return Found(centroids, estimate(cloud, centroids.points, rng), cloud.solution.residual, True, 0)


class Gaussians(NamedTuple):
    """K Gaussians fitted to a sketch at one scale, richer densities where they do not explain it, and their model."""

    model: SketchModel
    attempt: Attempt
    densities: list[Mixture]
    explained: bool
    n_evaluations: int


def fit_gaussians(task: Task, sketch: Sketch) -> Gaussians:
    """Fit K Gaussians to a sketch at one scale, and densities of more where these do not explain it."""
    from qckm.decoding.attempts import begin_at, choose_n_axes, search_from_scratch  # SciPy takes its time to import
    from qckm.decoding.density import fit_densities
    from qckm.decoding.fitting import Problem
    from qckm.decoding.search import Search
    from qckm.decoding.sketch_model import SketchModel

    model = SketchModel.of(sketch, task.spread)
    (rng,) = spawn(task.random_state, 1)
    problem = Problem(model.waves, model.to_points(task.lower), model.to_points(task.upper))
    patience = (_PATIENCE if task.start is None else _SEEDED) * task.n_init
    search = Search(problem, model.n_measurements, model.mean, model.deviation, rng, patience)
    n_axes, unknowns = choose_n_axes(search, task.n_clusters), search.unknowns(task.n_clusters)
    enough = model.n_measurements >= _ENOUGH * unknowns
    if task.start is None:
        few = not enough and model.n_measurements > unknowns
        attempt = search_from_scratch(search, model, task.n_clusters, n_axes, few, task.n_init)
    else:
        attempt = begin_at(search, model, model.to_points(task.start), n_axes)
    explained = attempt.explained or (enough and attempt.equal.misfit <= _NEARLY * attempt.goal)
    densities = [] if explained else fit_densities(search, task.n_clusters, n_axes)
    return Gaussians(model, attempt, densities, explained, search.n_evaluations)


def decode_gaussians(task: Task, fitted: Gaussians) -> Found:
    """Decode with points drawn from Gaussians, which were fitted to the sketch or to one octave of it."""
    (rng,) = spawn(task.random_state, 1)
    model, attempt, densities, explained, n_evaluations = fitted
    K, n = task.n_clusters, task.lower.size
    per_unknown = model.n_measurements / (K * (n + 1) + 1)
    count, gaussians = choose_size(K), attempt.own

    def drawn(mixture: Mixture, size: int) -> Floats:
        return np.clip(model.to_centers(mixture.draw(size, rng)), task.lower, task.upper)

    def raked(*parts: Floats) -> Cloud:
        points = np.concatenate(parts)
        return Cloud.raked(task.sketch, points, task.lower, task.upper, model.length, rng)

    wider = gaussians._replace(widths=_WIDER * gaussians.widths)
    narrow = Cloud.calibrated(task.sketch, drawn(gaussians, count))
    cloud = narrow
    if not explained:
        rows = [] if task.rows is None else [task.rows.rows]
        richer = [drawn(density, count // (2 * len(densities))) for density in densities]
        cloud = raked(*rows, narrow.points[: count // 4], drawn(wider, count // 4), *richer)
    other = raked(_anywhere(task, model, count // 2, rng), drawn(wider, count // 2))
    starts = [model.to_centers(gaussians.points), *([] if task.start is None else [task.start])]
    runs = choose_runs(count, n, K, of_rows=False)
    centroids = cloud.cluster(K, starts, runs * task.n_init, rng)
    others = other.cluster(K, starts, runs, rng)
    mean, of_other = cloud.inertia(centroids.points), other.inertia(others.points)
    # What the sketch leaves open, the clouds differ by.
    error = abs(of_other - narrow.inertia(centroids.points)) / 2
    worse = TOLERANCE**0.5
    agreed = cloud.inertia(others.points) <= worse * mean or other.inertia(centroids.points) <= worse * of_other
    audible = model.energy() > _AUDIBLE * max(model.noise, 1e-9)
    return Found(
        centroids,
        Estimate(mean, error),
        cloud.solution.residual,
        audible and ((explained and per_unknown >= _MORE_THAN) or (agreed and per_unknown >= _ENOUGH)),
        n_evaluations,
    )


def _anywhere(task: Task, model: SketchModel, count: int, rng: np.random.Generator) -> Floats:
    """Draw points around the middle of the data, at distances from their deviation to the ends of the box."""
    lower, upper = model.to_points(task.lower), model.to_points(task.upper)
    reach = np.maximum(upper - model.mean, model.mean - lower)
    furthest = np.max(reach[model.deviation > 0] / model.deviation[model.deviation > 0], initial=1.0)
    drawn = model.deviation * rng.standard_normal((count, model.mean.size)) * furthest ** rng.random((count, 1))
    return np.clip(model.to_centers(model.mean + drawn), task.lower, task.upper)
