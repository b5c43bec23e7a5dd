"""K Gaussians fitted to a sketch at the scale that suits the data: of several octaves, that which predicts best.

Each octave is searched once, alone. What is found there predicts the measurements of the others, of which the fit has
seen nothing. One that is too fine has little but noise to fit, and is wrong about the coarse octaves; one that is too
coarse takes neighbours for one cluster, and is wrong about the fine ones. Were an octave judged by the others only, the
one that is hardest to predict would gain by not having to; so its own measurements count too, with the error that they
would have had if they had not been fitted, as far as that is known (generalised cross-validation).

Errors count by their energy distance (Székely), ∫ |φ(ω) − ψ(ω)|² / ‖ω‖ⁿ⁺¹ dω for the characteristic functions of data
and density: along every direction an octave counts half of the octave below. That is a distance of distributions that
no scale is built into, and as k-means does, it minds rows in the wrong place by how far they are from the right one.

Clusters are searched for in the octave that was chosen, and then fitted to that and its neighbours, as each has but its
share of what is known. So are densities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.model.loops import MORE_HARMONICS
from qckm.decoding.model.mixture import Density, Mixture, Problem, predict
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.search.attempts import Attempt, begin_at, finish_in_noise, search_from_scratch, search_in_noise
from qckm.decoding.search.expectation import leaves_out_much
from qckm.decoding.search.search import ONCE, Search, fit_densities
from qckm.decoding.task import Task
from qckm.decoding.watching import was_cut
from qckm.operator.codes import Codes
from qckm.sketch import Sketch

# A search is given up after so much work (terms of sums): half a minute or so.
PATIENCE = 2.7e9
# A fit with hardly fewer unknowns than measurements: nobody knows its error, but it is some times that of the fit.
_LEAST_FREEDOM = 0.2


class Fitted(NamedTuple):
    """K Gaussians fitted to a sketch, richer densities where they do not explain it, their model and their octave."""

    model: SketchModel
    attempt: Attempt
    densities: list[Mixture]
    octave: int | None
    n_evaluations: int


def fit_at_best_scale(task: Task, rng: np.random.Generator) -> Fitted:
    """Fit K Gaussians to a sketch, in the octave that suits the data, and densities of more where these miss much."""
    octave = choose_octave(task, rng)
    search, attempt = _fit(task, octave, rng)
    if task.sketch.private and attempt.explained and not was_cut():
        # Other clusters may leave no more of it than noise, either.
        search, attempt = _fit_in_noise(task, octave, rng, search.n_evaluations)
    densities = [] if attempt.explained else fit_densities(search)
    return Fitted(search.model, attempt, densities, octave, search.n_evaluations)


def choose_octave(task: Task, rng: np.random.Generator) -> int | None:
    """Choose the octave whose clusters predict all of them best; there is none to choose in a sketch at one scale."""
    octaves = task.sketch.operator.octaves
    if octaves == 1:
        return None
    parts, densities = [task.sketch.octave(j) for j in range(octaves)], []
    for part in parts:
        search = begin_search(task, part, rng)
        densities.append(Density.of(search.model, search.fit(search.once(), ONCE, "own")))
    return best_octave(parts, densities)


def best_octave(parts: Sequence[Sketch], densities: Sequence[Density]) -> int:
    """Return which of the sketches of octaves, the coarsest first, has the density that predicts all of them best."""
    errors = np.array(
        [[((part.values() - predict(part.operator, density)) ** 2).mean() for part in parts] for density in densities]
    )
    return int(scores(errors, [density.unknowns / parts[0].operator.n_measurements for density in densities]).argmin())


def scores(errors: Floats, fitted: Sequence[float]) -> Floats:
    """Return how badly each octave predicts, from mean squared errors (from, to) and its unknowns a measurement."""
    freedom = np.maximum(1 - np.asarray(fitted), _LEAST_FREEDOM)
    honest = errors * np.where(np.eye(len(errors)) == 1, freedom[:, np.newaxis] ** -2, 1.0)
    total: Floats = honest @ 0.5 ** np.arange(len(errors))
    return total


def begin_search(task: Task, sketch: Sketch, rng: np.random.Generator) -> Search:
    """Return a search in the model of a sketch at one scale, also far from where most rows are.

    A private sketch tells how far rows may be, not how far they are.
    """
    model = SketchModel.of(sketch, task.spread)
    problem = Problem(model.waves, model.to_points(task.lower), model.to_points(task.upper))
    furthest = model.furthest(problem.lower, problem.upper)
    # The largest of N Gaussian numbers is about √(2 ln N) deviations from their mean.
    if sketch.private or furthest**2 <= 2 * np.log(max(model.count, 2)):
        furthest = 1.0
    return Search(model, problem, task.n_clusters, rng, PATIENCE * task.n_init, furthest)


def part_of(sketch: Sketch, octave: int | None) -> Sketch:
    """Return an octave of a sketch, or the sketch."""
    return sketch if octave is None else sketch.octave(octave)


def widened(task: Task, octave: int, search: Search, found: Sequence[Mixture]) -> tuple[Search, list[Mixture]]:
    """Return a search in an octave and those beside it, and mixtures of the octave in its coordinates.

    Further away, frequencies are too low or too high to tell.
    """
    wide = begin_search(task, _around(task.sketch, octave), search.rng)
    wide.n_evaluations = search.n_evaluations
    return wide, [moved(mixture, search.model, wide.model) for mixture in found]


def moved(mixture: Mixture, here: SketchModel, there: SketchModel) -> Mixture:
    """Return a mixture in another model's coordinates."""
    ratio = here.spread / there.spread
    points = there.to_points(here.to_centers(mixture.points))
    return mixture._replace(points=points, widths=mixture.widths * ratio**2, axes=mixture.axes * ratio)


def _around(sketch: Sketch, octave: int) -> Sketch:
    """Return the sketch of an octave and those beside it."""
    octaves, m = sketch.operator.octaves, sketch.operator.n_frequencies // sketch.operator.octaves
    first, stop = max(octave - 1, 0), min(octave + 2, octaves)
    here = slice(first * m, stop * m)
    codes = sketch.operator.frequency_codes
    assert isinstance(codes, np.ndarray)
    part = Codes(np.ascontiguousarray(codes[:, here]), sketch.operator.dither_codes[here].copy(), stop - first)
    operator = replace(sketch.operator, codes=part)
    return replace(sketch, operator=operator, total=sketch.total.reshape(-1, octaves * m)[:, here].ravel())


def _fit(task: Task, octave: int | None, rng: np.random.Generator) -> tuple[Search, Attempt]:
    """Fit K Gaussians to a sketch, in an octave first."""
    part = part_of(task.sketch, octave)
    search, attempt = _fit_gaussians(task, part, begin_search(task, part, rng))
    if octave is not None:
        search, (begun,) = widened(task, octave, search, [attempt.one_width])
        attempt = begin_at(search, begun.points, float(begun.widths[0]))
    return search, attempt


def _fit_in_noise(
    task: Task, octave: int | None, rng: np.random.Generator, n_evaluations: int
) -> tuple[Search, Attempt]:
    """Fit the clusters that are more than noise, of many searches the best, in an octave first."""
    search = begin_search(task, part_of(task.sketch, octave), rng)
    search.n_evaluations = n_evaluations
    found: Sequence[Mixture] = search_in_noise(search, task.n_init, task.start)
    if octave is not None:
        search, found = widened(task, octave, search, found)
    attempt = finish_in_noise(search, found)
    search.work = 0.0  # the patience of densities is their own
    return search, attempt


def _fit_gaussians(task: Task, sketch: Sketch, search: Search) -> tuple[Search, Attempt]:
    """Fit K Gaussians to a sketch at one scale, in the model that suits them."""
    model = search.model
    if task.start is None:
        attempt = search_from_scratch(search, task.n_init)
    else:
        attempt = begin_at(search, model.to_points(task.start))
    width = float(attempt.one_width.widths[0])
    if attempt.explained or not leaves_out_much(model, width):
        return search, attempt
    # The clusters are narrow, beside their distances.
    more = SketchModel.of(sketch, task.spread, MORE_HARMONICS[model.waves.step])
    closer = replace(search, model=more, problem=replace(search.problem, waves=more.waves))
    another = begin_at(closer, attempt.one_width.points, width)
    search.n_evaluations = closer.n_evaluations
    # Else narrow clusters are the model's, not the data's, and would make a poor cloud.
    return (closer, another) if another.explained else (search, attempt)
