"""The loops of k-means in the C core (kernels/core/decoder.h), called through ctypes: the GIL is let go meanwhile."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qckm.clustering.weighted_kmeans import Run
from qckm.common.arrays import Floats
from qckm.kernels.calling import Struct, call, fields, floats


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
    """Choose K rows far from each other."""
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
