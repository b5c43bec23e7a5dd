"""The pilot: a few thousand rows, drawn once and looked at before the pass, for settings and to decode with."""

from __future__ import annotations

from dataclasses import dataclass
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
    """Distinct rows (P, n), sorted, each with its weight: the same whatever the order, weights or repeats."""

    rows: Floats
    weights: Floats

    def mean(self) -> Floats:
        """Return the weighted mean, (n,)."""
        return np.average(self.rows, axis=0, weights=self.weights)

    def spread(self) -> Floats:
        """Return the weighted standard deviation of each feature, (n,)."""
        return np.sqrt(np.average((self.rows - self.mean()) ** 2, axis=0, weights=self.weights))

    def deviation(self) -> float:
        """Return the standard deviation in one direction, over all of them."""
        return float(np.sqrt((self.spread() ** 2).mean()))


def choose_pilot_size(n_clusters: int | None) -> int:
    """Choose how many rows a pilot has for K clusters."""
    return max(PILOT_ROWS, _ROWS_A_CLUSTER * (n_clusters or 0))


def draw_pilot(
    X: npt.NDArray[Any],
    sample_weight: npt.NDArray[Any] | None,
    rng: np.random.Generator,
    size: int = PILOT_ROWS,
) -> Pilot:
    """Draw at most `size` of the rows X: (rows, n), from all of them, in proportion to their weights."""
    counts = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    chosen = choose_rows(len(X), counts, rng, size)
    return pilot_of(X, counts) if chosen is None else pilot_of(X[chosen], None)


def choose_rows(
    n_rows: int, weights: npt.NDArray[Any] | None, rng: np.random.Generator, size: int = PILOT_ROWS
) -> npt.NDArray[np.int64] | None:
    """Choose `size` row numbers in proportion to the weights, sorted; None where there are no more rows than that."""
    if n_rows <= size:
        return None
    if weights is None:
        return np.sort(rng.choice(n_rows, size, replace=False))
    edges = np.cumsum(weights)
    return np.sort(np.searchsorted(edges, rng.random(size) * edges[-1], side="right"))


def pilot_of(X: npt.NDArray[Any], sample_weight: npt.NDArray[Any] | None) -> Pilot:
    """Return the pilot that rows X: (rows, n) and their weights are; refuse what k-means cannot add up."""
    counts = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    rows = np.asarray(X, np.float64)
    require_finite(rows, rows.min(axis=0), rows.max(axis=0))
    largest = np.abs(rows).max()
    if largest and not _SMALLEST <= largest <= 1 / _SMALLEST:
        raise QckmError(
            f"Expected values of a size from {_SMALLEST} to {1 / _SMALLEST}, got up to {largest:.3g}: their squares, "
            "which k-means adds up, are no float64. Rescale the data."
        )
    rows, which = np.unique(rows[counts > 0], axis=0, return_inverse=True)
    weights: Floats = np.bincount(which.ravel(), counts[counts > 0]).astype(np.float64)
    return Pilot(rows, weights)
