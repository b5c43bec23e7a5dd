"""Clusters as a mixture: in a model's coordinates, as they are fitted, and in data units, as a density.

A fit moves points, weights and widths together: L-BFGS within bounds, all of it in the C core. A step costs little more
than evaluating the misfit, so that a search can afford thousands of them. What any operator would measure of a density
is known: `predict`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.model.loops import Rules, Sizes, Waves
from qckm.decoding.model.sketch_model import SketchModel, loops
from qckm.kernels.threads import one_thread
from qckm.sketch import SketchOperator

# Harmonics of a prediction, more than a decoder needs at the scale it is made for: at coarse ones, clusters hardly blur
# the jumps of a signature.
_N_HARMONICS = 41
# A harmonic that is damped by e to the minus this, or more, is gone.
_GONE = 40.0
_NARROWEST = 1e-4  # a width of 0 would have no derivative of its logarithm

Widths = Literal["fixed", "shared", "own"]


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

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Draw points (count, n) from the mixture."""
        shares = self.weights + np.finfo(np.float64).tiny  # where there is no weight at all, as much of each
        which = rng.choice(len(shares), size=count, p=shares / shares.sum())
        around = np.sqrt(self.widths[which])[:, np.newaxis] * rng.standard_normal((count, self.points.shape[1]))
        along = rng.standard_normal((count, self.axes.shape[1]))
        drawn: Floats = self.points[which] + around + np.einsum("ir,irn->in", along, self.axes[which])
        return drawn


@dataclass(frozen=True, eq=False)
class Problem:
    """A sketch to fit, and the bounds: points within a box, weights at 0 or above, widths up to the widest."""

    waves: Waves
    lower: Floats
    upper: Floats

    @cached_property
    def widest(self) -> float:
        """The widest cluster that frequencies can tell from no cluster: several times the length of the lowest."""
        squares = 2 * self.waves.halves
        return float(16 / np.quantile(squares[squares > 0], 0.02))

    def fit(
        self,
        start: Mixture,
        iterations: int,
        widths: Widths = "shared",
        evenness: float = 0.0,
        tolerance: float = 1e-4,
    ) -> tuple[Mixture, int]:
        """Minimise the misfit; return the mixture and the evaluations it took.

        `evenness` is the price of widths that differ (times the sum of squares of their logarithms' deviations). Stops
        after `iterations`, or when ten of them bring less than `tolerance` of the misfit.
        """
        K, r, n = start.axes.shape
        free = {"fixed": 0, "shared": 1, "own": K}[widths]
        longest = np.full(K * r * n, np.sqrt(self.widest))
        low = np.concatenate([np.tile(self.lower, K), np.zeros(K), np.full(free, _NARROWEST), -longest])
        high = np.concatenate([np.tile(self.upper, K), np.full(K, 2.0), np.full(free, self.widest), longest])
        tau = start.widths
        first = {"fixed": tau[:0], "shared": tau.mean(keepdims=True), "own": tau}[widths]
        x = np.concatenate([start.points.ravel(), start.weights, first, start.axes.ravel()])
        rules = Rules(iterations, every=10, gain=tolerance)
        found, tau = loops().fit(self.waves, Sizes(K, r, free, evenness), tau, x, low, high, rules)
        points, weights, _, axes = np.split(found.x, [K * n, K * n + K, K * n + K + free])
        return Mixture(points.reshape(K, n), weights, tau, axes.reshape(K, r, n), found.value), found.evaluations


def non_negative_weights(atoms: Floats, z: Floats) -> tuple[Floats, float]:
    """Solve min ‖z − Σ_k α_k a_k‖² over α ≥ 0 for atoms (K, M); return α and that minimum.

    By the normal equations, K × K where the atoms are K × M: their triangular factor poses the same problem to the
    solver in K rows instead of M. A whisper on the diagonal keeps the factor defined when two atoms coincide.
    """
    from scipy.optimize import nnls  # here: takes half a second to import, and rows that were kept need none of it

    gram = atoms @ atoms.T
    gram[np.diag_indices_from(gram)] *= 1 + 1e-10
    factor = np.linalg.cholesky(gram + 1e-13 * np.trace(gram) * np.eye(len(gram)))
    with one_thread():  # of SciPy's libraries, which may not have been there when a decoder said so
        weights, _ = nnls(factor.T, np.linalg.solve(factor, atoms @ z), maxiter=100 * len(gram))
    residual = z - weights @ atoms
    return weights, float(residual @ residual)


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
