"""The nearest centroid of each row, and weighted k-means: greedy k-means++ and Lloyd's iterations, the best of runs.

The C core does it (kernels/core/nearest_inc.h, plus_plus_inc.h, lloyd_inc.h), or NumPy where it was not built, which it
is tested against. Importing scikit-learn, whose KMeans does the same, would take longer than most of these runs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats, Rows
from qckm.kernels import library
from qckm.kernels.library import RowsAt, Struct, call, fields, floats
from qckm.kernels.threads import Tasks, share
from qckm.sources.rows import require_finite

_CHUNK = 1 << 15  # rows a thread takes at a time
_BLOCK = 1 << 16  # rows whose distances to all centroids are worked out at a time
_HELD = 1 << 22  # distances that NumPy's k-means holds at a time
# As scikit-learn has them: iterations at most, and the share of the variance below which centroids no longer move.
ITERATIONS, TOLERANCE = 300, 1e-4
# All runs together take no more than so many products, at about thirty rounds per run: ten seconds or so.
_PRODUCTS, _ROUNDS = 1e10, 30


def nearest(rows: Rows, centers: Floats, n_jobs: int | None = None) -> tuple[npt.NDArray[np.int32], Floats]:
    """Return the nearest of the centers (K, n) for each row (rows, n), and the squared distance to it.

    By differences: no digits are lost to a large offset, and nothing is copied.
    """
    labels, squares = np.empty(len(rows), np.int32), np.empty(len(rows))
    compared = np.ascontiguousarray(centers, np.float64)

    def work(tasks: Tasks) -> None:
        for task in tasks:
            part = slice(task * _CHUNK, (task + 1) * _CHUNK)
            # A row that is not finite is at no finite distance from anything.
            if not _assign(rows[part], compared, labels[part], squares[part]):
                require_finite(rows[part], part.start)

    share(work, -(-len(rows) // _CHUNK), n_jobs)
    return labels, squares


def distances(rows: Rows, centers: Floats, origin: Floats, units: Floats) -> Floats:
    """Return the distance of each row (rows, n) to each of the centers (K, n), in units.

    Rows count from the origin, so that distances do not lose digits to a large offset.
    """
    moved, out = (centers - origin) / units, np.empty((len(rows), len(centers)))
    norms = (moved**2).sum(axis=1)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        require_finite(block, start)
        counted = (block.astype(np.float64) - origin) / units
        squares = (counted**2).sum(axis=1)[:, np.newaxis] - 2 * counted @ moved.T + norms
        out[start : start + _BLOCK] = np.sqrt(np.maximum(squares, 0))
    return out


class Run(NamedTuple):
    """Centroids (K, n), the label of each row (P,), and the weighted sum of squared distances."""

    centers: Floats
    labels: npt.NDArray[np.int32]
    inertia: float


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
    if library.load() is None:
        choose, move = plus_plus_by_numpy, lloyd_by_numpy
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

    shared = share(work, len(starts) + n_fresh, n_jobs)
    best = min((one for part in shared for one in part), key=lambda one: one[:2])[2]
    return best._replace(centers=best.centers + mean)


def _assign(rows: Rows, centers: Floats, labels: npt.NDArray[np.int32], squares: Floats) -> bool:
    """Fill in labels and squares; return whether all are finite."""
    core = library.load()
    if core is None:
        return _assign_by_numpy(rows, centers, labels, squares)
    (K, n), out = centers.shape, (labels.ctypes.data, squares.ctypes.data)
    return not core.qckm_nearest(ctypes.byref(RowsAt(rows)), n, centers.ctypes.data, K, *out)


def _assign_by_numpy(rows: Rows, centers: Floats, labels: npt.NDArray[np.int32], squares: Floats) -> bool:
    labels[:], squares[:] = 0, np.inf
    for k, center in enumerate(centers):
        off = ((rows - center) ** 2).sum(axis=1)
        nearer = off < squares
        labels[nearer], squares[nearer] = k, off[nearer]
    return bool(np.isfinite(squares).all())


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


# The same in NumPy.


def plus_plus_by_numpy(
    rows: Floats, weights: Floats, n_clusters: int, trials: int, uniforms: Floats
) -> npt.NDArray[np.int64]:
    """Do what `plus_plus` does."""
    chosen = np.empty(n_clusters, np.int64)
    chosen[0] = _draw(weights, uniforms[:1])[0]
    closest = _squares(rows, rows[chosen[:1]])[:, 0]
    for k in range(1, n_clusters):
        tried = _draw(weights * closest, uniforms[1 + (k - 1) * trials :][:trials])
        squares = np.minimum(closest[:, np.newaxis], _squares(rows, rows[tried]))
        best = (weights @ squares).argmin()
        chosen[k], closest = tried[best], squares[:, best]
    return chosen


def lloyd_by_numpy(rows: Floats, weights: Floats, centers: Floats, tolerance: float, iterations: int) -> Run:
    """Do what `lloyd` does."""
    labels, at_rest = np.full(len(rows), -1, np.int32), False
    for _ in range(iterations):
        before, labels = labels, _nearest(rows, centers)
        moved = _means(rows, weights, labels, centers)
        shift, centers = ((moved - centers) ** 2).sum(), moved
        at_rest = bool((labels == before).all())
        if at_rest or shift <= tolerance:
            break
    if not at_rest:
        labels = _nearest(rows, centers)
    return Run(centers, labels, float(weights @ ((rows - centers[labels]) ** 2).sum(axis=1)))


def _draw(masses: Floats, uniforms: Floats) -> npt.NDArray[np.int64]:
    """Draw rows in proportion to masses."""
    heavy = np.flatnonzero(masses) if masses.any() else np.zeros(1, np.intp)
    sums = masses[heavy].cumsum()
    places = np.searchsorted(sums, uniforms * sums[-1])
    return np.asarray(heavy[np.minimum(places, len(heavy) - 1)], np.int64)


def _squares(rows: Floats, centers: Floats) -> Floats:
    """Return squared distances (P, K)."""
    squares: Floats = (rows**2).sum(axis=1)[:, np.newaxis] - 2 * rows @ centers.T + (centers**2).sum(axis=1)
    return np.maximum(squares, 0, out=squares)


def _nearest(rows: Floats, centers: Floats) -> npt.NDArray[np.int32]:
    size = max(1, _HELD // len(centers))
    blocks = (rows[first : first + size] for first in range(0, len(rows), size))
    return np.concatenate([_squares(block, centers).argmin(axis=1) for block in blocks]).astype(np.int32)


def _means(rows: Floats, weights: Floats, labels: npt.NDArray[np.int32], centers: Floats) -> Floats:
    """Return the mean of each cluster; one without rows gets the row that is furthest from its centroid."""
    sums = np.zeros(centers.shape)
    np.add.at(sums, labels, weights[:, np.newaxis] * rows)
    masses = np.bincount(labels, weights, minlength=len(centers))
    squares = np.where(weights > 0, ((rows - centers[labels]) ** 2).sum(axis=1), 0)
    for k in range(len(centers)):
        i = squares.argmax()
        if masses[k] == 0 and squares[i] > 0:
            sums[labels[i]] -= weights[i] * rows[i]
            masses[labels[i]] -= weights[i]
            sums[k], masses[k], squares[i] = weights[i] * rows[i], weights[i], 0
    heavy = (masses > 0)[:, np.newaxis]
    moved: Floats = np.where(heavy, sums / np.where(heavy, masses[:, np.newaxis], 1), centers)
    return moved
