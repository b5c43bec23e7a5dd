"""Fit Gaussian clusters to a sketch by least squares: weights, means and covariances together.

Unknowns are x = (logarithms of the weights, means, entries of the covariances' factors): every x is a mixture, and the
weights of each sum to 1. Levenberg and Marquardt's method is at a minimum after some tens of steps, where one that
knows gradients only takes hundreds: covariances of many columns are badly conditioned. Of so many unknowns that a step
takes a second, L-BFGS takes those hundreds, which are then quicker.

Whether clusters explain a sketch is told by what their misfit would be by chance, were the rows drawn from them. As for
k-means (expectation.py): the sketch of N rows is off its expectation by noise of covariance Cov(q)/N, and a fit follows
that noise as far as its unknowns let it. What is left is the part across the derivatives. Both are computed, from rows
drawn of the clusters, as the operator would measure them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.clouds.totals import measure
from qckm.decoding.model.gaussian_model import Atoms, Measured, Shape

# A fit is done where each of three steps brings less than this share of the misfit; or after so many steps.
_TOLERANCE, _RESTING, _MOST_STEPS = 1e-5, 3, 200
# Operations of a step, beyond which L-BFGS takes over: a second's worth or so. Its options:
_MOST_OPERATIONS = 1e9
_OPTIONS: Any = {"maxiter": 2000, "maxfun": 4000, "maxcor": 30, "ftol": 1e-7, "gtol": 1e-10}
# Weights are kept above this: the logarithm of nothing is not a number.
_LEAST_WEIGHT = 1e-12
# Rows drawn: the misfit's mean is then known to a few percent.
_ROWS = 400
# Points whose contributions, in random proportions, are noise.
_ROWS_OF_NOISE = 2000
# How many standard deviations chance may add …
_BY_CHANCE = 4.0
# … and what the model leaves out (the rounding of rows, harmonics beyond the last) may, of the sketch's energy. It is
# less than this, and so much is less than chance leaves up to some million rows.
_LEFT_OUT = 1e-6
# Arithmetic always has some noise, rows that are all alike have none. A measurement:
_LEAST = 1e-9
# Directions in which unknowns move the sketch by less than this share of the most, squared, they hardly move it in.
_LEAST_MOVE = 1e-10
# Bytes of all derivatives, beyond which nothing is left to chance.
_MOST_DERIVATIVES = 1 << 30


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


def explains(problem: Problem, fit: Fit, rng: np.random.Generator) -> bool:
    """Tell whether clusters that were fitted explain the sketch: whether their misfit is what chance would leave.

    The noise of a private sketch is of one variance in every measurement, and comes on top of that of the rows.
    """
    measured, gaussians = problem.measured, fit.gaussians
    slight = max(_LEFT_OUT * measured.energy, _LEAST * measured.z.size)
    if 8 * (problem.unknowns + 1) * measured.z.size > _MOST_DERIVATIVES:
        return fit.misfit <= slight
    rows = measured.to_centers(draw(problem, gaussians, _ROWS, rng))
    contributions = measure(measured.sketch.operator, rows).astype(np.float64)
    _, atoms, along = problem.residual(gaussians)
    derivatives = problem.derivatives(gaussians, atoms, along)
    products = _products_across(derivatives, contributions - contributions.mean(axis=0))
    squares = np.diag(products)
    # The trace of the covariance, and that of its square from the products of different rows.
    trace = squares.sum() / (_ROWS - 1)
    of_square = max((products**2).sum() - (squares**2).sum(), 0.0) / (_ROWS * (_ROWS - 1))
    by_rows, added = trace / measured.count, measured.sketch.noise_variance
    free = max(measured.z.size - problem.unknowns, 0)
    variance = 2 * (of_square / measured.count**2 + 2 * added * by_rows + added**2 * free)
    by_chance = by_rows + added * free + _BY_CHANCE * np.sqrt(variance)
    return fit.misfit <= max(float(by_chance), slight)


def by_chance(problem: Problem, gaussians: Gaussians, points: Floats, rng: np.random.Generator) -> Problem:
    """Return the problem whose sketch is that of clusters themselves, of as many rows, by chance.

    Points (P, n) of them, in data units, say how contributions vary together: Cov(q)/N. Noise of privacy is drawn anew.
    """
    measured, some = problem.measured, points[:_ROWS_OF_NOISE]
    contributions = measure(measured.sketch.operator, some).astype(np.float64)
    noise = rng.standard_normal(len(some)) @ (contributions - contributions.mean(axis=0))
    expected = problem.residual(gaussians)[0] + measured.z
    noise = noise.reshape(expected.shape) / np.sqrt(len(some) * measured.count)
    if measured.sketch.private:
        noise += np.sqrt(measured.sketch.noise_variance) * rng.standard_normal(expected.shape)
    return replace(problem, measured=replace(measured, z=expected + noise))


def draw(problem: Problem, gaussians: Gaussians, count: int, rng: np.random.Generator) -> Floats:
    """Draw points (count, n) from clusters, in a fit's coordinates."""
    which = rng.choice(len(gaussians.weights), size=count, p=gaussians.weights)
    factors = np.linalg.cholesky(problem.shape.covariances(gaussians.entries))
    normal = rng.standard_normal((count, problem.measured.n_features))
    drawn: Floats = gaussians.means[which] + np.einsum("inj,ij->in", factors[which], normal)
    return drawn


def _products_across(derivatives: Floats, contributions: Floats) -> Floats:
    """Return the products (rows, rows) of the parts of contributions (rows, M) across the derivatives (unknowns, M)."""
    scaled = derivatives / np.maximum(np.linalg.norm(derivatives, axis=1, keepdims=True), 1e-300)
    values, vectors = np.linalg.eigh(scaled @ scaled.T)
    kept = values > _LEAST_MOVE * values[-1]
    along = (contributions @ scaled.T) @ (vectors[:, kept] / np.sqrt(values[kept]))
    return np.asarray(contributions @ contributions.T - along @ along.T)
