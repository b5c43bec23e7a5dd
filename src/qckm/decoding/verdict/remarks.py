"""What a user should know of what was found before relying on it: codes for programs, and their words for people."""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats
from qckm.errors import Remark
from qckm.planning.column_checks import doubts_of_sketch
from qckm.planning.pilot import Pilot
from qckm.sketch import Sketch, SketchOperator

# A centroid is at the edge of the operator's reach if it is within this share of it.
_EDGE = 0.1

POOR_FIT = (
    "Several different sets of centroids fit this sketch: these may be wrong. Rows to decode with, more frequencies, "
    "another scale or another number of clusters may help."
)
POOR_MIXTURE = (
    "The mixture may make the rows much less likely than the best one would. Rows to decode with, more of them, more "
    "frequencies, another scale, fewer components or simpler covariances may help."
)
POOR_AXES = (
    "The principal components may be turned far from those of all rows. Rows to decode with, more frequencies or "
    "another number of components may help."
)
CUT_SHORT = Remark("The search was stopped: these are the best centroids so far.", code="cut short")


def remarks_on(sketch: Sketch, centers: Floats, weights: Floats, sample: Pilot | None = None) -> tuple[Remark, ...]:
    """Return what is odd about centroids (K, n) of shares (K,), and about what they are to tell apart.

    Parameters
    ----------
    sketch : Sketch
    centers : ndarray of shape (K, n)
    weights : ndarray of shape (K,)
        Shares of the rows, of sum 1.
    sample : Pilot, optional
        The rows that were decoded with.
    """
    identical = _identical(sketch)
    if identical:
        return (identical,)
    rows = counts = None
    if sample is not None:
        rows, which = np.unique(sample.rows, axis=0, return_inverse=True)
        counts = np.bincount(which.ravel(), sample.weights).astype(np.float64)
    found = [
        _too_few_rows(len(centers), None if rows is None else len(rows)),
        _coincident(sketch.operator, centers),
        _empty(weights * sketch.count) if sketch.exact else None,
        *doubts_of_sketch(sketch, _variances(sketch, centers, weights), rows, counts),
    ]
    return tuple(remark for remark in found if remark)


def _variances(sketch: Sketch, centers: Floats, weights: Floats) -> Floats:
    """Return the variances of the columns, in units: those of the rows, or of the centroids where no more is known."""
    known, units = sketch.column_variances, sketch.operator.units
    if known is None:
        known = weights @ (centers - weights @ centers) ** 2
    return known / units**2


def out_of_reach(sketch: Sketch, centers: Floats) -> tuple[Remark, ...]:
    """Return a doubt where centroids are where the operator has put rows that are too far away for its scale."""
    (least, greatest), (lower, upper) = sketch.operator.reach, sketch.bounds
    margin = _EDGE * (greatest - least) / 2
    below = (lower < least) & (centers >= least) & (centers < least + margin)
    above = (upper > greatest) & (centers <= greatest) & (centers > greatest - margin)
    words = "Some centroids are at the edge of what the operator can code, where rows from further away were put."
    return (Remark(words, code="out of reach"),) if (below | above).any() else ()


def _too_few_rows(n_clusters: int, distinct: int | None) -> Remark | None:
    if distinct is None or distinct >= n_clusters:
        return None
    are = "is 1 distinct row" if distinct == 1 else f"are {distinct} distinct rows"
    words = f"There {are} to decode with, fewer than the {n_clusters} clusters asked for: choose a smaller K."
    return Remark(words, code="too few rows")


def _identical(sketch: Sketch) -> Remark | None:
    """Tell of rows that are all the same, as far as they are coded."""
    (lower, upper), variances = sketch.bounds, sketch.column_variances
    if not sketch.count > 1 or not ((lower == upper).all() if variances is None else not variances.any()):
        return None
    words = "All rows are the same: there is nothing to cluster. Check which file and which columns were read."
    return Remark(words, code="identical rows")


def _coincident(operator: SketchOperator, centers: Floats) -> Remark | None:
    """Tell of centroids in one place: no further apart than rows that the operator takes for equal."""
    places = len(np.unique(np.rint((centers - operator.origin) / operator.steps), axis=0))
    if places == len(centers):
        return None
    words = f"{len(centers)} centroids are in {places} place{'s' * (places > 1)}: choose a smaller K."
    return Remark(words, code="coincident")


def _empty(counts: Floats) -> Remark | None:
    """Tell of centroids that stand for less than half a row."""
    empty = int((counts < 0.5).sum())
    if not empty:
        return None
    return Remark(f"{empty} of {len(counts)} centroids have no rows: choose a smaller K.", code="empty")
