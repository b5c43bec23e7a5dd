"""What Gaussian clusters of any covariance contribute to a sketch, and the derivatives: matrix products in NumPy.

A cluster N(μ, Σ) of weight α adds to the measurements of a frequency ω, with T = ω·μ + ξ and b = ωᵀΣω/2,

    α Σ_h exp(−h²·b) · Re(2F_h·e^{ihT})     and, of a paired sketch,     α Σ_h exp(−h²·b) · Re(2F_h·iʰ·e^{ihT}).

Everything counts in coordinates u = (x − origin) / length, in which the frequencies are of order one: solvers then see
the same problem whatever the data's units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.room import require_room
from qckm.decoding.task import count_rows
from qckm.sketch import Sketch

# Harmonics beyond this order are left out. A cluster as narrow as the floor of gaussian_fit.py lets a few percent of
# them through; what they carry is below the noise of a million rows.
_HIGHEST_ORDER = 41
# A harmonic that is damped by e to the minus this, or more, is gone.
_GONE = 20.0
# Harmonics smaller than this are none, but the rounding of a signature's table.
_NO_HARMONIC = 1e-4


class Atoms(NamedTuple):
    """Contributions of clusters, and their derivatives by phase and by blur, (K, s, m) each; s is 2 for paired."""

    values: Floats
    by_phase: Floats
    by_blur: Floats


@dataclass(frozen=True, eq=False)
class Measured:
    """A sketch as a fit sees it."""

    sketch: Sketch
    frequencies: Floats  # (n, m), of mean square norm 1
    phases: Floats  # (m,)
    orders: npt.NDArray[np.int64]  # of the harmonics, (H,)
    coefficients: npt.NDArray[np.complex128]  # 2F_h, (H,)
    z: Floats  # (s, m), less the mean of the signature
    origin: Floats
    length: Floats  # (n,): one of these coordinates, in data units
    count: float  # of rows, as far as it is known

    @classmethod
    def of(cls, sketch: Sketch) -> Measured:
        """Look at all measurements of a sketch: of several octaves, at all of them."""
        operator = sketch.operator
        require_room(operator.n_features, operator.n_frequencies)
        omega = operator.frequencies
        squares = ((omega * operator.units[:, np.newaxis]) ** 2).sum(axis=0).mean()
        length = operator.units / np.sqrt(squares)
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

    def to_points(self, centers: Floats) -> Floats:
        """Turn data units into the coordinates here."""
        return (centers - self.origin) / self.length

    def to_centers(self, points: Floats) -> Floats:
        """Turn the coordinates here into data units."""
        return points * self.length + self.origin

    def energy(self) -> float:
        """Return ‖z‖²."""
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
