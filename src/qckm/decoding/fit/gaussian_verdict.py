"""Whether clusters explain a sketch: what their misfit would be by chance, were the rows drawn from them.

As for k-means (expectation.py): the sketch of N rows is off its expectation by noise of covariance Cov(q)/N, and a fit
follows that noise as far as its unknowns let it. What is left is the part across the derivatives. Both are computed,
from rows drawn of the clusters, as the operator would measure them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.clouds.contributions import measure
from qckm.decoding.fit.gaussians import Fit, Gaussians, Problem

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


class Verdict(NamedTuple):
    """A misfit, and the most of it that chance would leave."""

    misfit: float
    by_chance: float

    @property
    def explained(self) -> bool:
        """Whether nothing is left to explain."""
        return self.misfit <= self.by_chance


def judge(problem: Problem, fit: Fit, rng: np.random.Generator) -> Verdict:
    """Tell whether clusters that were fitted explain the sketch."""
    measured, gaussians = problem.measured, fit.gaussians
    slight = max(_LEFT_OUT * measured.energy(), _LEAST * measured.z.size)
    if 8 * (problem.unknowns + 1) * measured.z.size > _MOST_DERIVATIVES:
        return Verdict(fit.misfit, slight)
    rows = measured.to_centers(draw(problem, gaussians, _ROWS, rng))
    contributions = measure(measured.sketch.operator, rows).astype(np.float64)
    _, atoms, along = problem.residual(gaussians)
    derivatives = problem.derivatives(gaussians, atoms, along)
    products = _products_across(derivatives, contributions - contributions.mean(axis=0))
    squares = np.diag(products)
    # The trace of the covariance, and that of its square from the products of different rows.
    trace = squares.sum() / (_ROWS - 1)
    of_square = max((products**2).sum() - (squares**2).sum(), 0.0) / (_ROWS * (_ROWS - 1))
    by_chance = (trace + _BY_CHANCE * np.sqrt(2 * of_square)) / measured.count
    return Verdict(fit.misfit, max(float(by_chance), slight))


def by_chance(problem: Problem, gaussians: Gaussians, points: Floats, rng: np.random.Generator) -> Problem:
    """Return the problem whose sketch is that of clusters themselves, of as many rows, by chance.

    Points (P, n) of them, in data units, say how contributions vary together: Cov(q)/N.
    """
    measured, some = problem.measured, points[:_ROWS_OF_NOISE]
    contributions = measure(measured.sketch.operator, some).astype(np.float64)
    noise = rng.standard_normal(len(some)) @ (contributions - contributions.mean(axis=0))
    expected = problem.residual(gaussians)[0] + measured.z
    noise = noise.reshape(expected.shape) / np.sqrt(len(some) * measured.count)
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
