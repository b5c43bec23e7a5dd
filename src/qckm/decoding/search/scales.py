"""K Gaussians fitted to a sketch at the scale that suits the data: of several octaves, that which predicts best.

Each octave is decoded alone. Its density then predicts the measurements of the others, of which the fit has seen
nothing. One that is too fine has little but noise to fit, and is wrong about the coarse octaves; one that is too coarse
takes neighbours for one cluster, and is wrong about the fine ones. Were an octave judged by the others only, the one
that is hardest to predict would gain by not having to; so its own measurements count too, with the error that they
would have had if they had not been fitted, as far as that is known (generalised cross-validation).

Errors count by their energy distance (Székely), ∫ |φ(ω) − ψ(ω)|² / ‖ω‖ⁿ⁺¹ dω for the characteristic functions of data
and density: along every direction an octave counts half of the octave below. That is a distance of distributions that
no scale is built into, and as k-means does, it minds rows in the wrong place by how far they are from the right one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.fit.clusters import Problem
from qckm.decoding.model.loops import MORE_HARMONICS
from qckm.decoding.model.mixture import Density, Mixture, predict
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.search.attempts import Attempt, begin_at, choose_n_axes, search_from_scratch
from qckm.decoding.search.density import fit_densities
from qckm.decoding.search.expectation import leaves_out_much
from qckm.decoding.search.search import Search
from qckm.decoding.task import Task
from qckm.sketch import Sketch

# A search is given up after so much work (terms of sums): half a minute or so.
PATIENCE = 2.7e9
# A fit with hardly fewer unknowns than measurements: nobody knows its error, but it is some times that of the fit.
_LEAST_FREEDOM = 0.2


class Fitted(NamedTuple):
    """K Gaussians fitted to a sketch at one scale, richer densities where they do not explain it, and their model."""

    model: SketchModel
    attempt: Attempt
    densities: list[Mixture]
    n_evaluations: int


def fit_at_best_scale(task: Task, rng: np.random.Generator) -> tuple[int | None, Fitted]:
    """Fit Gaussians to each octave of a sketch; return which octave suits the data, and those."""
    octaves = task.sketch.operator.octaves
    parts = [task.sketch.octave(j) for j in range(octaves)]
    fits = [_fit_gaussians(task, part, rng) for part in parts]
    if octaves == 1:
        return None, fits[0]
    best = [min([fit.attempt.own_widths, *fit.densities], key=lambda mixture: mixture.misfit) for fit in fits]
    chosen = best_octave(parts, [Density.of(fit.model, mixture) for fit, mixture in zip(fits, best, strict=True)])
    return chosen, fits[chosen]


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


def begin_search(task: Task, sketch: Sketch, rng: np.random.Generator, far: bool = False) -> tuple[SketchModel, Search]:
    """Return the model of a sketch at one scale, and a search in it: where most rows are, or also far from there."""
    model = SketchModel.of(sketch, task.spread)
    problem = Problem(model.waves, model.to_points(task.lower), model.to_points(task.upper))
    furthest = model.furthest(problem.lower, problem.upper) if far else 1.0
    patience = PATIENCE * task.n_init
    return model, Search(problem, model.n_measurements, model.mean, model.deviation, rng, patience, furthest)


def _fit_gaussians(task: Task, sketch: Sketch, rng: np.random.Generator) -> Fitted:
    """Fit K Gaussians to a sketch at one scale, and densities of more where these do not explain it."""
    model, search = begin_search(task, sketch, rng, far=True)
    n_axes = choose_n_axes(search, task.n_clusters)
    if task.start is None:
        attempt = search_from_scratch(search, model, task.n_clusters, n_axes, task.n_init)
    else:
        attempt = begin_at(search, model, model.to_points(task.start), n_axes)
    width = float(attempt.one_width.widths[0])
    if not attempt.explained and leaves_out_much(model, width):  # the clusters are narrow, beside their distances
        more = SketchModel.of(sketch, task.spread, MORE_HARMONICS[model.waves.step])
        closer = replace(search, problem=replace(search.problem, waves=more.waves))
        another = begin_at(closer, more, attempt.one_width.points, n_axes, width)
        search.n_evaluations = closer.n_evaluations
        if another.explained:  # else narrow clusters are the model's, not the data's, and would make a poor cloud
            model, attempt = more, another
    # Densities of many clusters do with the usual harmonics: more would take several times as long.
    densities = [] if attempt.explained else fit_densities(search, task.n_clusters, n_axes)
    return Fitted(model, attempt, densities, search.n_evaluations)
