"""How much one row can change a sketch: known exactly, as contributions are entries of a table of integers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qckm.kernels.reference import TABLE_SIZE
from qckm.operator.operator import Operator


class Sensitivity(NamedTuple):
    """The greatest change of the sums, in units of the signature's table: L1 norm, squared L2 norm, largest entry."""

    l1: int
    l2_squared: int
    largest: int


def of_one_row(operator: Operator) -> Sensitivity:
    """Return how much the sums change at most when a row is added or removed; twice that when one is replaced.

    The two measurements of a pair are a quarter turn apart, 1024 entries of the table: both cannot be at their
    greatest, unless the table says so, as that of the one-bit signature does.

    Examples
    --------
    >>> import qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=50, scale=1.0, random_state=0)
    >>> of_one_row(op)
    Sensitivity(l1=100, l2_squared=100, largest=1)
    """
    table = np.abs(operator.signature.table.astype(np.int64))
    m = operator.n_frequencies
    if operator.paired:
        other = np.roll(table, -TABLE_SIZE // 4)
        return Sensitivity(m * int((table + other).max()), m * int((table**2 + other**2).max()), int(table.max()))
    return Sensitivity(m * int(table.max()), m * int((table**2).max()), int(table.max()))
