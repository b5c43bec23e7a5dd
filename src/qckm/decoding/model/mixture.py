"""Clusters as a mixture: in a model's coordinates, as they are fitted, and in data units, as a density.

What any operator would measure of a density is known: `predict`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.model.sketch_model import SketchModel
from qckm.sketch import SketchOperator

# Harmonics of a prediction, more than a decoder needs at the scale it is made for: at coarse ones, clusters hardly blur
# the jumps of a signature.
_N_HARMONICS = 41
# A harmonic that is damped by e to the minus this, or more, is gone.
_GONE = 40.0


class Mixture(NamedTuple):
    """Clusters N(c, τI + Σ_r v_r v_rᵀ): their points, weights, widths τ and axes v, and their misfit to the sketch."""

    points: Floats  # (K, n)
    weights: Floats  # (K,)
    widths: Floats  # (K,)
    axes: Floats  # (K, r, n); r = 0 for round clusters
    misfit: float

    @property
    def shape(self) -> tuple[Floats, Floats, Floats]:
        """Where the clusters are and how far they reach: what their atoms depend on."""
        return self.points, self.widths, self.axes

    @property
    def unknowns(self) -> int:
        """The numbers that were fitted."""
        return self.points.size + self.weights.size + self.widths.size + self.axes.size

    def some(self, which: npt.NDArray[np.intp]) -> Mixture:
        """Return some of the clusters, as they are."""
        return Mixture(self.points[which], self.weights[which], self.widths[which], self.axes[which], np.inf)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw points (count, n) from the mixture."""
        shares = self.weights + np.finfo(np.float64).tiny  # where there is no weight at all, as much of each
        which = rng.choice(len(shares), size=count, p=shares / shares.sum())
        around = np.sqrt(self.widths[which])[:, np.newaxis] * rng.standard_normal((count, self.points.shape[1]))
        along = rng.standard_normal((count, self.axes.shape[1]))
        drawn: Floats = self.points[which] + around + np.einsum("ir,irn->in", along, self.axes[which])
        return drawn


class Density(NamedTuple):
    """Clusters N(c, σ²I + Σ_r v_r v_rᵀ) in data units, except σ, which is in the operator's units."""

    centers: Floats  # (L, n)
    weights: Floats  # (L,)
    spreads: Floats  # (L,)
    axes: Floats  # (L, r, n)

    @classmethod
    def of(cls, model: SketchModel, mixture: Mixture) -> Density:
        """Return a mixture, which is in a model's coordinates, in data units."""
        points, weights, widths, axes, _ = mixture
        return cls(model.to_centers(points), weights, np.sqrt(widths) * model.spread, axes * model.length)

    @property
    def unknowns(self) -> int:
        """The numbers that were fitted."""
        return sum(part.size for part in self)


def predict(operator: SketchOperator, density: Density, n_harmonics: int = _N_HARMONICS) -> Floats:
    """Return what an operator would measure of a density, (M,), through the harmonics below a number."""
    centers, weights, spreads, axes = density
    omega = operator.frequencies
    phases = (centers - operator.origin) @ omega + operator.phases
    norms = ((omega * operator.units[:, np.newaxis]) ** 2).sum(axis=0)
    shares = weights / max(weights.sum(), np.finfo(np.float64).tiny)
    blurs = (np.multiply.outer(spreads**2, norms) + ((axes @ omega) ** 2).sum(axis=1)) / 2
    harmonics = operator.signature.harmonics
    quarters = np.array([1, 1j] if operator.paired else [1])
    values = np.full((len(quarters), phases.shape[1]), harmonics[0].real)
    for h in range(1, min(n_harmonics, len(harmonics))):
        if h**2 * blurs.min() > _GONE:
            break
        if abs(harmonics[h]) > 1e-9:
            blurred = shares @ np.exp(1j * h * phases - h**2 * blurs)
            values += 2 * (harmonics[h] * np.multiply.outer(quarters**h, blurred)).real
    return values.ravel()
