"""The pilot: a few thousand rows with weights, looked at before the pass, for settings and to decode with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.errors import QckmError
from qckm.sources.rows import require_finite

# Rows of a pilot at least, where there are as many, and a cluster: what it is clustered by needs some of each.
PILOT_ROWS, _ROWS_A_CLUSTER = 5000, 50
# Beyond these, squares overflow or vanish.
_SMALLEST = 1e-150


@dataclass(frozen=True, eq=False)
class Pilot:
    """Some rows, in data units, and what they tell a decoder.

    Parameters
    ----------
    rows, weights : ndarray of shape (P, n), (P,)
        Rows, and what each stands for: none where they were not kept. Those that were drawn are distinct, and sorted.
    centers : ndarray of shape (K, n), optional
        Their k-means centroids, where they are known.
    spread : ndarray of shape (n,), optional
        The standard deviation of the data by feature, where it is known.
    of_all : bool, default False
        Whether the rows were drawn from the very rows that were sketched.
    """

    rows: Floats
    weights: Floats
    centers: Floats | None = None
    spread: Floats | None = None
    of_all: bool = False

    def without_rows(self) -> Pilot:
        """Return the same without any row: what may be kept, and travel."""
        return replace(self, rows=np.empty((0, self.rows.shape[1])), weights=np.empty(0))

    def mean(self) -> Floats:
        """Return the weighted mean, (n,)."""
        return np.average(self.rows, axis=0, weights=self.weights)

    def deviations(self) -> Floats:
        """Return the weighted standard deviation of each feature, (n,)."""
        return np.sqrt(np.average((self.rows - self.mean()) ** 2, axis=0, weights=self.weights))

    def deviation(self) -> float:
        """Return the standard deviation in one direction, over all of them."""
        return float(np.sqrt((self.deviations() ** 2).mean()))

    def repeated(self, size: int) -> Floats:
        """Return at most `size` rows, each about as often as its weight says: for those who take no weights."""
        edges = np.cumsum(self.weights)
        count = min(size, max(1, round(float(edges[-1]))))
        which = np.searchsorted(edges, (np.arange(count) + 0.5) * (edges[-1] / count), side="right")
        repeated: Floats = self.rows[which]
        return repeated


def choose_pilot_size(n_clusters: int | None) -> int:
    """Choose how many rows a pilot has for K clusters."""
    return max(PILOT_ROWS, _ROWS_A_CLUSTER * (n_clusters or 0))


def pilot_of(X: npt.NDArray[Any], sample_weight: npt.NDArray[Any] | None) -> Pilot:
    """Return the pilot that rows X: (rows, n) and their weights are; refuse what k-means cannot add up."""
    counts = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    rows = np.asarray(X, np.float64)
    require_finite(rows, rows.min(axis=0), rows.max(axis=0))
    largest = np.abs(rows).max()
    if largest and not _SMALLEST <= largest <= 1 / _SMALLEST:
        raise QckmError(
            f"Expected values of a size from {_SMALLEST} to {1 / _SMALLEST}, got up to {largest:.3g} in column "
            f"{int(np.abs(rows).max(axis=0).argmax())} (the first is 0): their squares, which k-means adds up, are no "
            "float64. Rescale the data, or remove such rows if they are mistakes."
        )
    rows, which = np.unique(rows[counts > 0], axis=0, return_inverse=True)
    weights: Floats = np.bincount(which.ravel(), counts[counts > 0]).astype(np.float64)
    return Pilot(rows, weights)
