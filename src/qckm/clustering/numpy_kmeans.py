"""The loops of k-means in NumPy: all there is without the C core, and what it is tested against."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats

_BLOCK = 1 << 22  # distances that are held at a time


class Run(NamedTuple):
    """Centroids (K, n), the label of each row (P,), and the weighted sum of squared distances."""

    centers: Floats
    labels: npt.NDArray[np.int32]
    inertia: float


def plus_plus(rows: Floats, weights: Floats, n_clusters: int, trials: int, uniforms: Floats) -> npt.NDArray[np.int64]:
    """Choose K rows far from each other."""
    chosen = np.empty(n_clusters, np.int64)
    chosen[0] = _draw(weights, uniforms[:1])[0]
    closest = _squares(rows, rows[chosen[:1]])[:, 0]
    for k in range(1, n_clusters):
        tried = _draw(weights * closest, uniforms[1 + (k - 1) * trials :][:trials])
        squares = np.minimum(closest[:, np.newaxis], _squares(rows, rows[tried]))
        best = (weights @ squares).argmin()
        chosen[k], closest = tried[best], squares[:, best]
    return chosen


def lloyd(rows: Floats, weights: Floats, centers: Floats, tolerance: float, iterations: int) -> Run:
    """Move centroids to the means of the rows nearest to them, until they rest."""
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
    size = max(1, _BLOCK // len(centers))
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
