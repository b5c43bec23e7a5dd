"""Fitting K clusters to a private sketch, to which noise of a known variance was added.

A wrong mixture may leave no more of a noisy sketch than chance lets a right one leave. It still leaves more than the
right one does: of two mixtures, noise changes the misfits almost alike. With noise of the variance v a measurement,
−2·log(likelihood) is misfit/v, so that a misfit that is larger by some v tells against a mixture, whatever the misfit
should be. So no search stops where chance would let it, and there are several, until the best minimum was reached
often enough. A cluster that noise may have brought about somewhere is left out, lest it takes a centroid from where
the rows are, and widths are each cluster's own only where that gains more than as many unknowns should (AIC).

Of a sketch at several scales, clusters are searched for in one octave and then fitted to that and its neighbours, as
each has but its share of what is known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.clouds.cloud import Cloud
from qckm.decoding.fit.clusters import Mixture
from qckm.decoding.model.mixture import Density, best_octave, predict
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.search.attempts import Attempt, choose_n_axes, finish
from qckm.decoding.search.density import fit_densities
from qckm.decoding.search.expectation import expected_misfit, tangents_of, worthless
from qckm.decoding.search.search import LONG, Search
from qckm.decoding.targets.least_regret import Gaussians, begin_search
from qckm.decoding.task import Task
from qckm.decoding.verdict.regret import MOST_REGRET
from qckm.decoding.watching import asked_to_stop
from qckm.operator.codes import InlineCodes
from qckm.sketch import Sketch

# Searches at most, and how many must end in the best minimum. Where a sketch just settles the centroids (ε·N = 3000 in
# docs/guide/privacy.md), a search ends there in a sixth of the runs on some data: 24 all miss it in 1 % of the runs.
_SEARCHES, _OFTEN = 24, 3
# Two searches end in the same minimum if their misfits differ by less than this many v: a factor √e in likelihood.
_ALIKE = 1.0
# A cluster is taken for noise unless noise would bring it about less often than this: a test's level.
_LEVEL = 0.03
# Sketches drawn anew: one tells of bad centroids in two of three runs (ε·N = 1000), so that four miss one in a hundred.
_REDRAWN = 4
# Runs of k-means afresh, where clusters that were found are no start for it.
_FRESH = 5


class Fit(NamedTuple):
    """K clusters fitted to a sketch, the octave they were found in, and whether they explain it and its neighbours."""

    model: SketchModel
    attempt: Attempt
    octave: int | None
    explained: bool


def fit_in_noise(task: Task, rng: np.random.Generator) -> tuple[int | None, Gaussians]:
    """Fit K Gaussians to a private sketch, and densities of more where these do not explain it; and in which octave."""
    fit, n_evaluations = _fit(task, rng)
    if fit.explained:
        return fit.octave, Gaussians(fit.model, fit.attempt, [], n_evaluations)
    model, search = begin_search(task, _part(task.sketch, fit.octave), rng)
    densities = fit_densities(search, task.n_clusters, choose_n_axes(search, task.n_clusters))
    moved = [_moved(density, model, fit.model) for density in densities]
    return fit.octave, Gaussians(fit.model, fit.attempt, moved, n_evaluations + search.n_evaluations)


def _fit(task: Task, rng: np.random.Generator) -> tuple[Fit, int]:
    """Fit K clusters: in the best octave, and then to that and its neighbours."""
    octaves = task.sketch.operator.octaves
    if octaves == 1:
        model, search = begin_search(task, task.sketch, rng)
        found = search_in_noise(search, model, task.n_clusters, task.n_init)
        attempt = _finished(search, model, found, task.n_clusters, rng)
        return Fit(model, attempt, None, attempt.explained), search.n_evaluations
    n_evaluations = 0
    parts, densities = [_part(task.sketch, j) for j in range(octaves)], []
    for part in parts:
        model, search = begin_search(task, part, rng)
        densities.append(Density.of(model, search.fit(_once(search, task.n_clusters), 200, "own")))
        n_evaluations += search.n_evaluations
    octave = best_octave(parts, densities)
    narrow, search = begin_search(task, _part(task.sketch, octave), rng)
    found = search_in_noise(search, narrow, task.n_clusters, task.n_init)
    fit, more = _widened(task, narrow, found, octave, rng)
    return fit, n_evaluations + search.n_evaluations + more


def _widened(
    task: Task, narrow: SketchModel, found: tuple[Mixture, Mixture], octave: int, rng: np.random.Generator
) -> tuple[Fit, int]:
    """Fit clusters that were found in an octave to that and its neighbours."""
    wide, search = begin_search(task, _around(task.sketch, octave), rng)
    kept, every = (_moved(mixture, narrow, wide) for mixture in found)
    attempt = _finished(search, wide, (kept, every), task.n_clusters, rng)
    return Fit(wide, attempt, octave, attempt.explained), search.n_evaluations


def search_in_noise(search: Search, model: SketchModel, n_clusters: int, n_init: int) -> tuple[Mixture, Mixture]:
    """Return the best of some searches, none of which stops before it finds nothing better: the clusters, and all K."""
    misfits: list[float] = []
    best: tuple[Mixture, Mixture] | None = None
    alike = _ALIKE * model.noise / model.n_measurements
    while len(misfits) < _SEARCHES * n_init and (best is None or search.work < search.patience):
        found = _search_once(search, model, n_clusters)
        misfits.append(found[0].misfit)
        best = found if best is None or found[0].misfit < best[0].misfit else best
        if (np.asarray(misfits) <= best[0].misfit + alike).sum() >= _OFTEN * n_init:
            break
    assert best is not None
    return best


def _search_once(search: Search, model: SketchModel, n_clusters: int) -> tuple[Mixture, Mixture]:
    """Search until nothing better is found; return the clusters that are more than noise, and all K."""
    every = search.fit(search.swap(_once(search, n_clusters), 0.0), LONG)
    kept = every
    while len(kept.points) > 1 and (fewer := _without_noise(search, model, kept)) is not None:
        kept = fewer
    return kept, every


def _without_noise(search: Search, model: SketchModel, mixture: Mixture) -> Mixture | None:
    """Leave out a cluster that noise has brought about; return None where there is none.

    It is either where nothing else is, in any of many places, or one of two into which noise has split a cluster. The
    latter gains no more than as many unknowns should (AIC).
    """
    (K, n), costs = mixture.points.shape, search.missed(mixture)
    least = int(costs.argmin())
    if worthless(model, mixture, costs, _LEVEL)[least]:
        return search.fit(search.weigh(*mixture.some(np.delete(np.arange(K), least)).shape), LONG)
    squares = ((mixture.points[:, np.newaxis] - mixture.points) ** 2).sum(axis=2)
    squares[np.diag_indices(K)] = np.inf
    pair = np.array(np.unravel_index(squares.argmin(), squares.shape))
    lighter = pair[mixture.weights[pair].argmin()]
    merged = search.fit(search.weigh(*mixture.some(np.delete(np.arange(K), lighter)).shape), LONG)
    price = 2 * (n + 1) * model.noise / model.n_measurements
    return merged if merged.misfit <= mixture.misfit + price else None


def _finished(
    search: Search, model: SketchModel, found: tuple[Mixture, Mixture], n_clusters: int, rng: np.random.Generator
) -> Attempt:
    """Fit clusters to the end; where those that are more than noise do not explain the sketch, all K."""
    for mixture in found:
        goal = expected_misfit(model, mixture, True, rng).goal
        attempt = _frugal(model, finish(search, model, mixture, choose_n_axes(search, n_clusters), goal))
        if attempt.explained or len(mixture.points) == n_clusters:
            break
    return attempt


def _frugal(model: SketchModel, attempt: Attempt) -> Attempt:
    """Give clusters that explain a sketch one width, unless their own gain more than as many unknowns should (AIC)."""
    equal, own = attempt.equal, attempt.own
    more = own.unknowns - equal.unknowns + len(equal.widths) - 1  # `unknowns` counts every width, shared or not
    gained = (equal.misfit - own.misfit) / (model.noise / model.n_measurements)
    return attempt._replace(own=equal) if equal.misfit <= attempt.goal and gained <= 2 * more else attempt


def _once(search: Search, n_clusters: int) -> Mixture:
    """Search once: grow beyond K clusters of one width, prune to K."""
    grown = search.grow(search.alone("shared"), 2 * n_clusters)
    return search.fit(search.prune(grown, n_clusters), 200)


def _part(sketch: Sketch, octave: int | None) -> Sketch:
    return sketch if octave is None else sketch.octave(octave)


def _around(sketch: Sketch, octave: int) -> Sketch:
    """Return the sketch of an octave and those beside it: further away, frequencies are too low or too high to tell."""
    octaves, m = sketch.operator.octaves, sketch.operator.n_frequencies // sketch.operator.octaves
    here = slice(max(octave - 1, 0) * m, min(octave + 2, octaves) * m)
    codes = sketch.operator.frequency_codes
    assert isinstance(codes, np.ndarray)
    part = InlineCodes(np.ascontiguousarray(codes[:, here]), sketch.operator.dither_codes[here].copy())
    operator = replace(sketch.operator, codes=part)
    return replace(sketch, operator=operator, total=sketch.total.reshape(-1, octaves * m)[:, here].ravel())


def _moved(mixture: Mixture, here: SketchModel, there: SketchModel) -> Mixture:
    """Return a mixture in another model's coordinates."""
    ratio = here.spread / there.spread
    points = there.to_points(here.to_centers(mixture.points))
    return mixture._replace(points=points, widths=mixture.widths * ratio**2, axes=mixture.axes * ratio)


def redrawn_regret(task: Task, octave: int | None, fitted: Gaussians, cloud: Cloud, rng: np.random.Generator) -> float:
    """Return what noise alone makes one regret: were the Gaussians that were found the truth, with other noise.

    Of sketches drawn anew, the truth is known: `cloud`, points of the Gaussians. Where fewer than K clusters were found
    and noise would hide clusters of a K-th of the rows, nothing is known of them: all may be regretted.
    """
    if _hides(fitted, task.n_clusters):
        return MOST_REGRET
    clean = predict(task.sketch.operator, Density.of(fitted.model, fitted.attempt.own))
    least = cloud.inertia(cloud.cluster(task.n_clusters, [], _FRESH, rng).points)
    regrets = []
    for _ in range(_REDRAWN):
        again = replace(task, sketch=_redrawn(task.sketch, clean, rng))
        found = _fit_anew(again, octave, fitted, rng)
        drawn = np.clip(found.model.to_centers(found.attempt.own.draw(len(cloud.points), rng)), task.lower, task.upper)
        points = Cloud.calibrated(again.sketch, drawn).cluster(task.n_clusters, [], _FRESH, rng).points
        regrets.append(min(cloud.inertia(points) / least - 1, MOST_REGRET) if least > 0 else 0.0)
        if asked_to_stop("drawing noise anew", 0):
            break
    return max(float(np.mean(regrets)), 0.0)


def _hides(fitted: Gaussians, n_clusters: int) -> bool:
    """Return whether some of K clusters were not found, and K-th parts of the rows, as wide as what was, cannot be."""
    found = fitted.attempt.equal
    if len(found.points) >= n_clusters:
        return False
    atoms = tangents_of(fitted.model, found, True)[: len(found.points)]
    return bool(worthless(fitted.model, found, (atoms**2).sum(axis=1) / n_clusters**2, _LEVEL).all())


def _fit_anew(task: Task, octave: int | None, truth: Gaussians, rng: np.random.Generator) -> Fit:
    """Fit K clusters to a sketch of which the truth is known: no further than until a search has done as well."""
    model, search = begin_search(task, _part(task.sketch, octave), rng)
    right = search.fit(_moved(truth.attempt.equal, truth.model, model), LONG)
    alike = _ALIKE * model.noise / model.n_measurements
    best: tuple[Mixture, Mixture] | None = None
    for _ in range(_SEARCHES):
        found = _search_once(search, model, task.n_clusters)
        best = found if best is None or found[0].misfit < best[0].misfit else best
        if best[0].misfit <= right.misfit + alike:
            break
    assert best is not None
    if octave is not None:
        return _widened(task, model, best, octave, rng)[0]
    own = search.fit(best[0], LONG, "own")
    return Fit(model, _frugal(model, Attempt(best[0], own, np.inf, True)), None, True)


def _redrawn(sketch: Sketch, clean: Floats, rng: np.random.Generator) -> Sketch:
    """Return the sketch of as many other rows like these, with noise of its own."""
    scale = sketch.operator.signature.full_scale * sketch.count
    variance = sketch.sampling_noise() / sketch.operator.n_measurements
    z = clean + np.sqrt(variance) * rng.standard_normal(clean.size)
    return replace(sketch, total=np.rint(z * scale).astype(np.int64))
