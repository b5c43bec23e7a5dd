"""Which octave suits the data: the one whose clusters predict best what all octaves measured.

Each octave is decoded alone. Its density then predicts the measurements of the others, of which the fit has seen
nothing. One that is too fine has little but noise to fit, and is wrong about the coarse octaves; one that is too coarse
takes neighbours for one cluster, and is wrong about the fine ones. Were an octave judged by the others only, the one
that is hardest to predict would gain by not having to; so its own measurements count too, with the error that they
would have had if they had not been fitted, as far as that is known (generalised cross-validation).

Errors count by their energy distance (Székely), ∫ |φ(ω) − ψ(ω)|² / ‖ω‖ⁿ⁺¹ dω for the characteristic functions of data
and density: along every direction an octave counts half of the octave below. That is a distance of distributions that
no scale is built into, and as k-means does, it minds rows in the wrong place by how far they are from the right one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.sketch import Sketch, SketchOperator

if TYPE_CHECKING:
    from qckm.decoding.fit.clusters import Mixture
    from qckm.decoding.model.sketch_model import SketchModel


# More than a decoder needs at the scale it is made for: at coarse ones, clusters hardly blur the jumps of a signature.
_N_HARMONICS = 41
# A harmonic that is damped by e to the minus this, or more, is gone.
_GONE = 40.0
# A fit with hardly fewer unknowns than measurements: nobody knows its error, but it is some times that of the fit.
_LEAST_FREEDOM = 0.2


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


def best_octave(parts: Sequence[Sketch], densities: Sequence[Density]) -> int:
    """Return which of the sketches of octaves, the coarsest first, has the density that predicts all of them best."""
    errors = np.array(
        [[((part.values() - predict(part.operator, density)) ** 2).mean() for part in parts] for density in densities]
    )
    return int(scores(errors, [density.unknowns / parts[0].operator.n_measurements for density in densities]).argmin())


def scores(errors: Floats, fitted: Sequence[float]) -> Floats:
    """Return how badly each octave predicts, from mean squared errors (from, to) and its unknowns a measurement."""
    freedom = np.maximum(1 - np.asarray(fitted), _LEAST_FREEDOM)
    honest = errors * np.where(np.eye(len(errors)) == 1, freedom[:, np.newaxis] ** -2, 1.0)
    total: Floats = honest @ 0.5 ** np.arange(len(errors))
    return total


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
