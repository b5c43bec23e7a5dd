"""What is known of single columns beside the sum: the least and greatest value of each, and moments of all rows.

The moments are sums of codes, of their squares, and of products of columns: integers as the sketch itself, so that any
partition of the rows gives the same. 2n numbers, and n(n − 1)/2 products of up to 64 columns.

Bounds are no sums. They merge, but rows that are taken out may have set them, and then nobody knows those of the rows
that are left. Such a bound is NaN from then on, so that nothing of the rows that went is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qckm.common.arrays import Floats, Wide, add_wide, floats_of, integers_of, is_wide
from qckm.kernels.reference import CODE_LIMIT
from qckm.operator import Operator
from qckm.sketch import packed
from qckm.sketch.packed import Cursor

Bounds = tuple[Floats, Floats]

# A file counts bounds in 256ths of a step, rounded outward: some 20 bits each rather than 64, and whole numbers stay
# what they are at steps of up to 256.
_GRAINS = 256
# A bound that is further out, in grains from the origin, is infinitely far out in a file: codes end at 2**15 steps.
_FURTHEST = 1 << 60
# Without bounds, columns are looked for within so many standard deviations of their mean. The centre of a cluster that
# has a share w of the rows is within sqrt(1/w − 1) of them, whatever the rows are: here, of 0.1 % or more. On three
# real sets (mnist, skin, walking; two seeds), 10 and 32 decode as well as known bounds do; with 4, one run loses 15 %.
_DEVIATIONS = 32.0
# Rounding of float64 when products are compared with what squares allow, as a share of that.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """Σq, Σq² and Σqᵢqⱼ of the codes q of each column, over all rows as weights count them.

    Parameters
    ----------
    codes, squares : ndarray of int64, shape (2, n)
        Each number as two words (`Wide` in `qckm.common.arrays`): sums of many rows do not fit 64 bits.
    products : ndarray of int64, shape (2, n(n − 1)/2), optional
        Likewise, of columns i and j > i, row by row; None where they are not known.

    Examples
    --------
    >>> import qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)
    >>> sketch = op.sketch([[0.0, 1.0], [1.0, 1.0]]) + op.sketch([[2.0, 4.0]])
    >>> sketch.column_means.tolist(), sketch.column_variances.round(3).tolist()
    ([1.0, 2.0], [0.667, 2.0])
    >>> sketch.column_covariances.round(3).tolist()
    [[0.667, 1.0], [1.0, 2.0]]
    """

    codes: Wide
    squares: Wide
    products: Wide | None = None

    def __post_init__(self) -> None:
        for words in (self.codes, self.squares, self.products):
            if words is not None:
                words.setflags(write=False)

    def __add__(self, other: ColumnSums) -> ColumnSums:
        codes, squares = add_wide(self.codes, other.codes), add_wide(self.squares, other.squares)
        if self.products is None or other.products is None:
            return ColumnSums(codes, squares)
        return ColumnSums(codes, squares, add_wide(self.products, other.products))

    def __sub__(self, other: ColumnSums) -> ColumnSums:
        products = None if other.products is None else -other.products
        return self + ColumnSums(-other.codes, -other.squares, products)

    def __eq__(self, other: object) -> bool:
        """Whether sums are equal, as far as both know them."""
        return (
            isinstance(other, ColumnSums)
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.squares, other.squares)
            and (self.products is None or other.products is None or np.array_equal(self.products, other.products))
        )

    __hash__ = None  # type: ignore[assignment]

    def are_possible(self, count: int, n_features: int) -> bool:
        """Return whether so many rows can have these sums, as far as one column and two columns together tell."""
        if not is_wide(self.codes, n_features) or not is_wide(self.squares, n_features):
            return False
        pairs = list(zip(integers_of(self.codes), integers_of(self.squares), strict=True))
        if not all(
            abs(total) <= square <= CODE_LIMIT**2 * count and total**2 <= count * square and (total - square) % 2 == 0
            for total, square in pairs
        ):
            return False
        if self.products is None:
            return True
        if not is_wide(self.products, n_features * (n_features - 1) // 2):
            return False
        first, second = np.triu_indices(n_features, 1)
        totals, squares = floats_of(self.codes), floats_of(self.squares)
        spreads = np.array([count * square - total**2 for total, square in pairs], np.float64)
        together = count * floats_of(self.products) - totals[first] * totals[second]
        slack = 1 + _ROUNDING * count * np.sqrt(squares[first] * squares[second])
        return bool((np.abs(together) <= np.sqrt(spreads[first] * spreads[second]) + slack).all())


def unknown_bounds(n: int) -> Bounds:
    """Return bounds of which nothing is known."""
    return np.full(n, np.nan), np.full(n, np.nan)


def bounds_left(whole: Bounds, part: Bounds, operator: Operator) -> Bounds:
    """Return the bounds of the rows that are left: known where no row of the part may have set them.

    Bounds may have been in a file before, and are compared as a file has them.
    """
    (lower, upper), (part_lower, part_upper) = (_in_grains(bounds, operator) for bounds in (whole, part))
    inside_below, inside_above = part_lower > lower, part_upper < upper  # False where either is not known
    return np.where(inside_below, whole[0], np.nan), np.where(inside_above, whole[1], np.nan)


def within_reach(
    bounds: Bounds, operator: Operator, count: float, means: Floats | None, variances: Floats | None
) -> Bounds:
    """Return where so many rows lie as they were coded: the bounds as a file has them, within the operator's reach.

    Where a bound is not known, it is 32 standard deviations from the column's mean, if that is known, but no further
    than the public ranges, if there are any, and than the reach.
    """
    lower, upper = (bound * _grain(operator) for bound in _in_grains(bounds, operator))
    if np.isnan(lower).any() or np.isnan(upper).any():
        least, greatest = operator.reach if operator.ranges is None else operator.ranges
        if means is not None and variances is not None:
            span = np.sqrt(variances) * min(_DEVIATIONS, np.sqrt(max(0.0, count - 1)))
            least, greatest = np.clip(means - span, least, greatest), np.clip(means + span, least, greatest)
        lower = np.where(np.isnan(lower), np.fmin(least, upper), lower)
        upper = np.where(np.isnan(upper), np.fmax(greatest, lower), upper)
    return np.clip(lower, *operator.reach), np.clip(upper, *operator.reach)


def dump_bounds(bounds: Bounds, operator: Operator) -> bytes:
    """Return bounds as a file has them: which are known, a bit each, and these from the origin in grains.

    Where none is known there is nothing to write.
    """
    ends = np.concatenate(_in_grains(bounds, operator))
    known = ~np.isnan(ends)
    if not known.any():
        return b""
    numbers = packed.as_array(
        int(np.copysign(_FURTHEST, end)) if np.isinf(end) else int(end) - int(start)
        for end, start in zip(ends[known].tolist(), _origins(operator)[known].tolist(), strict=True)
    )
    return np.packbits(known, bitorder="little").tobytes() + packed.signed(numbers)


def load_bounds(cursor: Cursor, operator: Operator) -> Bounds:
    """Return the bounds of a file."""
    n = operator.n_features
    known = np.unpackbits(cursor.array("u1", -(-2 * n // 8)), bitorder="little")[: 2 * n].astype(bool)
    numbers = cursor.signed(int(known.sum())).tolist()
    cursor.end()
    ends, starts = np.full(2 * n, np.nan), _origins(operator)
    for place, number in zip(np.flatnonzero(known), numbers, strict=True):
        outward = number <= -_FURTHEST if place < n else number >= _FURTHEST
        ends[place] = np.copysign(np.inf, number) if outward else float(number + int(starts[place]))
    lower, upper = ends.reshape(2, n) * _grain(operator)
    return lower, upper


def _grain(operator: Operator) -> Floats:
    return operator.steps / _GRAINS


def _origins(operator: Operator) -> Floats:
    """Return the origin in grains, for lower and upper bounds: whole numbers, infinite beyond all floats."""
    with np.errstate(over="ignore"):
        return np.tile(operator.origin / _grain(operator), 2)


def _in_grains(bounds: Bounds, operator: Operator) -> Bounds:
    """Return bounds as whole numbers of grains, rounded outward, as a file has them.

    Rounding keeps their order: the least of two bounds is rounded to the least of the rounded ones. Around an origin
    that is beyond all floats in grains they are unknown.
    """
    grain, nowhere = _grain(operator), ~np.isfinite(_origins(operator)[: operator.n_features])
    with np.errstate(over="ignore", invalid="ignore"):
        lower, upper, start = np.floor(bounds[0] / grain), np.ceil(bounds[1] / grain), operator.origin / grain
        lower, upper = np.minimum(lower, start + _FURTHEST), np.maximum(upper, start - _FURTHEST)
        below, above = lower - start <= -_FURTHEST, upper - start >= _FURTHEST
    lower, upper = np.where(below, -np.inf, lower), np.where(above, np.inf, upper)
    return np.where(nowhere, np.nan, lower), np.where(nowhere, np.nan, upper)
