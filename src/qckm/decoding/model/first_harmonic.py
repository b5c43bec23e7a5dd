"""The paper's model of a sketch: what K weighted points would contribute, and how far that is from the sketch.

A point c contributes the atom a(c) = 2|F₁|·cos(Ωᵀ(c − origin) + ξ + arg F₁), the first harmonic of its signature, and
in a paired sketch the same a quarter turn on (the paper, equation QCKMclustering). Everything here counts in
dimensionless coordinates u = (c − origin) / length, with a length a feature, in proportion to its unit, that makes the
frequencies of order one: solvers then see the same problem whatever the data's units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.model.loops import loops
from qckm.decoding.model.waves import Waves
from qckm.decoding.room import require_room
from qckm.sketch import Sketch


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
            frequencies=np.ascontiguousarray(omega * length[:, np.newaxis]),
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

    def waves(self, sketch: Floats) -> Waves:
        """Return what the loops need to know to explain what is like a sketch (M,): pure tones, of no width."""
        halves = np.append(sketch, np.zeros(0 if self.paired else sketch.size)).reshape(2, -1)
        # a·cos(T) in the measurement at ξ and −b·sin(T) a quarter turn on; a single sketch has b = 0.
        tone = np.array([[self.amplitude, 0.0, 0.0, self.amplitude if self.paired else 0.0]])
        return Waves(self.frequencies, self.phases, np.zeros(self.phases.size), tone, 1, halves)

    def atoms(self, points: Floats) -> Floats:
        """Return the atoms (K, M) of points (K, n)."""
        both = loops().atoms(self.waves(self.z), points, *_no_widths(points))
        return both.reshape(len(points), -1) if self.paired else both[:, 0]

    def residual(self, points: Floats, weights: Floats) -> Floats:
        """Return z − Σ_k α_k a(c_k), (M,)."""
        return self.z - weights @ self.atoms(points)

    def correlation(self, point: Floats, residual: Floats) -> tuple[float, Floats]:
        """Return ⟨a(c) / ‖a(c)‖, r⟩ of one point (n,) and its gradient (step 1)."""
        return loops().correlation(self.waves(residual), point)

    def objective(self, points: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
        """Return ‖z − Σ_k α_k a(c_k)‖² and its gradients by the points (K, n) and the weights (K,) (step 5)."""
        found = loops().misfit(self.waves(self.z), points, weights, *_no_widths(points))
        return found.value, found.by_points, found.by_weights


def _no_widths(points: Floats) -> tuple[Floats, Floats]:
    return np.zeros(len(points)), np.zeros((len(points), 0, points.shape[1]))
