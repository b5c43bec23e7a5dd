"""Decoding a private sketch, to which noise of a known variance was added.

A wrong mixture may leave no more of a noisy sketch than chance lets a right one leave. So the first search that is
within chance is not the last: there are several, until two agree, and each goes on down to what should be left on
average. Of a sketch at several scales, clusters are searched for in one octave and then fitted to all of them, as each
has but its share of what is known.

Whether the sketch settles the centroids is seen from sketches drawn anew: what was found, measured again, with fresh
noise. Centroids found in those should be as good.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.random import spawn
from qckm.decoding.attempts import Attempt, choose_n_axes, finish
from qckm.decoding.calibration import Solution
from qckm.decoding.cloud import Centroids, Cloud, choose_runs, choose_size
from qckm.decoding.density import fit_densities
from qckm.decoding.estimate import Estimate
from qckm.decoding.expectation import Expectation, expected_misfit
from qckm.decoding.fitting import Mixture, Problem
from qckm.decoding.held_out import Density, best_octave, predict
from qckm.decoding.matched import TOLERANCE, Found, Gaussians, decode_gaussians
from qckm.decoding.search import Search
from qckm.decoding.sketch_model import SketchModel
from qckm.decoding.task import Task
from qckm.sketch import Sketch

# Searches at most.
_SEARCHES = 5
# Two searches agree if their misfits differ by less than this share of what chance lets them differ by.
_ALIKE = 0.5
# Sketches drawn anew.
_REDRAWN = 2
# A search is given up after so much work, as where there is no noise (matched.py).
_PATIENCE = 2.7e9


class Fit(NamedTuple):
    """K clusters fitted to a sketch, the octave they were found in, and whether they explain it and its neighbours."""

    model: SketchModel
    attempt: Attempt
    octave: int | None
    explained: bool


def decode_private(task: Task) -> tuple[Found, int | None]:
    """Decode a private sketch alone; return what was found, and in which octave."""
    (rng,) = spawn(task.random_state, 1)
    fit, n_evaluations = _fit(task, rng)
    if fit.explained:
        found = _decode_explained(task, fit, n_evaluations, rng)
    else:
        model, search = _start(task, _part(task.sketch, fit.octave), rng)
        densities = fit_densities(search, task.n_clusters, choose_n_axes(search, task.n_clusters))
        fitted = Gaussians(model, fit.attempt, densities, n_evaluations + search.n_evaluations)
        found = decode_gaussians(task, _in_model(fitted, fit.model))
    if not found.doubts and not _settles(task, fit, rng):
        found = replace(found, doubts=("With other noise of the same size, other centroids would have been found.",))
    return found, fit.octave


def _fit(task: Task, rng: np.random.Generator, octave: int | None = None) -> tuple[Fit, int]:
    """Fit K clusters: in an octave, the best unless it is known, and then to that and its neighbours."""
    octaves = task.sketch.operator.octaves
    if octaves == 1:
        model, search = _start(task, task.sketch, rng)
        attempt = search_in_noise(search, model, task.n_clusters, task.n_init)
        return Fit(model, attempt, None, attempt.explained), search.n_evaluations
    n_evaluations = 0
    if octave is None:
        parts, densities = [_part(task.sketch, j) for j in range(octaves)], []
        for part in parts:
            model, search = _start(task, part, rng)
            densities.append(Density.of(model, search.fit(_once(search, task.n_clusters), 200, "own")))
            n_evaluations += search.n_evaluations
        octave = best_octave(parts, densities)
    narrow, search = _start(task, _part(task.sketch, octave), rng)
    attempt = search_in_noise(search, narrow, task.n_clusters, task.n_init)
    n_evaluations += search.n_evaluations
    wide, search = _start(task, _around(task.sketch, octave), rng)
    start = _moved(attempt.equal, narrow, wide)
    goal = expected_misfit(wide, start, True, rng).goal
    attempt = finish(search, wide, start, choose_n_axes(search, task.n_clusters), goal)
    return Fit(wide, attempt, octave, attempt.explained), n_evaluations + search.n_evaluations


def search_in_noise(search: Search, model: SketchModel, n_clusters: int, n_init: int) -> Attempt:
    """Return the best of some searches, each of which goes on until it leaves what should be left on average."""
    misfits: list[float] = []
    best: Mixture | None = None
    expected = Expectation(0.0, 0.0, 0.0)
    while len(misfits) < _SEARCHES * n_init and search.work < search.patience:
        start = _once(search, n_clusters)
        if best is None:
            expected = expected_misfit(model, start, True, search.rng)
        found = search.swap(start, max(expected.mean, expected.slight))
        misfits.append(found.misfit)
        best = found if best is None or found.misfit < best.misfit else best
        close = np.asarray(misfits) <= best.misfit + _ALIKE * expected.deviation
        if close.sum() >= 2 * n_init:
            break
    assert best is not None
    return finish(search, model, best, choose_n_axes(search, n_clusters), expected.goal)


def _once(search: Search, n_clusters: int) -> Mixture:
    """Search once: grow beyond K clusters of one width, prune to K."""
    grown = search.grow(search.alone("shared"), 2 * n_clusters)
    return search.fit(search.prune(grown, n_clusters), 200)


def _start(task: Task, sketch: Sketch, rng: np.random.Generator) -> tuple[SketchModel, Search]:
    model = SketchModel.of(sketch, task.spread)
    problem = Problem(model.waves, model.to_points(task.lower), model.to_points(task.upper))
    patience = _PATIENCE * task.n_init
    return model, Search(problem, model.n_measurements, model.mean, model.deviation, rng, patience)


def _part(sketch: Sketch, octave: int | None) -> Sketch:
    return sketch if octave is None else sketch.octave(octave)


def _around(sketch: Sketch, octave: int) -> Sketch:
    """Return the sketch of an octave and those beside it: further away, frequencies are too low or too high to tell."""
    octaves, m = sketch.operator.octaves, sketch.operator.n_frequencies // sketch.operator.octaves
    here = slice(max(octave - 1, 0) * m, min(octave + 2, octaves) * m)
    codes = sketch.operator.frequency_codes
    assert isinstance(codes, np.ndarray)
    operator = replace(
        sketch.operator,
        frequency_codes=np.ascontiguousarray(codes[:, here]),
        dither_codes=sketch.operator.dither_codes[here].copy(),
    )
    return replace(sketch, operator=operator, total=sketch.total.reshape(-1, octaves * m)[:, here].ravel())


def _moved(mixture: Mixture, here: SketchModel, there: SketchModel) -> Mixture:
    """Return a mixture in another model's coordinates."""
    ratio = here.spread / there.spread
    points = there.to_points(here.to_centers(mixture.points))
    return mixture._replace(points=points, widths=mixture.widths * ratio**2, axes=mixture.axes * ratio)


def _in_model(fitted: Gaussians, model: SketchModel) -> Gaussians:
    """Return what was fitted to an octave, except the attempt, which is of the whole sketch, in the latter's model."""
    moved = [_moved(density, fitted.model, model) for density in fitted.densities]
    return fitted._replace(model=model, densities=moved)


def _decode_explained(task: Task, fit: Fit, n_evaluations: int, rng: np.random.Generator) -> Found:
    """Cluster points of Gaussians that explain the sketch: it has nothing left to weigh them by."""
    points, centroids = _cluster(
        task, fit, choose_runs(choose_size(task.n_clusters), task.lower.size, task.n_clusters, False), rng
    )
    cloud = _alike(task, points)
    mean = cloud.inertia(centroids.points)
    return Found(centroids, Estimate(mean, 0.0), fit.attempt.own.misfit, (), n_evaluations)


def _cluster(task: Task, fit: Fit, n_runs: int, rng: np.random.Generator) -> tuple[Floats, Centroids]:
    gaussians = fit.attempt.own
    drawn = fit.model.to_centers(gaussians.draw(choose_size(task.n_clusters), rng))
    points = np.clip(drawn, task.lower, task.upper)
    starts = [fit.model.to_centers(gaussians.points)]
    return points, _alike(task, points).cluster(task.n_clusters, starts, n_runs * task.n_init, rng)


def _alike(task: Task, points: Floats) -> Cloud:
    shares = np.full(len(points), 1 / len(points))
    return Cloud(task.sketch, points, shares, Solution(shares, np.empty(0), 0.0, float(len(points))))


def _settles(task: Task, fit: Fit, rng: np.random.Generator) -> bool:
    """Return whether what is found in sketches like this one, with noise drawn anew, is about as good."""
    clean = predict(task.sketch.operator, Density.of(fit.model, fit.attempt.own))
    points, own = _cluster(task, fit, 0, rng)
    cloud = _alike(task, points)
    least = cloud.inertia(own.points)
    for _ in range(_REDRAWN):
        again = replace(task, sketch=_redrawn(task.sketch, clean, rng))
        other, _ = _fit(again, rng, fit.octave)
        if cloud.inertia(_cluster(again, other, 0, rng)[1].points) > TOLERANCE**0.5 * least:
            return False
    return True


def _redrawn(sketch: Sketch, clean: Floats, rng: np.random.Generator) -> Sketch:
    """Return the sketch of as many other rows like these, with noise of its own."""
    scale = sketch.operator.signature.full_scale * sketch.count
    variance = sketch.sampling_noise() / sketch.operator.n_measurements
    z = clean + np.sqrt(variance) * rng.standard_normal(clean.size)
    return replace(sketch, total=np.rint(z * scale).astype(np.int64))
