"""The paper's model of a sketch: what K weighted points would contribute, and how far that is from the sketch.

A point c contributes the atom a(c) = 2|F₁|·cos(Ωᵀ(c − origin) + ξ + arg F₁), the first harmonic of its signature, and
in a paired sketch the same a quarter turn on (the paper, equation QCKMclustering). Everything here counts in
dimensionless coordinates u = (c − origin) / length, with a length a feature, in proportion to its unit, that makes the
frequencies of order one: solvers then see the same problem whatever the data's units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.room import require_room
from qckm.sketch import Sketch

if TYPE_CHECKING:
    from qckm.decoding.descent import Tones


@dataclass(frozen=True, eq=False)
class FirstHarmonicModel:
    """Points seen through the first harmonic of one operator, beside the sketch z: (M,) they should explain."""

    z: Floats
    frequencies: Floats  # (n, m), radians a length
    phases: Floats  # (m,), ξ + arg F₁
    amplitude: float
    paired: bool
    origin: Floats
    length: Floats  # (n,)

    @classmethod
    def of(cls, sketch: Sketch) -> FirstHarmonicModel:
        """Return the model of a sketch."""
        operator = sketch.operator
        signature = operator.signature
        require_room(operator.n_features, operator.n_frequencies)
        omega = operator.frequencies
        length = operator.units / np.sqrt(((omega * operator.units[:, np.newaxis]) ** 2).sum(axis=0).mean())
        return cls(
            z=sketch.values() - signature.harmonics[0].real,
            frequencies=omega * length[:, np.newaxis],
            phases=operator.phases + np.angle(signature.harmonics[1]),
            amplitude=signature.amplitude,
            paired=operator.paired,
            origin=operator.origin,
            length=length,
        )

    def to_points(self, centers: Floats) -> Floats:
        """Turn data units into the model's coordinates."""
        return (centers - self.origin) / self.length

    def to_centers(self, points: Floats) -> Floats:
        """Turn the model's coordinates into data units."""
        return points * self.length + self.origin

    @property
    def tones(self) -> Tones:
        """What the compiled loops need to know of the operator."""
        from qckm.decoding.descent import Tones  # here and below: numba takes its time to import

        return Tones(self.frequencies, self.phases, self.amplitude, self.amplitude if self.paired else 0.0)

    def fold(self, sketch: Floats) -> Floats:
        """Turn what is like a sketch (M,) into its two halves (2, m), the second 0 in a single sketch."""
        return np.append(sketch, np.zeros(0 if self.paired else sketch.size)).reshape(2, -1)

    def atoms(self, points: Floats) -> Floats:
        """Return the atoms (K, M) of points (K, n)."""
        from qckm.decoding.descent import atoms

        both: Floats = atoms(self.tones, points)
        return both.reshape(len(points), -1) if self.paired else both[:, 0]

    def residual(self, points: Floats, weights: Floats) -> Floats:
        """Return z − Σ_k α_k a(c_k), (M,)."""
        return self.z - weights @ self.atoms(points)

    def correlation(self, point: Floats, residual: Floats) -> tuple[float, Floats]:
        """Return ⟨a(c) / ‖a(c)‖, r⟩ of one point (n,) and its gradient (step 1)."""
        from qckm.decoding.descent import correlation

        scratch, gradient = np.empty((2, self.phases.size)), np.empty(point.size)
        value = correlation(self.tones, self.fold(residual), point, scratch[0], scratch[1], gradient)
        return value, gradient

    def objective(self, points: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
        """Return ‖z − Σ_k α_k a(c_k)‖² and its gradients by the points (K, n) and the weights (K,) (step 5)."""
        from qckm.decoding.descent import objective

        cosine, sine = np.empty((2, len(points), self.phases.size))
        by_points, by_weights, z = np.empty(points.shape), np.empty(weights.shape), self.fold(self.z)
        value = objective(self.tones, z, points, weights, cosine, sine, np.empty_like(z), by_points, by_weights)
        return value, by_points, by_weights
