"""What Gaussian clusters of any covariance contribute to a sketch, and the derivatives: matrix products in NumPy.

A cluster N(μ, Σ) of weight α adds to the measurements of a frequency ω, with T = ω·μ + ξ and b = ωᵀΣω/2,

    α Σ_h exp(−h²·b) · Re(2F_h·e^{ihT})     and, of a paired sketch,     α Σ_h exp(−h²·b) · Re(2F_h·iʰ·e^{ihT}).

Covariances are numbers that are free: Σ = φI + LLᵀ, where a shape says which entries L has. φ is a floor: a sketch does
not see what is much finer than its scale, and a likelihood must not be told that there is nothing at all. Whatever the
entries are, Σ is a covariance, so that a fit needs no bounds.

Everything counts in coordinates in which the frequencies are of order one (sketch_model.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.model.sketch_model import Coordinates, length_of
from qckm.decoding.task import count_rows, require_room
from qckm.sketch import Sketch

# Harmonics beyond this order are left out. A cluster as narrow as the floor below lets a few percent of them through;
# what they carry is below the noise of a million rows.
_HIGHEST_ORDER = 41
# A harmonic that is damped by e to the minus this, or more, is gone.
_GONE = 20.0
# Harmonics smaller than this are none, but the rounding of a signature's table.
_NO_HARMONIC = 1e-4
# The least standard deviation of a cluster in any direction, in scales of the sketch: 1/rms of a frequency's component.
# A cluster so narrow damps the seventh harmonic by 1 %. Nothing found depends on it where clusters are wider, and what
# is narrower is given this width (docs/guide/mixtures.md).
_LEAST_DEVIATION = 0.02


class Atoms(NamedTuple):
    """Contributions of clusters, and their derivatives by phase and by blur, (K, s, m) each; s is 2 for paired."""

    values: Floats
    by_phase: Floats
    by_blur: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured(Coordinates):
    """A sketch as a fit sees it."""

    sketch: Sketch
    frequencies: Floats  # (n, m), of mean square norm 1
    phases: Floats  # (m,)
    orders: npt.NDArray[np.int64]  # of the harmonics, (H,)
    coefficients: npt.NDArray[np.complex128]  # 2F_h, (H,)
    z: Floats  # (s, m), less the mean of the signature
    count: float  # of rows, as far as it is known

    @classmethod
    def of(cls, sketch: Sketch) -> Measured:
        """Look at all measurements of a sketch: of several octaves, at all of them."""
        operator = sketch.operator
        require_room(operator.n_features, operator.n_frequencies)
        omega = operator.frequencies
        length = length_of(operator, omega)
        harmonics = operator.signature.harmonics[: _HIGHEST_ORDER + 1]
        orders = 1 + np.flatnonzero(np.abs(harmonics[1:]) > _NO_HARMONIC * np.abs(harmonics[1]))
        z = sketch.values() - harmonics[0].real
        return cls(
            sketch=sketch,
            frequencies=omega * length[:, np.newaxis],
            phases=operator.phases,
            orders=orders,
            coefficients=2 * harmonics[orders],
            z=z.reshape(-1, operator.n_frequencies),
            origin=operator.origin,
            length=length,
            count=count_rows(sketch),
        )

    @property
    def n_features(self) -> int:
        """The columns of the data, n."""
        return len(self.frequencies)

    @property
    def energy(self) -> float:
        """‖z‖²."""
        return float((self.z**2).sum())

    def atoms(self, means: Floats, blurs: Floats) -> Atoms:
        """Return what clusters at means (K, n) contribute whose blurs b are given at each frequency, (K, m)."""
        phase = (means @ self.frequencies + self.phases).ravel()
        blur = blurs.ravel()
        sums = np.zeros((3, len(self.z), blur.size))
        for order, coefficient in zip(self.orders.tolist(), self.coefficients.tolist(), strict=True):
            alive = np.flatnonzero(order**2 * blur < _GONE)
            if not alive.size:
                break
            wave = coefficient * np.exp(1j * order * phase[alive] - order**2 * blur[alive])
            for half in range(len(self.z)):
                turned = wave * (1, 1j, -1, -1j)[order * half % 4]
                sums[0, half, alive] += turned.real
                sums[1, half, alive] -= order * turned.imag
                sums[2, half, alive] -= order**2 * turned.real
        shaped = sums.reshape(3, len(self.z), *blurs.shape).transpose(0, 2, 1, 3)
        return Atoms(*shaped)


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
        """The numbers that are free, per cluster."""
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
