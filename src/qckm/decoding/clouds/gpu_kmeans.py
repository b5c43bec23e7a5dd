"""Weighted k-means on a GPU, all runs side by side: clustering/weighted_kmeans.py for many clusters and points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.clustering.weighted_kmeans import ITERATIONS, TOLERANCE
from qckm.common.arrays import Floats
from qckm.kernels.cuda.device import cupy

# Distances that are held at a time.
_MOST_DISTANCES = 1 << 28


def cluster_on_gpu(
    rows: Floats, weights: Floats, n_clusters: int, starts: Sequence[Floats], n_fresh: int, seed: int, device: int
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the best centroids (K, n), and the labels of the rows, (P,).

    Runs begin at the starts, each (K, n), and `n_fresh` at points that greedy k-means++ chooses.
    """
    module = cupy()
    with module.cuda.Device(device):
        points, heavy = module.asarray(rows), module.asarray(weights)
        random = module.random.RandomState(seed)
        at_once = max(1, _MOST_DISTANCES // (len(rows) * n_clusters))
        best: tuple[float, Any, Any] | None = None
        given = [module.asarray(start)[np.newaxis] for start in starts]
        fresh = [min(at_once, n_fresh - first) for first in range(0, n_fresh, at_once)]
        for centers in [*given, *(_plus_plus(points, heavy, n_clusters, runs, random) for runs in fresh)]:
            found, labels, inertia = _lloyd(points, heavy, centers)
            which = int(inertia.argmin())
            if best is None or float(inertia[which]) < best[0]:
                best = float(inertia[which]), found[which], labels[which]
        if best is None:
            raise ValueError("expected a start, or a run afresh")
        return best[1].get(), best[2].get().astype(np.int64)


def _squares(points: Any, centers: Any) -> Any:
    """Return the squared distances (runs, P, K) of points (P, n), which are centred, to centers (runs, K, n)."""
    module = cupy()
    products = module.matmul(points[np.newaxis], centers.transpose(0, 2, 1))
    squares = (points**2).sum(axis=1)[:, np.newaxis] - 2 * products + (centers**2).sum(axis=2)[:, np.newaxis]
    return module.maximum(squares, 0)


def _plus_plus(points: Any, weights: Any, n_clusters: int, runs: int, random: Any) -> Any:
    """Choose centers (runs, K, n) far from each other: of a few candidates, drawn by their squares, the best."""
    module, n_candidates = cupy(), 2 + int(np.log(n_clusters))
    first = _draw(weights[np.newaxis].repeat(runs, axis=0), 1, random)
    chosen = module.empty((runs, n_clusters, points.shape[1]), points.dtype)
    chosen[:, 0] = points[first[:, 0]]
    nearest = _squares(points, chosen[:, :1])[..., 0]
    for k in range(1, n_clusters):
        candidates = _draw(nearest * weights, n_candidates, random)
        squares = module.minimum(_squares(points, points[candidates]), nearest[..., np.newaxis])
        which = (squares * weights[:, np.newaxis]).sum(axis=1).argmin(axis=1)
        run = module.arange(runs)
        chosen[:, k] = points[candidates[run, which]]
        nearest = squares[run, :, which]
    return chosen


def _draw(masses: Any, count: int, random: Any) -> Any:
    """Draw so many points for each run, in proportion to masses (runs, P)."""
    module = cupy()
    edges = module.cumsum(masses, axis=1)
    draws = random.random_sample((len(masses), count)) * edges[:, -1:]
    found = [module.searchsorted(edge, draw, side="right") for edge, draw in zip(edges, draws, strict=True)]
    return module.minimum(module.stack(found), masses.shape[1] - 1)


def _lloyd(points: Any, weights: Any, centers: Any) -> tuple[Any, Any, Any]:
    """Return centers (runs, K, n) that no longer move, labels (runs, P), and sums of squares (runs,)."""
    module = cupy()
    runs, n_clusters, n = centers.shape
    spread = float(((points - points.mean(axis=0)) ** 2).mean())
    weighted = module.concatenate([points * weights[:, np.newaxis], weights[:, np.newaxis]], axis=1)
    offsets = (module.arange(runs) * n_clusters)[:, np.newaxis]
    for _ in range(ITERATIONS):
        labels = _squares(points, centers).argmin(axis=2)
        places = (labels + offsets).ravel()
        sums = module.stack(
            [module.bincount(places, module.tile(column, runs), minlength=runs * n_clusters) for column in weighted.T],
            axis=1,
        ).reshape(runs, n_clusters, n + 1)
        heavy = sums[..., n:]
        moved = module.where(heavy > 0, sums[..., :n] / module.maximum(heavy, 1e-300), centers)
        shift = float(((moved - centers) ** 2).sum(axis=(1, 2)).max())
        centers = moved
        if shift <= TOLERANCE * spread:
            break
    squares = _squares(points, centers)
    labels = squares.argmin(axis=2)
    return centers, labels, (squares.min(axis=2) * weights).sum(axis=1)
