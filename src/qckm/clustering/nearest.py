"""The nearest centroid of each row, by differences: no digits are lost to a large offset, and nothing is copied.

The C core does it (kernels/core/nearest_inc.h), or NumPy where it was not built.
"""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats, Rows
from qckm.kernels import library
from qckm.kernels.library import RowsAt
from qckm.kernels.threads import Tasks, count_threads, share
from qckm.sources.rows import require_finite

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
                require_finite(rows[part], part.start)

    n_tasks = -(-len(rows) // _CHUNK)
    share(work, n_tasks, count_threads(n_jobs) if n_tasks > 1 else 1)
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


def _assign(rows: Rows, centers: Floats, labels: npt.NDArray[np.int32], squares: Floats) -> bool:
    """Fill in labels and squares; return whether all are finite."""
    core = library.load()
    if core is None:
        return _assign_by_numpy(rows, centers, labels, squares)
    held, (K, n) = library.native(rows), centers.shape
    at = ctypes.byref(RowsAt.of(held))
    found = core.qckm_nearest(at, n, centers.ctypes.data, K, labels.ctypes.data, squares.ctypes.data)
    library.require_done(found, "compare rows with centroids")
    return not found


def _assign_by_numpy(rows: Rows, centers: Floats, labels: npt.NDArray[np.int32], squares: Floats) -> bool:
    labels[:], squares[:] = 0, np.inf
    for k, center in enumerate(centers):
        off = ((rows - center) ** 2).sum(axis=1)
        nearer = off < squares
        labels[nearer], squares[nearer] = k, off[nearer]
    return bool(np.isfinite(squares).all())
