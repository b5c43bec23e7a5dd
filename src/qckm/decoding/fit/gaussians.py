"""Fit Gaussian clusters to a sketch by least squares: weights, means and covariances together.

Unknowns are x = (logarithms of the weights, means, entries of the covariances' factors): every x is a mixture, and the
weights of each sum to 1. Levenberg and Marquardt's method is at a minimum after some tens of steps, where one that
knows gradients only takes hundreds: covariances of many columns are badly conditioned. Of so many unknowns that a step
takes a second, L-BFGS takes those hundreds, which are then quicker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.model.gaussian_model import Atoms, Measured
from qckm.decoding.model.gaussian_shapes import Shape

# A fit is done where each of three steps brings less than this share of the misfit; or after so many steps.
_TOLERANCE, _RESTING, _MOST_STEPS = 1e-5, 3, 200
# Operations of a step, beyond which L-BFGS takes over: a second's worth or so. Its options:
_MOST_OPERATIONS = 1e9
_OPTIONS: Any = {"maxiter": 2000, "maxfun": 4000, "maxcor": 30, "ftol": 1e-7, "gtol": 1e-10}
# Weights are kept above this: the logarithm of nothing is not a number.
_LEAST_WEIGHT = 1e-12


class Gaussians(NamedTuple):
    """Clusters N(μ, Σ) in a fit's coordinates: weights (K,) of sum 1, means (K, n), and entries of Σ (K, p)."""

    weights: Floats
    means: Floats
    entries: Floats


class Fit(NamedTuple):
    """Clusters, what they leave of the sketch, squared, and the evaluations it took."""

    gaussians: Gaussians
    misfit: float
    n_evaluations: int


@dataclass(frozen=True, eq=False)
class Problem:
    """A sketch to explain by K clusters of a shape."""

    measured: Measured
    shape: Shape
    n_clusters: int

    @property
    def unknowns(self) -> int:
        """The numbers to find: of the weights, which sum to 1, one is known."""
        return self.n_clusters * (1 + self.measured.n_features + self.shape.unknowns) - 1

    def pack(self, gaussians: Gaussians) -> Floats:
        """Return the unknowns x of clusters."""
        logarithms = np.log(np.maximum(gaussians.weights, _LEAST_WEIGHT))
        return np.concatenate([logarithms, gaussians.means.ravel(), gaussians.entries.ravel()])

    def unpack(self, x: Floats) -> Gaussians:
        """Undo `pack`."""
        K, n = self.n_clusters, self.measured.n_features
        weights = np.exp(x[:K] - x[:K].max())
        entries = x[K + K * n :].reshape(K, -1)
        return Gaussians(weights / weights.sum(), x[K : K + K * n].reshape(K, n), entries)

    def residual(self, gaussians: Gaussians) -> tuple[Floats, Atoms, Floats]:
        """Return what clusters add beyond the sketch (s, m), their atoms, and the frequencies along the axes."""
        blurs, along = self.shape.blurs(gaussians.entries)
        atoms = self.measured.atoms(gaussians.means, blurs)
        return np.tensordot(gaussians.weights, atoms.values, 1) - self.measured.z, atoms, along

    def derivatives(self, gaussians: Gaussians, atoms: Atoms, along: Floats) -> Floats:
        """Return how the measurements change with each of the unknowns, (unknowns + 1, M)."""
        values, by_phase, by_blur = atoms
        weights = gaussians.weights[:, np.newaxis, np.newaxis]
        middle = np.tensordot(gaussians.weights, values, 1)
        by_weights = weights * (values - middle)
        by_means = (weights * by_phase)[:, np.newaxis] * self.measured.frequencies[:, np.newaxis]
        reach = self.shape.derivatives(gaussians.entries, along)
        by_entries = (weights * by_blur)[:, np.newaxis] * reach[:, :, np.newaxis]
        size = self.measured.z.size
        return np.concatenate([part.reshape(-1, size) for part in (by_weights, by_means, by_entries)])

    def gradient(self, gaussians: Gaussians, atoms: Atoms, along: Floats, left: Floats) -> Floats:
        """Return the derivatives' products with something of the sketch's size (s, m), without writing them out."""
        values, by_phase, by_blur = atoms
        weights = gaussians.weights
        of_weights = np.tensordot(values, left, ((1, 2), (0, 1)))
        of_weights = weights * (of_weights - weights @ of_weights)
        turned = weights[:, np.newaxis] * np.einsum("ksm,sm->km", by_phase, left)
        blurred = weights[:, np.newaxis] * np.einsum("ksm,sm->km", by_blur, left)
        of_entries = self.shape.gradient(gaussians.entries, along, blurred)
        return np.concatenate([of_weights, (turned @ self.measured.frequencies.T).ravel(), of_entries.ravel()])

    def fit(self, start: Gaussians, most_steps: int = _MOST_STEPS) -> Fit:
        """Descend from a start to a minimum of the misfit."""
        x = self.pack(start)
        if float(x.size) ** 2 * self.measured.z.size > _MOST_OPERATIONS:
            return self._fit_by_gradients(x)
        return self._fit_by_derivatives(x, most_steps)

    def _fit_by_derivatives(self, x: Floats, most_steps: int) -> Fit:
        damping, factor, evaluations, resting = 1e-3, 2.0, 1, 0
        gaussians = self.unpack(x)
        left, atoms, along = self.residual(gaussians)
        value = float((left**2).sum())
        for _ in range(most_steps):
            derivatives = self.derivatives(gaussians, atoms, along)
            gram, slope = derivatives @ derivatives.T, derivatives @ left.ravel()
            diagonal = np.diag(gram) + 1e-12 * np.trace(gram) / len(gram)
            better = False
            while damping < 1e10:
                step = _solve(gram, damping * diagonal, slope)
                tried = self.unpack(x - step)
                new_left, new_atoms, new_along = self.residual(tried)
                new_value = float((new_left**2).sum())
                evaluations += 1
                promised = float(step @ (damping * diagonal * step + slope))
                gain = (value - new_value) / promised if promised > 0 else -1.0
                if gain > 1e-4:
                    better = True
                    break
                damping, factor = damping * factor, factor * 2
            if not better:
                break
            brought = (value - new_value) / max(value, 1e-300)
            x, gaussians, left, atoms, along, value = x - step, tried, new_left, new_atoms, new_along, new_value
            damping, factor = max(damping * max(1 / 3, 1 - (2 * gain - 1) ** 3), 1e-12), 2.0
            resting = resting + 1 if brought < _TOLERANCE else 0
            if resting == _RESTING:
                break
        return Fit(gaussians, value, evaluations)

    def _fit_by_gradients(self, x: Floats) -> Fit:
        from scipy.optimize import minimize

        def misfit(x: Floats) -> tuple[float, Floats]:
            gaussians = self.unpack(x)
            left, atoms, along = self.residual(gaussians)
            return float((left**2).sum()), 2 * self.gradient(gaussians, atoms, along, left)

        found = minimize(misfit, x, jac=True, method="L-BFGS-B", options=_OPTIONS)
        return Fit(self.unpack(found.x), float(found.fun), int(found.nfev))


def _solve(gram: Floats, damping: Floats, slope: Floats) -> Floats:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    damped = gram + np.diag(damping)
    try:
        step: Floats = cho_solve(cho_factor(damped), slope)
    except LinAlgError:
        step = np.asarray(np.linalg.lstsq(damped, slope, rcond=None)[0], np.float64)
    return step
