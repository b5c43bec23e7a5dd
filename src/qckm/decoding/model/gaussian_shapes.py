"""Shapes of covariances, as numbers that are free: Σ = φI + LLᵀ, where a shape says which entries L has.

φ is a floor: a sketch does not see what is much finer than its scale, and a likelihood must not be told that there is
nothing at all. Whatever the entries are, Σ is a covariance, so that a fit needs no bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats

# The least standard deviation of a cluster in any direction, in scales of the sketch: 1/rms of a frequency's component.
# A cluster so narrow damps the seventh harmonic by 1 %. Nothing found depends on it where clusters are wider, and what
# is narrower is given this width (docs/guide/mixtures.md).
_LEAST_DEVIATION = 0.02


@dataclass(frozen=True, eq=False)
class Shape:
    """Which entries the factor L = (V, D) has: those of V at some places, then the diagonal of D, or no D.

    Parameters
    ----------
    rows, columns : ndarray of int
        The places of the entries of V.
    width : int
        The columns of V.
    has_diagonal : bool
    frequencies : ndarray of shape (p, m)
        What L sees of the frequencies, b = φ‖ω‖²/2 + ‖Lᵀω‖²/2: p is n, or 1 where all columns share one variance.
    across : ndarray of shape (n,)
        Of a shared variance, how far it reaches in each column; else ones.
    """

    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    width: int
    has_diagonal: bool
    frequencies: Floats
    across: Floats

    @classmethod
    def full(cls, frequencies: Floats) -> Shape:
        """Return the shape of any covariance: L is a lower triangle."""
        n = len(frequencies)
        return cls(*np.tril_indices(n), n, False, frequencies, np.ones(n))

    @classmethod
    def diag(cls, frequencies: Floats) -> Shape:
        """Return the shape with a variance for each column."""
        none = np.zeros(0, np.intp)
        return cls(none, none, 0, True, frequencies, np.ones(len(frequencies)))

    @classmethod
    def spherical(cls, frequencies: Floats, across: Floats) -> Shape:
        """Return the shape with one variance for all columns."""
        norms = np.sqrt(((frequencies * across[:, np.newaxis]) ** 2).sum(axis=0, keepdims=True))
        return replace(cls.diag(norms), across=across)

    @classmethod
    def low_rank(cls, frequencies: Floats, rank: int) -> Shape:
        """Return the shape with a few axes, the columns of V, and a variance for each column of the data."""
        n = len(frequencies)
        rows, columns = np.indices((n, rank)).reshape(2, -1)
        return cls(rows, columns, rank, True, frequencies, np.ones(n))

    @property
    def unknowns(self) -> int:
        """The numbers that are free, a cluster."""
        return self.rows.size + (len(self.frequencies) if self.has_diagonal else 0)

    @property
    def floor(self) -> float:
        """The least variance φ. The frequencies' mean square norm is 1, so that a scale is √n."""
        return _LEAST_DEVIATION**2 * self.across.size

    @cached_property
    def squares(self) -> Floats:
        """The frequencies squared, (p, m)."""
        return self.frequencies**2

    def blurs(self, entries: Floats) -> tuple[Floats, Floats]:
        """Return b = ωᵀΣω/2, (K, m), and Vᵀω, (K, width, m), of entries (K, unknowns)."""
        axes, diagonal = self._parts(entries)
        along = axes.transpose(0, 2, 1) @ self.frequencies
        return ((diagonal**2 + self.floor) @ self.squares + (along**2).sum(axis=1)) / 2, along

    def derivatives(self, entries: Floats, along: Floats) -> Floats:
        """Return how the blurs change with each of the entries, (K, unknowns, m)."""
        of_axes = along[:, self.columns] * self.frequencies[self.rows]
        if not self.has_diagonal:
            return of_axes
        of_diagonal = self._parts(entries)[1][:, :, np.newaxis] * self.squares
        return np.concatenate([of_axes, of_diagonal], axis=1)

    def gradient(self, entries: Floats, along: Floats, by_blur: Floats) -> Floats:
        """Return the derivatives' products with something of the blurs' size (K, m), without writing them out."""
        of_axes = self.frequencies @ (along * by_blur[:, np.newaxis]).transpose(0, 2, 1)
        parts = [of_axes[:, self.rows, self.columns]]
        if self.has_diagonal:
            parts.append(self._parts(entries)[1] * (by_blur @ self.squares.T))
        return np.concatenate(parts, axis=1)

    def covariances(self, entries: Floats) -> Floats:
        """Return Σ: (K, n, n) of entries (K, unknowns)."""
        axes, diagonal = self._parts(entries)
        if len(self.frequencies) < self.across.size:
            diagonal = np.repeat(diagonal, self.across.size, axis=1)
            axes = np.zeros((len(entries), self.across.size, 0))
        variances = (diagonal**2 + self.floor) * self.across**2
        covariances: Floats = axes @ axes.transpose(0, 2, 1) + variances[:, np.newaxis] * np.eye(self.across.size)
        return covariances

    def entries(self, covariances: Floats) -> Floats:
        """Return the entries (K, unknowns) of covariances (K, n, n); of a low rank, see `low_rank_entries`."""
        if not self.has_diagonal:
            values, vectors = np.linalg.eigh(covariances)
            values = np.maximum(values - self.floor, self.floor)
            factors = np.linalg.cholesky((vectors * values[:, np.newaxis]) @ vectors.transpose(0, 2, 1))
            found: Floats = factors[:, self.rows, self.columns]
            return found
        variances = np.diagonal(covariances, axis1=1, axis2=2) / self.across**2
        if len(self.frequencies) < self.across.size:
            variances = variances.mean(axis=1, keepdims=True)
        return self._deviations(variances)

    def low_rank_entries(self, axes: Floats, variances: Floats) -> Floats:
        """Return entries (1, unknowns) of axes V: (n, rank) and variances (n,) beside them."""
        return np.concatenate([axes.ravel(), self._deviations(variances)])[np.newaxis]

    def _deviations(self, variances: Floats) -> Floats:
        """Return the diagonal of D; nowhere 0, where its derivatives are."""
        return np.sqrt(np.maximum(variances - self.floor, self.floor))

    def _parts(self, entries: Floats) -> tuple[Floats, Floats]:
        """Return V: (K, p, width), and the diagonal of D: (K, p), zeros if there is none."""
        axes = np.zeros((len(entries), len(self.frequencies), self.width))
        axes[:, self.rows, self.columns] = entries[:, : self.rows.size]
        diagonal = entries[:, self.rows.size :]
        return axes, diagonal if self.has_diagonal else np.zeros(axes.shape[:2])
