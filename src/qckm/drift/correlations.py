"""Correlations of columns before and after: sketches know them, so that a change is told without decoding anything."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qckm.planning.column_checks import names_of
from qckm.sketch import Sketch

# A change is told if it is more than so many standard errors of Fisher's z, as of normal rows: noise of a few thousand
# pairs stays below. Rows of heavy tails vary more, which is why this is no test.
_ERRORS = 5.0
_MOST = 5  # changes that are told
_NEARLY_ONE = 1 - 1e-9


class CorrelationChange(NamedTuple):
    """Two columns whose correlation has changed."""

    columns: tuple[str, str]
    before: float
    after: float

    def __str__(self) -> str:
        first, second = self.columns
        return f"correlation of {first!r} and {second!r}: {self.before:.2f} before, {self.after:.2f} after"


def changed_correlations(before: Sketch, after: Sketch) -> tuple[CorrelationChange, ...]:
    """Return the pairs of columns whose correlation has changed by more than chance does, the largest change first."""
    then, now = before.column_correlations, after.column_correlations
    if then is None or now is None or min(before.count, after.count) < 4:
        return ()
    first, second = np.triu_indices(len(then), 1)
    old, new = then[first, second], now[first, second]
    angles = [np.arctanh(np.clip(each, -_NEARLY_ONE, _NEARLY_ONE)) for each in (old, new)]
    error = np.sqrt(1 / (before.count - 3) + 1 / (after.count - 3))
    told = np.flatnonzero(np.abs(angles[1] - angles[0]) > _ERRORS * error)  # NaN, of a constant column, is not
    names = names_of(before)
    order = told[np.argsort(-np.abs(new - old)[told], kind="stable")][:_MOST]
    return tuple(
        CorrelationChange((names[first[i]], names[second[i]]), float(old[i]), float(new[i])) for i in order.tolist()
    )
