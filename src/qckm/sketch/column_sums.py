"""The sums of each column beside a sketch, of its squares, and of products of columns: moments of all rows, exactly.

They are sums of codes, integers as the sketch itself: any partition of the rows gives the same. 2n numbers, and
n(n − 1)/2 products of up to 64 columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from qckm.common.arrays import Floats, Wide, add_wide, floats_of, integers_of, is_wide
from qckm.kernels.portable import Summary
from qckm.kernels.reference import CODE_LIMIT
from qckm.operator import Operator

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

    @classmethod
    def of(cls, found: Summary) -> ColumnSums | None:
        """Return those of a pass over rows; None where it has none, of real weights."""
        if found.codes is None or found.squares is None:
            return None
        return cls(found.codes, found.squares, found.products)

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

    def means(self, operator: Operator, count: int) -> Floats:
        """Return the mean of each column, in data units, (n,)."""
        ratios = np.array([total / count for total in integers_of(self.codes)])
        return np.asarray(operator.origin + operator.steps * ratios, np.float64)

    def variances(self, operator: Operator, count: int) -> Floats:
        """Return the variance of each column (of the population, not a sample), in data units squared, (n,)."""
        pairs = zip(integers_of(self.codes), integers_of(self.squares), strict=True)
        # Integers until the last division: no digits are lost where a mean is large.
        ratios = np.array([(count * square - total**2) / count**2 for total, square in pairs])
        return np.asarray(operator.steps**2 * ratios, np.float64)

    def covariances(self, operator: Operator, count: int) -> Floats | None:
        """Return the covariances of the columns (of the population), in data units, (n, n); None without products."""
        if self.products is None:
            return None
        totals = integers_of(self.codes)
        found = np.diag(self.variances(operator, count))
        first, second = np.triu_indices(len(totals), 1)
        ratios = [
            (count * product - totals[i] * totals[j]) / count**2
            for i, j, product in zip(first.tolist(), second.tolist(), integers_of(self.products), strict=True)
        ]
        found[first, second] = found[second, first] = operator.steps[first] * operator.steps[second] * ratios
        return found

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


class Counted(Protocol):
    """Rows that were counted, and the sums of their columns where they are known: a sketch."""

    @property
    def count(self) -> int | float:
        """The rows."""

    @property
    def column_sums(self) -> ColumnSums | None:
        """Their sums."""


def add_known(first: Counted, second: Counted) -> ColumnSums | None:
    """Return the sums of two sketches' rows, where they are known of all: of no rows they are."""
    if not first.count or not second.count:
        return first.column_sums if first.count else second.column_sums
    if first.column_sums is None or second.column_sums is None:
        return None
    return first.column_sums + second.column_sums


def subtract_known(first: Counted, second: Counted) -> ColumnSums | None:
    """Return the sums of the rows that are left, where they are known."""
    if not second.count:
        return first.column_sums
    if first.column_sums is None or second.column_sums is None:
        return None
    return first.column_sums - second.column_sums


def know_different(first: Counted, second: Counted) -> bool:
    """Return whether two sketches are of different rows, as their column sums say."""
    if first.column_sums is None or second.column_sums is None:
        return False
    return first.column_sums != second.column_sums
