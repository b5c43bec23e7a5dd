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
        What is left of the sketch, squared: of "clompr" ‖z − Σ_k α_k A c_k‖², before the weights were made to sum to 1;
        of "matched" what the cloud leaves that is clustered.
    explained : float
        Share of the sketch's energy ‖z‖² that K clusters explain: Gaussians, or for CL-OMPR points. What is missing may
        be clusters that K is too small for, or their shape.
    n_iter : int
        Evaluations of the objective, over all replicates.
    converged : bool or None
        The decoder's verdict: whether the sketch settles where the centroids are; None where the decoder has none, as
        CL-OMPR.
    octave : int or None
        Of a sketch at several scales, the one where clusters were found: `sketch.octave(octave)`.
    inertia, inertia_error : float or None
        The sum of squared distances of all rows to their centroids, in the operator's units, as far as the sketch
        tells, and its standard error; None for CL-OMPR, which models points.
    remarks : tuple of str
        What to know before relying on the centroids: why the verdict is what it is, centroids that coincide or have no
        rows, a column beside which no other counts, one that numbers or names rows, rows that are all the same.
    """

    centers: Floats
    weights: Floats
    spreads: Floats
    objective: float
    explained: float
    n_iter: int
    converged: bool | None = None
    octave: int | None = None
    inertia: float | None = None
    inertia_error: float | None = None
    remarks: tuple[str, ...] = ()
