"""What the misfit of a mixture should be, were the rows drawn from it.

The sketch of N rows is off its expectation e = E q by noise of covariance Cov(q)/N. A fit follows that noise as far as
its unknowns let it: what is left is the part across the mixture's tangent space. Measurements at low frequencies say
much the same, so a few unknowns can follow most of their noise; counting unknowns and measurements would expect several
times the misfit that there is, and take wrong clusters for right. So both are computed, from rows drawn of the mixture.

The noise of a private sketch comes on top, of the same variance v in every measurement and independent of all: what is
left of it is v for each direction across the tangent space.

The sums of columns take no part in a fit, so that they tell whether clusters that explain a sketch do so by accident:
with few measurements, clusters elsewhere may (`column_gap`). Were the rows drawn from the clusters, their fit would
follow the noise of the sketch through h·(z − E z), with h in the tangent space so that Tᵀh is how a column's total
changes with each unknown. The total g of the rows follows their own noise. Their difference is the mean of h·f − g over
the rows, whose covariance is computed, from rows drawn of the clusters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.model.loops import MORE_HARMONICS
from qckm.decoding.model.mixture import Mixture
from qckm.decoding.model.sketch_model import SketchModel, loops
from qckm.decoding.task import require_memory

# Rows drawn of a mixture: a deviation is known to a twentieth then.
_ROWS = 300
_STEP = 1e-5
# Directions in which a mixture moves its sketch by less than this share of the most, squared, it hardly moves in.
_LEAST_MOVE = 1e-10
# How many standard deviations chance may add …
BY_CHANCE = 4.0
# … and what the model leaves out (higher harmonics, tails) may, of the sketch's energy.
LEFT_OUT = 1e-4
# Bytes of all tangents. They are there three times at once.
_MOST_TANGENTS = 1 << 30
# Arithmetic always has some noise, rows that are all alike have none.
_LEAST = 1e-9
# Of so many columns at most, chosen at random: more tell the same. Rows drawn for each of their totals.
_MOST_COLUMNS, _ROWS_A_TOTAL = 50, 20


class Expectation(NamedTuple):
    """Mean and standard deviation of the misfit, and what is too little to care."""

    mean: float
    deviation: float
    slight: float

    @property
    def by_chance(self) -> float:
        """The most that chance may leave."""
        return self.mean + BY_CHANCE * self.deviation

    @property
    def goal(self) -> float:
        """A misfit that leaves nothing to explain."""
        return max(self.by_chance, self.slight)


def expected_misfit(model: SketchModel, mixture: Mixture, shared_width: bool, rng: np.random.Generator) -> Expectation:
    """Return what to expect of a mixture that was fitted with widths of their own, or a shared one.

    Of thousands of unknowns, at tens of thousands of frequencies, it would take gigabytes to tell. Then nothing is left
    to chance: clusters have to explain the sketch except for what is too little to matter.
    """
    slight = _slight(model)
    if too_many(model, mixture):
        return Expectation(0.0, 0.0, slight)
    drawn = model.contributions(mixture.draw(_ROWS, rng))
    tangents = tangents_of(model, mixture, shared_width)
    basis, _ = basis_of(tangents / np.maximum(np.linalg.norm(tangents, axis=1, keepdims=True), 1e-300))
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


def _slight(model: SketchModel) -> float:
    """Return a misfit that is too little to care."""
    return max(LEFT_OUT * model.energy, _LEAST * model.n_measurements)


def too_many(model: SketchModel, mixture: Mixture) -> bool:
    """Return whether tangents would take gigabytes; refuse what takes more than there is."""
    tangents = 8 * mixture.unknowns * model.waves.z.size
    if tangents <= _MOST_TANGENTS:
        require_memory(3 * tangents, f"Telling what {mixture.unknowns} unknowns explain")
    return tangents > _MOST_TANGENTS


def tangents_of(model: SketchModel, mixture: Mixture, shared_width: bool) -> Floats:
    """Return how the mixture's sketch changes with each unknown, (unknowns, 2·m), up to factors."""
    waves, (points, widths, axes), atoms = model.waves, mixture.shape, loops().atoms
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


def _across(basis: Floats, contributions: Floats) -> Floats:
    """Return the part of contributions (rows, 2·m), about their mean, that is across orthonormal directions."""
    centred = contributions - contributions.mean(axis=0)
    return np.asarray(centred - (centred @ basis.T) @ basis)


def basis_of(tangents: Floats) -> tuple[Floats, Floats]:
    """Return an orthonormal basis (d, 2·m) of what tangents (unknowns, 2·m) span, and roots: it is rootsᵀ·tangents."""
    values, vectors = np.linalg.eigh(tangents @ tangents.T)
    kept = values > _LEAST_MOVE * values[-1]
    roots: Floats = vectors[:, kept] / np.sqrt(values[kept])
    return roots.T @ tangents, roots


def worthless(model: SketchModel, mixture: Mixture, missed: Floats, level: float) -> npt.NDArray[np.bool_]:
    """Return which clusters, (K,), are what noise brings about somewhere more often than `level`.

    `missed` is by how much the misfit grows without each, which is 2σ² a nat of likelihood. A cluster could be in as
    many places as the noise tells apart, P: in one of them, noise explains log(P/level) nats with that chance.
    """
    K, n = mixture.points.shape
    if too_many(model, mixture):
        return np.zeros(K, bool)
    variance = max(model.noise, _slight(model)) / model.n_measurements
    tangents = tangents_of(model, mixture, True)[: K * (n + 1)].reshape(n + 1, K, -1)
    moves = tangents * np.append(1 / K, model.deviation)[:, np.newaxis, np.newaxis]
    grams = np.einsum("ikm,jkm->kij", moves, moves)
    places = np.linalg.slogdet(np.eye(n + 1) + grams / variance)[1] / 2
    found: npt.NDArray[np.bool_] = missed / (2 * variance) < places - np.log(level)
    return found


def leaves_out_much(model: SketchModel, width: float) -> bool:
    """Return whether harmonics that a model leaves out are more than too little to care, of clusters of a width."""
    return unseen(model, width) * model.energy > _slight(model)


def unseen(model: SketchModel, width: float) -> float:
    """Return which share of their energy round clusters of a width have in harmonics that a model leaves out."""
    if model.signature.is_pure_tone:
        return 0.0
    seen, step = len(model.waves.harmonics), model.waves.step
    orders = 1 + step * np.arange(4 * MORE_HARMONICS[step])  # beyond these, a per cent is left at most
    blurs = width * model.waves.halves[: model.n_frequencies]
    damping = np.exp(-2 * np.multiply.outer(blurs, orders**2)).mean(axis=0)
    energies = np.abs(model.signature.harmonics[orders]) ** 2 * damping
    return float(energies[seen:].sum() / energies.sum())


def column_gap(model: SketchModel, mixture: Mixture, shared_width: bool, rng: np.random.Generator) -> float:
    """Return how far clusters are from the columns' means and variances, in deviations of what chance leaves.

    It is the root of the mean square; 0 where the sums of columns are not known, or telling takes gigabytes.
    """
    if model.column_means is None or model.column_variances is None or too_many(model, mixture):
        return 0.0
    varied = np.flatnonzero(model.column_variances > 0)
    if not varied.size:
        return 0.0
    which = varied if varied.size <= _MOST_COLUMNS else rng.choice(varied, _MOST_COLUMNS, replace=False)
    means, deviations = model.column_means[which], np.sqrt(model.column_variances[which])
    share = max(mixture.weights.sum(), np.finfo(np.float64).tiny)
    points, axes = (mixture.points[:, which] - means) / deviations, mixture.axes[:, :, which] / deviations
    widths = mixture.widths[:, np.newaxis] / deviations**2
    totals = np.concatenate([points, points**2 + widths + (axes**2).sum(axis=1)], axis=1)  # of each cluster, (K, 2n)
    off = mixture.weights / share @ totals - np.repeat([0.0, 1.0], which.size)
    drawn = mixture.draw(_ROWS_A_TOTAL * len(off), rng)
    of_rows = (drawn[:, which] - means) / deviations
    tangents = tangents_of(model, mixture, shared_width)
    sizes = np.maximum(np.linalg.norm(tangents, axis=1), 1e-300)
    basis, roots = basis_of(tangents / sizes[:, np.newaxis])
    moved = _totals_moved(mixture, totals, points, widths, axes, which, shared_width)
    followed = model.contributions(drawn) @ basis.T @ (roots.T @ (moved / sizes[:, np.newaxis]))
    left = followed - np.concatenate([of_rows, of_rows**2], axis=1)
    left -= left.mean(axis=0)
    chance = left.T @ left / (len(left) * model.count) + LEFT_OUT * np.eye(len(off))
    square = float(off @ np.linalg.solve(chance, off))
    return float(np.sqrt(square / len(off)))


def _totals_moved(
    mixture: Mixture,
    totals: Floats,
    points: Floats,
    widths: Floats,
    axes: Floats,
    which: npt.NDArray[np.intp],
    shared_width: bool,
) -> Floats:
    """Return how the totals (2n) change with each unknown, (unknowns, 2n), in the order of `tangents_of`."""
    K, n = mixture.points.shape
    weights, place = mixture.weights[:, np.newaxis], {int(column): i for i, column in enumerate(which)}
    nothing = np.zeros((K, 2 * which.size))

    def moved(column: int, by_mean: Floats | float, by_square: Floats) -> Floats:
        found = nothing.copy()
        if column in place:
            found[:, place[column]], found[:, which.size + place[column]] = by_mean, by_square
        return found

    lengths = np.zeros(n)
    lengths[which] = np.sqrt(widths[0] / mixture.widths[0])
    found = [totals]
    for column in range(n):
        inside = points[:, place[column]] if column in place else np.zeros(K)
        by_mean = weights[:, 0] * lengths[column]
        found.append(moved(column, by_mean, 2 * by_mean * inside))
    wider = np.concatenate([nothing[:, : which.size], weights * widths], axis=1)
    found.append(wider.sum(axis=0, keepdims=True) if shared_width else wider)
    for r, column in np.ndindex(*mixture.axes.shape[1:]):
        along = axes[:, r, place[column]] if column in place else np.zeros(K)
        found.append(moved(column, 0.0, 2 * weights[:, 0] * lengths[column] * along))
    return np.concatenate(found)
