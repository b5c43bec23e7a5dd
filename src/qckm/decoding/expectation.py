"""What the misfit of a mixture should be, were the rows drawn from it.

The sketch of N rows is off its expectation e = E q by noise of covariance Cov(q)/N. A fit follows that noise as far as
its unknowns let it: what is left is the part across the mixture's tangent space. Measurements at low frequencies say
much the same, so a few unknowns can follow most of their noise; counting unknowns and measurements would expect several
times the misfit that there is, and take wrong clusters for right. So both are computed, from rows drawn of the mixture.

The noise of a private sketch comes on top, of the same variance v in every measurement and independent of all: what is
left of it is v for each direction across the tangent space.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.fitting import Mixture
from qckm.decoding.room import require_memory
from qckm.decoding.sketch_model import SketchModel
from qckm.decoding.waves import atoms

_ROWS = 300
_STEP = 1e-5
# Directions in which a mixture moves its sketch by less than this share of the most, squared, it hardly moves in.
_LEAST_MOVE = 1e-10
# How many standard deviations chance may add …
_BY_CHANCE = 4.0
# … and what the model leaves out (higher harmonics, tails) may, of the sketch's energy.
_LEFT_OUT = 1e-4
# Bytes of all tangents. They are there three times at once.
_MOST_TANGENTS = 1 << 30
# Arithmetic always has some noise, rows that are all alike have none.
_LEAST = 1e-9


class Expectation(NamedTuple):
    """Mean and standard deviation of the misfit, and what is too little to care."""

    mean: float
    deviation: float
    slight: float

    @property
    def by_chance(self) -> float:
        """The most that chance may leave."""
        return self.mean + _BY_CHANCE * self.deviation

    @property
    def goal(self) -> float:
        """A misfit that leaves nothing to explain."""
        return max(self.by_chance, self.slight)


def expected_misfit(model: SketchModel, mixture: Mixture, shared_width: bool, rng: np.random.Generator) -> Expectation:
    """Return what to expect of a mixture that was fitted with widths of their own, or a shared one.

    Of thousands of unknowns, at tens of thousands of frequencies, it would take gigabytes to tell. Then nothing is left
    to chance: clusters have to explain the sketch but for what is too little to care.
    """
    slight = max(_LEFT_OUT * model.energy(), _LEAST * model.n_measurements)
    tangents = 8 * mixture.unknowns * model.waves.z.size
    if tangents > _MOST_TANGENTS:
        return Expectation(0.0, 0.0, slight)
    require_memory(3 * tangents, f"Telling what {mixture.unknowns} unknowns explain")
    drawn = model.contributions(mixture.draw(_ROWS, rng))
    basis = _basis(_tangents(model, mixture, shared_width))
    left = _across(basis, drawn)
    products = left @ left.T
    squares = np.diag(products)
    # The trace of the covariance, and that of its square from the products of different rows.
    trace = squares.mean()
    of_square = ((products**2).sum() - (squares**2).sum()) / (len(left) * (len(left) - 1))
    by_rows, by_rows_squared, added = float(trace) / model.count, float(of_square) / model.count**2, model.added
    free = max(model.n_measurements - len(basis), 0)
    variance = 2 * (by_rows_squared + 2 * added * by_rows + added**2 * free)
    return Expectation(by_rows + added * free, float(np.sqrt(variance)), slight)


def _tangents(model: SketchModel, mixture: Mixture, shared_width: bool) -> Floats:
    """Return how the mixture's sketch changes with each unknown, (unknowns, 2·m), but for factors."""
    waves, (points, widths, axes) = model.waves, mixture.shape
    base = atoms(waves, points, widths, axes)
    weights = mixture.weights[:, np.newaxis, np.newaxis]
    found = [base]
    for i in range(points.shape[1]):
        moved = points.copy()
        moved[:, i] += _STEP
        found.append(weights * (atoms(waves, moved, widths, axes) - base) / _STEP)
    wider = weights * (atoms(waves, points, widths * (1 + _STEP), axes) - base) / _STEP
    found.append(wider.sum(axis=0, keepdims=True) if shared_width else wider)
    for r, i in np.ndindex(*axes.shape[1:]):
        turned = axes.copy()
        turned[:, r, i] += _STEP
        found.append(weights * (atoms(waves, points, widths, turned) - base) / _STEP)
    return np.concatenate([part.reshape(len(part), -1) for part in found])


def _basis(tangents: Floats) -> Floats:
    """Return orthonormal directions (rank, 2·m) that span the tangents."""
    sizes = np.maximum(np.linalg.norm(tangents, axis=1, keepdims=True), 1e-300)
    values, vectors = np.linalg.eigh((tangents / sizes) @ (tangents / sizes).T)
    kept = values > _LEAST_MOVE * values[-1]
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T @ (tangents / sizes))


def _across(basis: Floats, contributions: Floats) -> Floats:
    """Return the part of contributions (rows, 2·m), about their mean, that is across orthonormal directions."""
    centred = contributions - contributions.mean(axis=0)
    return np.asarray(centred - (centred @ basis.T) @ basis)
