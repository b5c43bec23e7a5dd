"""Weighted k-means: greedy k-means++ and Lloyd's iterations, the best of several runs. What scikit-learn's KMeans does.

The C core does it (kernels/core/plus_plus_inc.h, lloyd_inc.h), or NumPy where it was not built. Importing scikit-learn
would take longer than most of these runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from qckm.clustering import numpy_kmeans
from qckm.clustering.numpy_kmeans import Run
from qckm.common.arrays import Floats
from qckm.kernels import library
from qckm.kernels.library import Struct, call, fields, floats
from qckm.kernels.threads import Tasks, count_threads, share

# As scikit-learn has them: iterations at most, and the share of the variance below which centroids no longer move.
ITERATIONS, TOLERANCE = 300, 1e-4
# All runs together take no more than so many products, at about thirty rounds per run: ten seconds or so.
_PRODUCTS, _ROUNDS = 1e10, 30


def count_runs(most: int, n_rows: int, n_features: int, n_clusters: int) -> int:
    """Return how often to start afresh: so often at most, fewer times where that takes long, but once."""
    return int(min(most, max(1, _PRODUCTS // (_ROUNDS * n_rows * n_features * n_clusters))))


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
    choose, move = plus_plus, lloyd
    if library.load_or_warn() is None:
        choose, move = numpy_kmeans.plus_plus, numpy_kmeans.lloyd
    mean = rows.mean(axis=0)
    centred = rows - mean  # distances then lose no digits to a large offset
    tolerance = TOLERANCE * float(centred.var(axis=0).mean())
    trials = 2 + int(np.log(n_clusters))  # as scikit-learn has it
    uniforms = rng.random((n_fresh, 1 + (n_clusters - 1) * trials))

    def run(which: int) -> Run:
        if which < len(starts):
            begun = starts[which] - mean
        else:
            begun = centred[choose(centred, weights, n_clusters, trials, uniforms[which - len(starts)])]
        return move(centred, weights, begun, tolerance, ITERATIONS)

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


# The loops, in C: over rows (P, n) whose mean is about 0. The GIL is let go meanwhile.


class _Points(Struct):
    _fields_ = fields(integers="P n", arrays="rows weights")


class _Choice(Struct):
    _fields_ = fields(integers="K trials", arrays="uniforms chosen")


class _Lloyd(Struct):
    _fields_ = fields(
        integers="K most",
        numbers="tolerance",
        arrays="centers labels",
        numbers_after="inertia",
        integers_after="iterations",
    )


def plus_plus(rows: Floats, weights: Floats, n_clusters: int, trials: int, uniforms: Floats) -> npt.NDArray[np.int64]:
    """Choose K rows far from each other; each is the best of some trials, drawn by 1 + (K − 1)·trials uniforms."""
    chosen = np.empty(n_clusters, np.int64)
    call("qckm_plus_plus", _points(rows, weights), _Choice(n_clusters, trials, floats(uniforms), chosen))
    return chosen


def lloyd(rows: Floats, weights: Floats, centers: Floats, tolerance: float, iterations: int) -> Run:
    """Move centroids to the means of the rows nearest to them, until they rest."""
    reached, labels = np.array(centers, np.float64, order="C"), np.empty(len(rows), np.int32)
    run = _Lloyd(len(centers), iterations, tolerance, reached, labels, 0.0, 0)
    call("qckm_lloyd_run", _points(rows, weights), run)
    return Run(reached, labels, run.inertia)


def _points(rows: Floats, weights: Floats) -> _Points:
    return _Points(*rows.shape, floats(rows), floats(weights))
