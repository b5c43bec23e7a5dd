"""The default decoder: task → clouds that have the sketch → the centroids that one regrets least over them.

Rows that have the sketch, with weights that reproduce it (calibration.py), are the one cloud that counts.

Where there are none, or they lack what was sketched, K Gaussians are fitted to the sketch (attempts.py), and densities
of more clusters where these do not explain it (density.py). Clouds begin at them and go where the sketch says
(ensemble.py). K-means of all of them gives the centroids, and how much these cost if one of the clouds is the truth is
what is reported: the regret (regret.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qckm.common.random import spawn
from qckm.decoding.clouds.cloud import Cloud
from qckm.decoding.clouds.ensemble import clouds_of
from qckm.decoding.task import Task, count_rows
from qckm.decoding.verdict.regret import Decision, decide, decide_by_rows
from qckm.decoding.watching import tell
from qckm.sketch import Sketch

if TYPE_CHECKING:
    from qckm.decoding.fit.clusters import Mixture
    from qckm.decoding.model.sketch_model import SketchModel
    from qckm.decoding.search.attempts import Attempt
    from qckm.decoding.search.search import Search

# A search is given up after so much work (terms of sums): half a minute or so.
PATIENCE = 2.7e9


class Gaussians(NamedTuple):
    """K Gaussians fitted to a sketch at one scale, richer densities where they do not explain it, and their model."""

    model: SketchModel
    attempt: Attempt
    densities: list[Mixture]
    n_evaluations: int


class Found(NamedTuple):
    """What was found, in which octave of a sketch at several scales, by how many evaluations, and whether by rows."""

    decision: Decision
    octave: int | None
    n_evaluations: int
    by_rows: bool


def find(task: Task) -> Found:
    """Find the centroids of least regret."""
    for_rows, for_fit, for_clouds = spawn(task.random_state, 3)
    if task.rows is not None:
        tell("weighing rows")
        cloud = Cloud.calibrated(task.sketch, task.rows.rows, task.rows.weights)
        if cloud.solution.matches(count_rows(task.sketch)):
            starts = [start for start in (task.start, task.rows.centers) if start is not None]
            return Found(decide_by_rows(task, cloud, starts, for_rows), None, 0, True)
    octave, fitted = _fit(task, for_fit)
    gaussians = fitted.attempt.own.points
    starts = [fitted.model.to_centers(gaussians)] if len(gaussians) == task.n_clusters else []
    starts += [start for start in (task.start,) if start is not None]
    clouds = clouds_of(task, fitted, for_clouds)
    by_noise = 0.0
    if task.sketch.private:
        from qckm.decoding.search.noisy_fit import redrawn_regret

        by_noise = redrawn_regret(task, octave, fitted, clouds[0], for_fit)
    return Found(decide(task, clouds, starts, for_clouds, by_noise), octave, fitted.n_evaluations, False)


def _fit(task: Task, rng: np.random.Generator) -> tuple[int | None, Gaussians]:
    if task.sketch.private and task.start is None:
        from qckm.decoding.search.noisy_fit import fit_in_noise

        return fit_in_noise(task, rng)
    return fit_at_best_scale(task, rng)


def fit_at_best_scale(task: Task, rng: np.random.Generator) -> tuple[int | None, Gaussians]:
    """Fit Gaussians to each octave of a sketch; return which octave suits the data, and those."""
    from qckm.decoding.model.mixture import Density, best_octave

    octaves = task.sketch.operator.octaves
    parts = [task.sketch.octave(j) for j in range(octaves)]
    fits = [_fit_gaussians(task, part, rng) for part in parts]
    if octaves == 1:
        return None, fits[0]
    best = [min([fit.attempt.own, *fit.densities], key=lambda mixture: mixture.misfit) for fit in fits]
    chosen = best_octave(parts, [Density.of(fit.model, mixture) for fit, mixture in zip(fits, best, strict=True)])
    return chosen, fits[chosen]


def begin_search(task: Task, sketch: Sketch, rng: np.random.Generator, far: bool = False) -> tuple[SketchModel, Search]:
    """Return the model of a sketch at one scale, and a search in it: where most rows are, or also far from there."""
    from qckm.decoding.fit.clusters import Problem  # SciPy takes its time to import
    from qckm.decoding.model.sketch_model import SketchModel
    from qckm.decoding.search.search import Search

    model = SketchModel.of(sketch, task.spread)
    problem = Problem(model.waves, model.to_points(task.lower), model.to_points(task.upper))
    furthest = model.furthest(problem.lower, problem.upper) if far else 1.0
    patience = PATIENCE * task.n_init
    return model, Search(problem, model.n_measurements, model.mean, model.deviation, rng, patience, furthest)


def _fit_gaussians(task: Task, sketch: Sketch, rng: np.random.Generator) -> Gaussians:
    """Fit K Gaussians to a sketch at one scale, and densities of more where these do not explain it."""
    from qckm.decoding.model.sketch_model import SketchModel
    from qckm.decoding.model.waves import MORE_HARMONICS
    from qckm.decoding.search.attempts import begin_at, choose_n_axes, search_from_scratch
    from qckm.decoding.search.density import fit_densities
    from qckm.decoding.search.expectation import leaves_out_much

    model, search = begin_search(task, sketch, rng, far=True)
    n_axes = choose_n_axes(search, task.n_clusters)
    if task.start is None:
        attempt = search_from_scratch(search, model, task.n_clusters, n_axes, task.n_init)
    else:
        attempt = begin_at(search, model, model.to_points(task.start), n_axes)
    width = float(attempt.equal.widths[0])
    if not attempt.explained and leaves_out_much(model, width):  # the clusters are narrow, beside their distances
        more = SketchModel.of(sketch, task.spread, MORE_HARMONICS[model.waves.step])
        closer = replace(search, problem=replace(search.problem, waves=more.waves))
        another = begin_at(closer, more, attempt.equal.points, n_axes, width)
        search.n_evaluations = closer.n_evaluations
        if another.explained:  # else narrow clusters are the model's, not the data's, and would make a poor cloud
            model, attempt = more, another
    # Densities of many clusters do with the usual harmonics: more would take several times as long.
    densities = [] if attempt.explained else fit_densities(search, task.n_clusters, n_axes)
    return Gaussians(model, attempt, densities, search.n_evaluations)
