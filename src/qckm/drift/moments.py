"""Means, deviations and correlations of columns before and after: sketches know them exactly, as rows were coded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qckm.planning.column_checks import names_of
from qckm.sketch import Sketch

# A change is told if it is more than so many standard errors of Fisher's z, as of normal rows: noise of a few thousand
# pairs stays below. Rows of heavy tails vary more, which is why this is no test.
_ERRORS = 5.0
_MOST = 5  # correlations that are told
_NEARLY_ONE = 1 - 1e-9


class ColumnChange(NamedTuple):
    """What has become of a column: its mean and standard deviation over all rows, as rows were coded.

    `shift` is the change of the mean in deviations, of both windows together (NaN of a constant column), and `error`
    its standard error if rows are independent.
    """

    column: str
    mean_before: float
    mean_after: float
    deviation_before: float
    deviation_after: float
    shift: float
    error: float

    def __str__(self) -> str:
        means = f"mean {self.mean_before:.5g} before, {self.mean_after:.5g} after"
        moved = f" ({self.shift:+.2f} ± {self.error:.2g} deviations)" if np.isfinite(self.shift) else ""
        return f"{self.column}: {means}{moved}; deviation {self.deviation_before:.4g}, then {self.deviation_after:.4g}"

    def brief(self) -> str:
        """Return the larger of the two changes."""
        if np.isfinite(self.shift) and abs(self.shift) >= self.amount:
            return f"{self.column} ({self.shift:+.2f} deviations)"
        return f"{self.column} (deviation {self.deviation_before:.4g}, then {self.deviation_after:.4g})"

    @property
    def amount(self) -> float:
        """How much has changed, in deviations: of the mean and of the deviation itself, whichever is more."""
        wide = max(self.deviation_before, self.deviation_after)
        stretch = abs(self.deviation_after - self.deviation_before) / wide if wide else 0.0
        return max(abs(self.shift) if np.isfinite(self.shift) else 0.0, stretch)


def column_changes(before: Sketch, after: Sketch) -> tuple[ColumnChange, ...]:
    """Return what has become of every column, what has changed most first; nothing where a sketch does not know."""
    means = [known for sketch in (before, after) if (known := sketch.column_means) is not None]
    variances = [known for sketch in (before, after) if (known := sketch.column_variances) is not None]
    if len(means) < 2:
        return ()
    shares = np.array([before.count, after.count]) / (before.count + after.count)
    moved = means[1] - means[0]
    # Of both windows' rows together, between their means included: that is 0 only of a column that never varies.
    whole = np.sqrt(shares[0] * variances[0] + shares[1] * variances[1] + shares[0] * shares[1] * moved**2)
    chance = np.sqrt(variances[0] / before.count + variances[1] / after.count)
    with np.errstate(invalid="ignore", divide="ignore"):
        shifts, errors = moved / whole, chance / whole
    deviations = [np.sqrt(each) for each in variances]
    columns = zip(*means, *deviations, shifts, errors, strict=True)
    found = [ColumnChange(name, *map(float, numbers)) for name, numbers in zip(names_of(before), columns, strict=True)]
    return tuple(sorted(found, key=lambda change: -change.amount))


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
