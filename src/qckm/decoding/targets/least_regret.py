"""The default decoder: task → clouds that have the sketch → the centroids that one regrets least over them.

Rows that have the sketch, with weights that reproduce it (calibration.py), are the one cloud that counts.

Where there are none, or they lack what was sketched, K Gaussians are fitted to the sketch, and densities of more
clusters where these do not explain it (scales.py). Clouds begin at them and go where the sketch says (ensemble.py).
K-means of all of them gives the centroids, and how much these cost if one of the clouds is the truth is what is
reported: the regret (regret.py).
"""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.random import spawn
from qckm.decoding.clouds.cloud import Cloud
from qckm.decoding.clouds.ensemble import clouds_of
from qckm.decoding.model.mixture import Density, predict
from qckm.decoding.search.scales import fit_at_best_scale
from qckm.decoding.targets.clustering import Clustering, heaviest_first, share_explained
from qckm.decoding.task import Task
from qckm.decoding.verdict.redrawn import redrawn_regret
from qckm.decoding.verdict.regret import Decision, decide, decide_by_rows
from qckm.decoding.verdict.remarks import CUT_SHORT, out_of_reach, remarks_on
from qckm.decoding.watching import tell, was_cut
from qckm.planning.pilot import Pilot
from qckm.sketch import Sketch

# Centroids are reliable if their SSE is hardly more than by this share above the least: what experiments count as
# success, too.
TOLERANCE = 0.2


def decode_by_least_regret(task: Task) -> Clustering:
    """Find the centroids of least regret."""
    for_rows, for_fit, for_clouds = spawn(task.random_state, 3)
    if task.rows is not None:
        tell("weighing rows")
        cloud = Cloud.of_rows(task.sketch, task.rows)
        if cloud is not None:
            starts = [start for start in (task.start, task.rows.centers) if start is not None]
            return _clustering(task, decide_by_rows(task, cloud, starts, for_rows), None, 0, task.rows)
    fitted = fit_at_best_scale(task, for_fit)
    gaussians = fitted.attempt.own_widths.points
    starts = [fitted.model.to_centers(gaussians)] if len(gaussians) == task.n_clusters else []
    starts += [start for start in (task.start,) if start is not None]
    clouds = clouds_of(task, fitted, for_clouds)
    by_noise = redrawn_regret(task, fitted, clouds[0], for_fit) if task.sketch.private else 0.0
    decision = decide(task, clouds, starts, for_clouds, by_noise)
    return _clustering(task, decision, fitted.octave, fitted.n_evaluations)


def _clustering(
    task: Task, decision: Decision, octave: int | None, n_evaluations: int, sample: Pilot | None = None
) -> Clustering:
    """Return what was decided; rows that do not cover what was sketched, and tell little of it, are no sample."""
    centers, shares, widths = decision.centroids
    doubts = (*out_of_reach(task.sketch, centers), *([CUT_SHORT] if was_cut() else []))
    return Clustering(
        *heaviest_first(centers, shares, np.sqrt(widths)),
        objective=decision.objective,
        explained=_explained_by_gaussians(task.sketch, centers, shares, np.sqrt(widths)),
        n_iter=n_evaluations,
        converged=bool(decision.excess_high <= TOLERANCE),
        excess=decision.excess,
        excess_high=decision.excess_high,
        octave=octave,
        inertia=decision.inertia * task.sketch.count,
        inertia_error=decision.inertia_error * task.sketch.count,
        remarks=(*doubts, *remarks_on(task.sketch, centers, shares, sample)),
    )


def _explained_by_gaussians(sketch: Sketch, centers: Floats, weights: Floats, spreads: Floats) -> float:
    """Return the share of a sketch's energy that round Gaussians at centroids explain."""
    no_axes = np.zeros((len(centers), 0, centers.shape[1]))
    z, silence = sketch.values(), sketch.operator.signature.harmonics[0].real
    left = z - predict(sketch.operator, Density(centers, weights, spreads, no_axes))
    return share_explained(float(left @ left), float(((z - silence) ** 2).sum()))
