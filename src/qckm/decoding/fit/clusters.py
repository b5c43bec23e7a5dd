"""Fit clusters to a sketch: points, weights and widths together; or the weights alone.

L-BFGS within bounds, all of it in the C core. A step costs little more than evaluating the misfit, so that a search can
afford thousands of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.model.loops import Rules, Waves, loops
from qckm.decoding.model.mixture import Mixture
from qckm.kernels.threads import one_thread

Widths = Literal["fixed", "shared", "own"]

_NARROWEST = 1e-4  # a width of 0 would have no derivative of its logarithm


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
        found, tau = loops().fit(self.waves, (K, r, free), tau, evenness, x, low, high, rules)
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
