"""Whether clusters that were fitted to a sketch have the means and variances that its columns have.

The sums of columns take no part in the fit, so that they tell whether clusters that explain a sketch do so by accident:
with few measurements, clusters elsewhere may. Were the rows drawn from the clusters, their fit would follow the noise
of the sketch through h·(z − E z), with h in the tangent space so that Tᵀh is how a column's total changes with each
unknown (expectation.py). The total g of the rows follows their own noise. Their difference is the mean
of h·f − g over the rows, whose covariance is computed, from rows drawn of the clusters.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.fit.clusters import Mixture
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.search.expectation import LEFT_OUT, basis_of, tangents_of, too_many

# Of so many columns at most, chosen at random: more tell the same. Rows drawn for each of their totals.
_MOST_COLUMNS, _ROWS_A_TOTAL = 50, 20


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
    moved = _moved(mixture, totals, points, widths, axes, which, shared_width)
    followed = model.contributions(drawn) @ basis.T @ (roots.T @ (moved / sizes[:, np.newaxis]))
    left = followed - np.concatenate([of_rows, of_rows**2], axis=1)
    left -= left.mean(axis=0)
    chance = left.T @ left / (len(left) * model.count) + LEFT_OUT * np.eye(len(off))
    square = float(off @ np.linalg.solve(chance, off))
    return float(np.sqrt(square / len(off)))


def _moved(
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
