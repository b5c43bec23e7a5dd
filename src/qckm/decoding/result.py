"""What a decoder returns."""

from __future__ import annotations

from dataclasses import dataclass

from qckm.common.arrays import Floats


@dataclass(frozen=True, eq=False)
class Clustering:
    """K centroids found in a sketch.

    Parameters
    ----------
    centers : ndarray of shape (K, n)
        In data units, the heaviest first.
    weights : ndarray of shape (K,)
        Shares of the rows, ≥ 0 and of sum 1.
    spreads : ndarray of shape (K,)
        Standard deviation of each cluster in one direction, in the operator's units; 0 where the decoder models
        points, as CL-OMPR does.
    objective : float
        ‖z − Σ_k α_k A c_k‖², what was minimised, before the weights were made to sum to 1. Where "matched" fits
        densities of more than K clusters, as on real data, that of the best of these.
    explained : float
        Share of the sketch's energy ‖z‖² that K clusters explain: Gaussians, or for CL-OMPR points. What is missing may
        be clusters that K is too small for, or their shape.
    n_iter : int
        Evaluations of the objective, over all replicates.
    converged : bool or None
        The decoder's verdict: whether the centroids explain the sketch, down to its sampling noise or at least stably;
        None where the decoder has none, as CL-OMPR.
    octave : int or None
        Of a sketch at several scales, the one that was decoded: `sketch.octave(octave)`.
    """

    centers: Floats
    weights: Floats
    spreads: Floats
    objective: float
    explained: float
    n_iter: int
    converged: bool | None = None
    octave: int | None = None
