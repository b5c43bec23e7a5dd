"""The paper's model of a sketch: what K weighted points would contribute, and how far that is from the sketch.

A point c contributes the atom a(c) = 2|F₁|·cos(Ωᵀ(c − origin) + ξ + arg F₁), the first harmonic of its signature, and
in a paired sketch the same a quarter turn on (the paper, equation QCKMclustering). Everything here counts in
dimensionless coordinates u = (c − origin) / length, with a length a feature, in proportion to its unit, that makes the
frequencies of order one: solvers then see the same problem whatever the data's units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qckm.sketch import Sketch

Floats = npt.NDArray[np.float64]


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

    def atoms(self, points: Floats) -> Floats:
        """Return the atoms (K, M) of points (K, n)."""
        return self._atoms_and_slopes(points)[0]

    def _atoms_and_slopes(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the atoms (K, M) and their derivatives by the phase."""
        phases = points @ self.frequencies + self.phases
        cosine, sine = self.amplitude * np.cos(phases), self.amplitude * np.sin(phases)
        if not self.paired:
            return cosine, -sine
        return np.concatenate([cosine, -sine], axis=1), np.concatenate([-sine, -cosine], axis=1)

    def _pull_back(self, slopes: Floats) -> Floats:
        """Turn derivatives by the phases (K, M) into derivatives by the points (K, n)."""
        m = self.phases.size
        by_phase = slopes[:, :m] + slopes[:, m:] if self.paired else slopes
        gradient: Floats = by_phase @ self.frequencies.T
        return gradient

    def correlation(self, point: Floats, residual: Floats) -> tuple[float, Floats]:
        """Return ⟨a(c) / ‖a(c)‖, r⟩ of one point (n,) and its gradient (step 1)."""
        atom, slope = (part[0] for part in self._atoms_and_slopes(point[np.newaxis]))
        norm = np.linalg.norm(atom)
        value = float(atom @ residual / norm)
        # d(a·r/‖a‖) = a'·(r/‖a‖ − (a·r)·a/‖a‖³); in a paired sketch ‖a‖ is constant and the second part vanishes.
        by_phase = slope * (residual / norm - value * atom / norm**2)
        return value, self._pull_back(by_phase[np.newaxis])[0]

    def residual(self, points: Floats, weights: Floats) -> Floats:
        """Return z − Σ_k α_k a(c_k), (M,)."""
        return self.z - weights @ self.atoms(points)

    def objective(self, points: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
        """Return ‖z − Σ_k α_k a(c_k)‖² and its gradients by the points (K, n) and the weights (K,)."""
        atoms, slopes = self._atoms_and_slopes(points)
        residual = self.z - weights @ atoms
        by_points = self._pull_back(-2 * weights[:, np.newaxis] * slopes * residual)
        return float(residual @ residual), by_points, -2 * (atoms @ residual)
