"""The nearest centroid of each row, by differences: no digits are lost to a large offset, and nothing is copied.

A few hundred rows at a time stand side by side in a tile, so that a centroid is compared with all of them in vector
instructions.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats, Rows
from qckm.common.compiling import compiled
from qckm.kernels.threads import Tasks, count_threads, share
from qckm.sources.rows import require_finite

_TILE = 256  # rows: a tile of ten features is within the first-level cache
_CHUNK = 1 << 15  # rows a thread takes at a time
_BLOCK = 1 << 16  # rows whose distances to all centroids are worked out at a time


def nearest(rows: Rows, centers: Floats, n_jobs: int | None = None) -> tuple[npt.NDArray[np.int32], Floats]:
    """Return the nearest of the centers (K, n) for each row (rows, n), and the squared distance to it."""
    labels, squares = np.empty(len(rows), np.int32), np.empty(len(rows))
    compared = np.ascontiguousarray(centers, np.float64)

    def work(tasks: Tasks) -> None:
        for task in tasks:
            part = slice(task * _CHUNK, (task + 1) * _CHUNK)
            # A row that is not finite is at no finite distance from anything.
            if not _assign(rows[part], compared, labels[part], squares[part]):
                require_finite(rows[part], rows[part].min(axis=0), rows[part].max(axis=0), part.start)

    n_tasks = -(-len(rows) // _CHUNK)
    share(work, n_tasks, count_threads(n_jobs) if n_tasks > 1 else 1)
    return labels, squares


def distances(rows: Rows, centers: Floats, origin: Floats, units: Floats) -> Floats:
    """Return the distance of each row (rows, n) to each of the centers (K, n), in units.

    Rows count from the origin, so that distances do not lose digits to a large offset.
    """
    from sklearn.metrics.pairwise import euclidean_distances  # takes seconds to import

    moved, out = (centers - origin) / units, np.empty((len(rows), len(centers)))
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        require_finite(block, block.min(axis=0), block.max(axis=0), start)
        out[start : start + _BLOCK] = euclidean_distances((block.astype(np.float64) - origin) / units, moved)
    return out


@compiled
def _assign(rows, centers, labels, squares):
    """Fill in labels and squares; return whether all are finite."""
    K, n = centers.shape
    tile = np.zeros((n, _TILE))
    best, found = np.empty(_TILE), np.empty(_TILE)
    total = np.empty(_TILE)
    finite = True
    for start in range(0, rows.shape[0], _TILE):
        height = min(_TILE, rows.shape[0] - start)
        for t in range(height):
            for j in range(n):
                tile[j, t] = rows[start + t, j]
        for t in range(_TILE):
            best[t] = np.inf
            found[t] = 0.0
        for k in range(K):
            for t in range(_TILE):
                total[t] = 0.0
            for j in range(n):
                c = centers[k, j]
                for t in range(_TILE):
                    d = tile[j, t] - c
                    total[t] += d * d
            for t in range(_TILE):
                nearer = total[t] < best[t]
                best[t] = total[t] if nearer else best[t]
                found[t] = k if nearer else found[t]
        for t in range(height):
            labels[start + t] = np.int32(found[t])
            squares[start + t] = best[t]
            finite = finite and best[t] < np.inf
    return finite
