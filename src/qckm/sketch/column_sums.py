"""The sums of each column beside a sketch, and of its squares: means and variances of all rows, exactly.

They are sums of codes, integers as the sketch itself: any partition of the rows gives the same. 2n numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qckm.common import wide
from qckm.common.arrays import Floats, Int64s
from qckm.kernels.reference import CODE_LIMIT

if TYPE_CHECKING:
    from qckm.kernels.sketcher import Summary
    from qckm.operator import Operator
    from qckm.sketch.sketch import Sketch


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """Σq and Σq² of the codes q of each column, over all rows as weights count them.

    Parameters
    ----------
    codes, squares : ndarray of int64, shape (2, n)
        Each number as two words (`qckm.common.wide`): sums of many rows do not fit 64 bits.

    Examples
    --------
    >>> import qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)
    >>> sketch = op.sketch([[0.0, 1.0], [1.0, 1.0]]) + op.sketch([[2.0, 4.0]])
    >>> sketch.column_means.tolist(), sketch.column_variances.round(3).tolist()
    ([1.0, 2.0], [0.667, 2.0])
    """

    codes: Int64s
    squares: Int64s

    def __post_init__(self) -> None:
        for words in (self.codes, self.squares):
            words.setflags(write=False)

    @classmethod
    def of(cls, found: Summary) -> ColumnSums | None:
        """Return those of a pass over rows; None where it has none, of real weights or on a GPU."""
        return None if found.codes is None or found.squares is None else cls(found.codes, found.squares)

    def __add__(self, other: ColumnSums) -> ColumnSums:
        return ColumnSums(wide.add(self.codes, other.codes), wide.add(self.squares, other.squares))

    def __sub__(self, other: ColumnSums) -> ColumnSums:
        return ColumnSums(wide.subtract(self.codes, other.codes), wide.subtract(self.squares, other.squares))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ColumnSums)
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.squares, other.squares)
        )

    __hash__ = None  # type: ignore[assignment]

    def means(self, operator: Operator, count: int) -> Floats:
        """Return the mean of each column, in data units, (n,)."""
        ratios = np.array([total / count for total in wide.to_integers(self.codes)])
        return np.asarray(operator.origin + operator.steps * ratios, np.float64)

    def variances(self, operator: Operator, count: int) -> Floats:
        """Return the variance of each column (of the population, not a sample), in data units squared, (n,)."""
        pairs = zip(wide.to_integers(self.codes), wide.to_integers(self.squares), strict=True)
        # Integers until the last division: no digits are lost where a mean is large.
        ratios = np.array([(count * square - total**2) / count**2 for total, square in pairs])
        return np.asarray(operator.steps**2 * ratios, np.float64)

    def are_possible(self, count: int, n_features: int) -> bool:
        """Return whether so many rows can have these sums."""
        if not wide.is_wide(self.codes, n_features) or not wide.is_wide(self.squares, n_features):
            return False
        pairs = zip(wide.to_integers(self.codes), wide.to_integers(self.squares), strict=True)
        return all(
            abs(total) <= square <= CODE_LIMIT**2 * count and total**2 <= count * square and (total - square) % 2 == 0
            for total, square in pairs
        )


def add_known(first: Sketch, second: Sketch) -> ColumnSums | None:
    """Return the sums of two sketches' rows, where they are known of all: of no rows they are."""
    if not first.count or not second.count:
        return first.column_sums if first.count else second.column_sums
    if first.column_sums is None or second.column_sums is None:
        return None
    return first.column_sums + second.column_sums


def subtract_known(first: Sketch, second: Sketch) -> ColumnSums | None:
    """Return the sums of the rows that are left, where they are known."""
    if not second.count:
        return first.column_sums
    if first.column_sums is None or second.column_sums is None:
        return None
    return first.column_sums - second.column_sums


def know_different(first: Sketch, second: Sketch) -> bool:
    """Return whether two sketches are of different rows, as their column sums say."""
    if first.column_sums is None or second.column_sums is None:
        return False
    return first.column_sums != second.column_sums
