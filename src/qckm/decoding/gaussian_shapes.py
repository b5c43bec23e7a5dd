"""Shapes of covariances, as numbers that are free: Σ = φI + LLᵀ, where a shape says which entries L has.

φ is a floor: a sketch does not see what is much finer than its scale, and a likelihood must not be told that there is
nothing at all. Whatever the entries are, Σ is a covariance, so that a fit needs no bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats

# The least standard deviation of a cluster in any direction, in scales of the sketch: 1/rms of a frequency's component.
# A cluster so narrow damps the seventh harmonic by 1 %. Nothing found depends on it where clusters are wider, and what
# is narrower is given this width (experiments/mixtures.py, `floor`).
_LEAST_DEVIATION = 0.02


@dataclass(frozen=True, eq=False)
class Shape:
    """Which entries the factor L: (p, q) has.

    Parameters
    ----------
    rows, columns : ndarray of int
        The places of the entries in L.
    size : pair of int
        (p, q): p is n, or 1 where all columns share one variance.
    frequencies : ndarray of shape (p, m)
        What L sees of the frequencies: b = φ‖ω‖²/2 + ‖Lᵀω‖²/2.
    across : ndarray of shape (n,)
        Of a shared variance, how far it reaches in each column; else ones.
    """

    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    size: tuple[int, int]
    frequencies: Floats
    across: Floats

    @classmethod
    def full(cls, frequencies: Floats) -> Shape:
        """Any covariance: L is a lower triangle."""
        n = len(frequencies)
        return cls(*np.tril_indices(n), (n, n), frequencies, np.ones(n))

    @classmethod
    def diag(cls, frequencies: Floats) -> Shape:
        """A variance for each column."""
        n = len(frequencies)
        return cls(np.arange(n), np.arange(n), (n, n), frequencies, np.ones(n))

    @classmethod
    def spherical(cls, frequencies: Floats, across: Floats) -> Shape:
        """One variance for all columns."""
        norms = np.sqrt(((frequencies * across[:, np.newaxis]) ** 2).sum(axis=0, keepdims=True))
        return cls(np.zeros(1, np.intp), np.zeros(1, np.intp), (1, 1), norms, across)

    @classmethod
    def low_rank(cls, frequencies: Floats, rank: int) -> Shape:
        """A few directions, and a variance for each column: L = (V, D)."""
        n = len(frequencies)
        i, j = np.indices((n, rank)).reshape(2, -1)
        rows, columns = np.concatenate([i, np.arange(n)]), np.concatenate([j, rank + np.arange(n)])
        return cls(rows, columns, (n, rank + n), frequencies, np.ones(n))

    @property
    def unknowns(self) -> int:
        """The numbers that are free, a cluster."""
        return self.rows.size

    @property
    def floor(self) -> float:
        """The least variance φ. The frequencies' mean square norm is 1, so that a scale is √n."""
        return _LEAST_DEVIATION**2 * self.across.size

    def blurs(self, entries: Floats) -> tuple[Floats, Floats]:
        """Return b = ωᵀΣω/2, (K, m), and Lᵀω, (K, q, m), of entries (K, unknowns)."""
        along = self._factors(entries).transpose(0, 2, 1) @ self.frequencies
        halves = (self.frequencies**2).sum(axis=0) / 2
        return self.floor * halves + (along**2).sum(axis=1) / 2, along

    def covariances(self, entries: Floats) -> Floats:
        """Return Σ: (K, n, n) of entries (K, unknowns)."""
        factors = self._factors(entries)
        inner = factors @ factors.transpose(0, 2, 1) + self.floor * np.eye(self.size[0])
        if self.size[0] < self.across.size:
            return inner * np.diag(self.across**2)
        covariances: Floats = inner
        return covariances

    def entries(self, covariances: Floats) -> Floats:
        """Return entries (K, unknowns) of covariances (K, n, n) like these; of a low rank, see `low_rank_entries`."""
        variances = np.maximum(np.diagonal(covariances, axis1=1, axis2=2) / self.across**2, 2 * self.floor)
        if self.size[0] < self.across.size:
            return np.sqrt(variances.mean(axis=1, keepdims=True) - self.floor)
        if self.unknowns == self.size[0]:
            return np.sqrt(variances - self.floor)
        values, vectors = np.linalg.eigh(covariances)
        values = np.maximum(values - self.floor, self.floor)
        factors = np.linalg.cholesky((vectors * values[:, np.newaxis]) @ vectors.transpose(0, 2, 1))
        found: Floats = factors[:, self.rows, self.columns]
        return found

    def low_rank_entries(self, axes: Floats, variances: Floats) -> Floats:
        """Return entries (1, unknowns) of axes V: (n, rank) and variances (n,) beside them."""
        deviations = np.sqrt(np.maximum(variances - self.floor, self.floor))
        return np.concatenate([axes.ravel(), deviations])[np.newaxis]

    def _factors(self, entries: Floats) -> Floats:
        found = np.zeros((len(entries), *self.size))
        found[:, self.rows, self.columns] = entries
        return found
