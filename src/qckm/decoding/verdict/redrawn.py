"""What the noise of a private sketch makes one regret, whichever of the clouds is the truth.

The Gaussians that were found are taken for the truth, and their sketch is drawn anew with other noise, some times. What
is found in it is judged by that truth.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.clouds.cloud import Cloud
from qckm.decoding.model.mixture import Density, Mixture, predict
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.search.attempts import LEVEL, SEARCHES, Attempt, finish_in_noise, frugal, likeness, search_once
from qckm.decoding.search.expectation import tangents_of, worthless
from qckm.decoding.search.scales import Fitted, begin_search, moved, part_of, widened
from qckm.decoding.search.search import LONG
from qckm.decoding.task import Task
from qckm.decoding.verdict.regret import MOST_REGRET
from qckm.decoding.watching import asked_to_stop, was_cut
from qckm.sketch import Sketch

# Sketches drawn anew: one tells of bad centroids in two of three runs (ε·N = 1000), so that four miss one in a hundred.
_REDRAWN = 4
# Runs of k-means afresh, where clusters that were found are no start for it.
_FRESH = 5


def redrawn_regret(task: Task, fitted: Fitted, cloud: Cloud, rng: np.random.Generator) -> float:
    """Return what noise alone makes one regret: were the Gaussians that were found the truth, with other noise.

    Of sketches drawn anew, the truth is known: the Gaussians, of which `cloud` has points. These count alike here. The
    weights by which they have the sketch are another truth, where Gaussians do not explain it. Where fewer than K
    clusters were found and noise would hide clusters of a K-th of the rows, nothing is known of them: all may be
    regretted. So it may where the search was stopped.
    """
    if was_cut() or _hides(fitted, task.n_clusters):
        return MOST_REGRET
    clean = predict(task.sketch.operator, Density.of(fitted.model, fitted.attempt.own_widths))
    truth = cloud.before()
    best = truth.cluster(task.n_clusters, [], _FRESH, rng).points
    least = truth.inertia(best)
    regrets = []
    for _ in range(_REDRAWN):
        again = replace(task, sketch=_redrawn(task.sketch, clean, rng))
        model, found = _fit_anew(again, fitted, rng)
        drawn = np.clip(model.to_centers(found.draw(len(cloud.points), rng)), task.lower, task.upper)
        # From the best centroids, too: what k-means misses by chance is not for the noise to answer.
        points = Cloud.calibrated(again.sketch, drawn).cluster(task.n_clusters, [best], _FRESH, rng).points
        regrets.append(min(truth.inertia(points) / least - 1, MOST_REGRET) if least > 0 else 0.0)
        if asked_to_stop("drawing noise anew", 0):
            break
    return max(float(np.mean(regrets)), 0.0)


def _hides(fitted: Fitted, n_clusters: int) -> bool:
    """Return whether some of K clusters were not found, and K-th parts of the rows, as wide as what was, cannot be."""
    found = fitted.attempt.one_width
    if len(found.points) >= n_clusters:
        return False
    atoms = tangents_of(fitted.model, found, True)[: len(found.points)]
    return bool(worthless(fitted.model, found, (atoms**2).sum(axis=1) / n_clusters**2, LEVEL).all())


def _fit_anew(task: Task, truth: Fitted, rng: np.random.Generator) -> tuple[SketchModel, Mixture]:
    """Fit K clusters to a sketch of which the truth is known: no further than until a search has done as well."""
    search = begin_search(task, part_of(task.sketch, truth.octave), rng)
    right = search.fit(moved(truth.attempt.one_width, truth.model, search.model), LONG)
    best: tuple[Mixture, Mixture] | None = None
    for _ in range(SEARCHES):
        found = search_once(search)
        best = found if best is None or found[0].misfit < best[0].misfit else best
        if best[0].misfit <= right.misfit + likeness(search.model) or was_cut():
            break
    assert best is not None
    if truth.octave is None:
        own = search.fit(best[0], LONG, "own")
        return search.model, frugal(search.model, Attempt(best[0], own, np.inf, True)).own_widths
    search, both = widened(task, truth.octave, search, best)
    return search.model, finish_in_noise(search, both).own_widths


def _redrawn(sketch: Sketch, clean: Floats, rng: np.random.Generator) -> Sketch:
    """Return the sketch of as many other rows like these, with noise of its own."""
    scale = sketch.operator.signature.full_scale * sketch.count
    variance = sketch.sampling_noise() / sketch.operator.n_measurements
    z = clean + np.sqrt(variance) * rng.standard_normal(clean.size)
    return replace(sketch, total=np.rint(z * scale).astype(np.int64))
