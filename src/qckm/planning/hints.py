"""What a pilot tells a decoder."""

from __future__ import annotations

from dataclasses import dataclass, replace

from qckm.common.arrays import Floats


@dataclass(frozen=True, eq=False)
class Hints:
    """A few rows, looked at before the pass.

    Parameters
    ----------
    rows, weights : ndarray of shape (P, n), (P,), optional
        The rows, in data units, and what each stands for; None where they were not kept.
    centers : ndarray of shape (K, n), optional
        Their k-means centroids, in data units, where they are known.
    deviation : ndarray of shape (n,), optional
        The standard deviation of the data by feature, where it is known.
    of_all : bool, default False
        Whether the rows were drawn from the very rows that were sketched.
    """

    rows: Floats | None
    weights: Floats | None
    centers: Floats | None = None
    deviation: Floats | None = None
    of_all: bool = False

    def without_rows(self) -> Hints:
        """Return the same without any row: what may be kept, and travel."""
        return replace(self, rows=None, weights=None)
