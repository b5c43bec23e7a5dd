"""Weighted k-means: greedy k-means++ and Lloyd's iterations, the best of several runs. What scikit-learn's KMeans does.

The C core does it (kernels/core/plus_plus_inc.h, lloyd_inc.h), or NumPy where it was not built. Importing scikit-learn
would take longer than most of these runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.kernels import library
from qckm.kernels.sketcher import warn_of_slow_kernels
from qckm.kernels.threads import Tasks, count_threads, share

# As scikit-learn has them: iterations at most, and the share of the variance below which centroids no longer move.
ITERATIONS, TOLERANCE = 300, 1e-4


class Run(NamedTuple):
    """Centroids (K, n), the label of each row (P,), and the weighted sum of squared distances."""

    centers: Floats
    labels: npt.NDArray[np.int32]
    inertia: float


class Steps(Protocol):
    """The two loops of k-means, over rows (P, n) whose mean is about 0."""

    def plus_plus(
        self, rows: Floats, weights: Floats, n_clusters: int, trials: int, uniforms: Floats
    ) -> npt.NDArray[np.int64]:
        """Choose K rows far from each other; each is the best of some trials, drawn by 1 + (K − 1)·trials uniforms."""

    def lloyd(self, rows: Floats, weights: Floats, centers: Floats, tolerance: float, iterations: int) -> Run:
        """Move centroids to the means of the rows nearest to them, until they rest."""


def kmeans(
    rows: Floats,
    weights: Floats,
    n_clusters: int,
    n_fresh: int,
    rng: np.random.Generator,
    starts: Sequence[Floats] = (),
    n_jobs: int | None = None,
) -> Run:
    """Return the best of runs from the starts, each (K, n), and of `n_fresh` runs afresh.

    Runs are shared out to threads, and do not depend on how many there are.
    """
    if not (np.isfinite(rows).all() and np.isfinite(weights).all() and weights.min() >= 0 and weights.sum() > 0):
        raise ValueError("expected finite rows, and weights of at least 0, not all of them 0")
    steps, mean = _steps(), rows.mean(axis=0)
    centred = rows - mean  # distances then lose no digits to a large offset
    tolerance = TOLERANCE * float(centred.var(axis=0).mean())
    trials = 2 + int(np.log(n_clusters))  # as scikit-learn has it
    uniforms = rng.random((n_fresh, 1 + (n_clusters - 1) * trials))

    def run(which: int) -> Run:
        if which < len(starts):
            begun = starts[which] - mean
        else:
            begun = centred[steps.plus_plus(centred, weights, n_clusters, trials, uniforms[which - len(starts)])]
        return steps.lloyd(centred, weights, begun, tolerance, ITERATIONS)

    def work(tasks: Tasks) -> list[tuple[float, int, Run]]:
        best: list[tuple[float, int, Run]] = []
        for task in tasks:
            found = run(task)
            best = [min([*best, (found.inertia, task, found)], key=lambda one: one[:2])]
        return best

    n_runs = len(starts) + n_fresh
    shared = share(work, n_runs, count_threads(n_jobs) if n_runs > 1 else 1)
    best = min((one for part in shared for one in part), key=lambda one: one[:2])[2]
    return best._replace(centers=best.centers + mean)


def _steps() -> Steps:
    if library.load() is None:
        from qckm.clustering import numpy_kmeans

        warn_of_slow_kernels()
        return numpy_kmeans
    from qckm.clustering import c_kmeans

    return c_kmeans
