"""What a user should know of centroids before relying on them, in words."""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats
from qckm.sketch import Sketch, SketchOperator

# A column that makes up more than this share of the squared distances is all that clusters are found by: the issue's
# own definition, not a number that steers anything.
_NEARLY_ALL = 0.99
# A centroid is at the edge of the operator's reach if it is within this share of it.
_EDGE = 0.1


def remarks_on(sketch: Sketch, centers: Floats, weights: Floats, distinct_rows: int | None = None) -> tuple[str, ...]:
    """Return what is odd about centroids (K, n) of shares (K,), and about what they are to tell apart.

    Parameters
    ----------
    sketch : Sketch
    centers : ndarray of shape (K, n)
    weights : ndarray of shape (K,)
        Shares of the rows, of sum 1.
    distinct_rows : int, optional
        How many distinct rows were decoded with.
    """
    found = [
        _too_few_rows(len(centers), distinct_rows),
        _coincident(sketch.operator, centers),
        _empty(weights * sketch.count),
        _one_column(sketch.operator, centers, weights),
    ]
    return tuple(words for words in found if words)


def out_of_reach(sketch: Sketch, centers: Floats) -> tuple[str, ...]:
    """Return a doubt where centroids are where the operator has put rows that are too far away for its scale."""
    (least, greatest), (lower, upper) = sketch.operator.reach, sketch.bounds
    margin = _EDGE * (greatest - least) / 2
    below = (lower < least) & (centers >= least) & (centers < least + margin)
    above = (upper > greatest) & (centers <= greatest) & (centers > greatest - margin)
    words = "Some centroids are at the edge of what the operator can code, where rows from further away were put."
    return (words,) if (below | above).any() else ()


def _too_few_rows(n_clusters: int, distinct: int | None) -> str:
    if distinct is None or distinct >= n_clusters:
        return ""
    return f"There are {distinct} distinct rows to decode with, fewer than {n_clusters} clusters."


def _coincident(operator: SketchOperator, centers: Floats) -> str:
    """Tell of centroids in one place: no further apart than rows that the operator takes for equal."""
    places = len(np.unique(np.rint((centers - operator.origin) / operator.steps), axis=0))
    if places == len(centers):
        return ""
    return f"{len(centers)} centroids are in {places} places: there may be fewer clusters than were asked for."


def _empty(counts: Floats) -> str:
    """Tell of centroids that stand for less than half a row."""
    empty = int((counts < 0.5).sum())
    return f"{empty} of {len(counts)} centroids have no rows." if empty else ""


def _one_column(operator: SketchOperator, centers: Floats, weights: Floats) -> str:
    """Tell of a column beside which the others do not count."""
    squares = weights @ (((centers - weights @ centers) / operator.units) ** 2)
    total = float(squares.sum())
    if len(squares) < 2 or not total > 0 or squares.max() <= _NEARLY_ALL * total:
        return ""
    column = int(squares.argmax())
    name = repr(operator.feature_names[column]) if operator.feature_names else str(column)
    return (
        f"Column {name} makes up {squares[column] / total:.2%} of the squared distances between centroids: the others "
        "hardly count. Standardize the columns if they should."
    )
