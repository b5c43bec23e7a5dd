"""CL-OMPR to the letter: the algorithm box of the paper, with the first harmonic of any signature.

The names of the steps are the paper's. Its `maximize` and `minimize` are quasi-Newton descents within the box with the
rules of the authors' toolbox, each whole in the C core: returning to Python would take longer than the arithmetic, at
the sizes of the paper's figures. The box does not say where step 1 starts; here it is the most correlated of 100 points
drawn uniformly. From a single draw, as the toolbox has it, well separated clusters are missed half the time: far from
any, the correlation is noise, and its nearest peak is one of noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.random import spawn
from qckm.decoding.model.loops import Descent, Rules, Sizes, Waves
from qckm.decoding.model.mixture import non_negative_weights
from qckm.decoding.model.sketch_model import FirstHarmonicModel, loops
from qckm.decoding.search.scales import choose_octave, part_of
from qckm.decoding.targets.clustering import Clustering
from qckm.decoding.task import Task
from qckm.decoding.verdict.remarks import remarks_on

N_STARTS = 100
# When to stop, as L-BFGS-B has it: an iteration that gains less than this, or a gradient that is as good as none.
_RULES = Rules(iterations=2000, every=1, gain=2.2e-9, least=1.0, slope=1e-5)


@dataclass(frozen=True)
class Support:
    """Points (K, n) of the model with their weights (K,), the objective there, and the evaluations it took."""

    points: Floats
    weights: Floats
    objective: float
    n_evaluations: int


def decode_by_clompr(task: Task) -> Clustering:
    """Find the points of the best of some replicates of CL-OMPR, in the octave that suits the data."""
    (rng,) = spawn(task.random_state, 1)
    octave = choose_octave(task, rng)
    model = FirstHarmonicModel.of(part_of(task.sketch, octave))
    lower, upper = model.to_points(task.lower), model.to_points(task.upper)
    start = None if task.start is None else model.to_points(task.start)
    replicates = [
        clompr(model, task.n_clusters, lower, upper, rng, start if number == 0 else None)
        for number, rng in enumerate(spawn(task.random_state, task.n_init))
    ]
    best = min(replicates, key=lambda support: support.objective)
    found = Clustering.of(
        task.sketch,
        model.to_centers(best.points),
        best.weights,
        np.zeros(task.n_clusters),
        left=best.objective,
        energy=float(model.z @ model.z),
        objective=best.objective,
        n_iter=sum(support.n_evaluations for support in replicates),
        octave=octave,
    )
    return replace(found, remarks=remarks_on(task.sketch, found.centers, found.weights))


def clompr(
    model: FirstHarmonicModel,
    n_clusters: int,
    lower: Floats,
    upper: Floats,
    rng: np.random.Generator,
    start: Floats | None = None,
) -> Support:
    """Run CL-OMPR once, in the model's coordinates.

    Parameters
    ----------
    model : FirstHarmonicModel
    n_clusters : int
    lower, upper : ndarray of shape (n,)
        The box that encloses the data.
    rng : Generator
    start : ndarray of shape (K, n), optional
        Points to begin from instead of none: then the first K rounds, which only fill the support, are left out and
        the K rounds of replacement follow.

    Returns
    -------
    Support
    """
    points = np.empty((0, lower.size))
    residual = model.z
    evaluations, rounds = 0, 2 * n_clusters
    if start is not None:
        support = _descend(model, np.clip(start, lower, upper), lower, upper)
        points, residual = support.points, model.residual(support.points, support.weights)
        evaluations, rounds = support.n_evaluations, n_clusters
    for _ in range(rounds):
        point, taken = _most_correlated(model, residual, lower, upper, rng)  # step 1
        points = np.concatenate([points, point[np.newaxis]])  # step 2
        if len(points) > n_clusters:
            points = _strongest(model, points, n_clusters)  # step 3
        support = _descend(model, points, lower, upper)  # steps 4 and 5
        points, residual = support.points, model.residual(support.points, support.weights)
        evaluations += taken + support.n_evaluations
    return Support(support.points, support.weights, support.objective, evaluations)


def _most_correlated(
    model: FirstHarmonicModel, residual: Floats, lower: Floats, upper: Floats, rng: np.random.Generator
) -> tuple[Floats, int]:
    """Step 1: find a point whose normalised atom is highly correlated with the residual."""
    candidates = rng.uniform(lower, upper, (N_STARTS, lower.size))
    atoms = model.atoms(candidates)
    start = candidates[np.argmax(atoms @ residual / np.linalg.norm(atoms, axis=1))]
    point, _, evaluations = match_point(model.waves(residual), start, lower, upper)
    return point, evaluations


def _strongest(model: FirstHarmonicModel, points: Floats, n_clusters: int) -> Floats:
    """Step 3: keep the points with the largest non-negative weights on normalised atoms."""
    atoms = model.atoms(points)
    weights, _ = non_negative_weights(atoms / np.linalg.norm(atoms, axis=1, keepdims=True), model.z)
    keep = np.sort(np.argsort(-weights, kind="stable")[:n_clusters])
    return points[keep]


def _descend(model: FirstHarmonicModel, points: Floats, lower: Floats, upper: Floats) -> Support:
    """Step 4: the best non-negative weights; step 5: descend over points and weights together."""
    count, n = points.shape
    weights, _ = non_negative_weights(model.atoms(points), model.z)
    start = np.concatenate([points.ravel(), weights])
    low = np.concatenate([np.tile(lower, count), np.zeros(count)])
    high = np.concatenate([np.tile(upper, count), np.full(count, np.inf)])
    found, objective, evaluations = fit_points(model.waves(model.z), count, start, low, high)
    return Support(found[: count * n].reshape(count, n), found[count * n :], objective, evaluations)


def match_point(waves: Waves, start: Floats, low: Floats, high: Floats) -> Descent:
    """Step 1: move a point (n,) to where its normalised atom correlates best with z; the value is minus that."""
    return loops().match(waves, start, low, high, _RULES)


def fit_points(waves: Waves, n_points: int, start: Floats, low: Floats, high: Floats) -> Descent:
    """Step 5: descend on ‖z − Σ_k α_k a(c_k)‖² over points (K, n) and weights (K,), one after the other in a vector."""
    found, _ = loops().fit(waves, Sizes(n_points, 0, 0), np.zeros(n_points), start, low, high, _RULES)
    return found
