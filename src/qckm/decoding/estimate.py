"""How large the sum of squared distances is, from a cloud of rows, and how certain that is.

The squared distance d to the nearest centroid is partly a function of the measurements, d = β·f + e, and of that part
the sketch knows the mean over all rows. What is left to chance is the mean of e, as with any sample. How many rows
drawn at random the sample is worth, for a function of which the measurements know nothing, is seen from measurements
that were held out: calibrated without them, the cloud predicts their means, with errors that should be those of so many
rows. It is never worth more than its effective size.

Centroids are nearer to the rows that they were found with than to others. By how much is seen from halves of the rows:
centroids of the one half, and the distances of the other half to them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.calibration import RIDGE, solve
from qckm.decoding.cloud import Cloud
from qckm.decoding.contributions import Contributions, Singles, measure
from qckm.decoding.known_totals import column_totals, values_at
from qckm.decoding.task import count_rows

# Points and measurements looked at: enough for errors to a tenth.
_POINTS, _FREQUENCIES = 5000, 1000
# Of the frequencies, this share is held out, and so many of their measurements are predicted.
_HELD_OUT, _PREDICTED = 0.2, 32
# Fewer rows cannot explain each other: then they count as a sample that knows of no sketch.
_FEWEST = 200
# Conjugate gradients stop there: a residual's size is known to 1 % then.
_PRODUCTS, _TOLERANCE = 40, 0.01


class Estimate(NamedTuple):
    """A mean squared distance and its standard error."""

    mean: float
    error: float


def estimate(cloud: Cloud, centers: Floats, rng: np.random.Generator) -> Estimate:
    """Estimate the mean squared distance of all rows to the nearest centre, of those found in a cloud of rows."""
    count, size = count_rows(cloud.sketch), cloud.solution.effective_size
    distances = cloud.nearest(centers)[1]
    mean = float(cloud.weights @ distances)
    others = max(0.0, 1 - len(cloud.points) / count)
    if not others or not mean > 0:
        return Estimate(mean, 0.0)
    chance, variance = 1 / size, float(cloud.weights @ (distances / mean - 1) ** 2)
    unexplained = variance
    if len(cloud.points) >= _FEWEST:
        worth, unexplained = _by_chance(cloud, distances / mean, rng)
        chance = max(chance, worth)
    # Weights that reproduce the sketch take back what centroids owe to the chance that the sketch knows of.
    flattery = others * min(1.0, unexplained / max(variance, 1e-300)) * _flattery(cloud, centers, rng)
    return Estimate(mean + flattery, mean * float(np.sqrt(unexplained * chance * others)))


def _flattery(cloud: Cloud, centers: Floats, rng: np.random.Generator) -> float:
    """Return by how much rows are nearer to centroids that were found with them than others are, on average.

    Each half of the rows has centroids of its own, found afresh: the best of many minima is flattered more than the
    nearest one. That the halves differ as such cancels out over both. Centroids of half as many rows are flattered
    twice as much.
    """
    first = rng.permutation(len(cloud.points)) % 2 == 0
    halves = [cloud.some(first), cloud.some(~first)]
    if min(len(half.points) for half in halves) < len(centers):
        return 0.0
    own = [half.cluster(len(centers), [], 1, rng).points for half in halves]
    apart = [half.inertia(own[1 - i]) - half.inertia(own[i]) for i, half in enumerate(halves)]
    return sum(apart) / 2 / 2


def _by_chance(cloud: Cloud, function: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Return the inverse of the rows that a cloud is worth, and the variance of a function that is left to chance."""
    operator = cloud.sketch.operator
    chosen = _some(len(cloud.points), _POINTS, rng)
    which = _some(operator.n_frequencies, _FREQUENCIES, rng)
    held_out = np.tile(rng.permutation(which.size) < max(1, int(_HELD_OUT * which.size)), 2 if operator.paired else 1)
    shares = cloud.prior[chosen] / cloud.prior[chosen].sum()
    known = column_totals(cloud.sketch, cloud.points[chosen], shares)
    matrix = np.concatenate([measure(operator, cloud.points[chosen], which), known], axis=1)
    z = np.concatenate([values_at(cloud.sketch, which), np.zeros(known.shape[1])])
    held_out = np.concatenate([held_out, np.zeros(known.shape[1], bool)])
    kept = np.ascontiguousarray(matrix[:, ~held_out])
    added = cloud.sketch.noise_variance
    weights = solve(Contributions.of_matrix(kept), z[~held_out], shares, added=added).weights
    asked = _some(int(held_out.sum()), _PREDICTED, rng)
    values = matrix[:, held_out][:, asked]
    misses = z[held_out][asked] - weights @ values
    unexplained = float((weights @ _unexplained(kept, weights, values) ** 2).mean())
    weights = cloud.weights[chosen] / cloud.weights[chosen].sum()
    left = weights @ _unexplained(matrix, weights, function[chosen, np.newaxis])[:, 0] ** 2
    missed = max(float((misses**2).mean()) - added, 0.0)  # the noise of a private sketch is nobody's miss
    return missed / max(unexplained, 1e-300), float(left)


def _some(size: int, most: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    return np.arange(size) if size <= most else np.sort(rng.choice(size, most, replace=False))


def _unexplained(matrix: Singles, weights: Floats, targets: npt.NDArray[np.floating]) -> Floats:
    """Return what measurements (P, M) leave of targets (P, T): each half of the points explained by the other half."""
    left = np.empty(targets.shape)
    first = np.arange(len(matrix)) % 2 == 0
    for here in (first, ~first):
        shares = (weights[here] / weights[here].sum()).astype(np.float32)[:, np.newaxis]
        middle = (shares * matrix[here]).sum(axis=0)
        level = (shares * targets[here]).sum(axis=0)
        known, wanted = matrix[here] - middle, (targets[here] - level).astype(np.float32)
        slopes = _ridge_regression(known, shares, wanted)
        left[~here] = targets[~here] - level - (matrix[~here] - middle) @ slopes
    return left


def _ridge_regression(known: Singles, shares: Singles, wanted: Singles) -> Singles:
    """Solve (Σ w f fᵀ + ρI) β = Σ w f y for every column of y, by conjugate gradients."""
    left = known.T @ (shares * wanted)
    slopes = np.zeros_like(left)
    towards, squares = left.copy(), (left**2).sum(axis=0)
    goal = _TOLERANCE**2 * squares
    for _ in range(_PRODUCTS):
        product = known.T @ (shares * (known @ towards)) + np.float32(RIDGE) * towards
        lengths = squares / np.maximum((towards * product).sum(axis=0), 1e-30)
        slopes += lengths * towards
        left -= lengths * product
        new_squares = (left**2).sum(axis=0)
        if (new_squares <= goal).all():
            break
        towards = left + new_squares / np.maximum(squares, 1e-30) * towards
        squares = new_squares
    return slopes
