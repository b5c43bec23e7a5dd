"""Drift: what was found when two sketches were compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from qckm.common.arrays import Floats
from qckm.drift.correlations import CorrelationChange
from qckm.sketch import Sketch

if TYPE_CHECKING:
    from qckm.drift.explanation import Explanation

StatisticName = Literal["largest", "squares", "whitened", "blocks"]
# What each statistic is, in words.
MEANINGS: dict[StatisticName, str] = {
    "largest": "largest difference of a measurement, in standard deviations, Šidák-corrected",
    "squares": "sum of squared differences over its expectation, covariance from the reference",
    "whitened": "whitened squared difference over its expectation, covariance from the reference",
    "blocks": "difference in deviations of the blocks, against exchanged blocks",
}


@dataclass(frozen=True, eq=False, repr=False)
class Drift:
    """Whether the rows of two sketches are alike, and what has changed. Made by `qckm.compare`.

    Parameters
    ----------
    pvalue : float
        How likely a difference as large is between windows of rows that are alike.
    statistic : float
        The difference: its meaning is that of `statistic_name`.
    statistic_name : {"largest", "squares", "whitened", "blocks"}
        Which test was used.
    level : float
        The p-value up to which there is drift: the share of false alarms among windows that are alike, at most.
    before, after : Sketch
        The windows; of windows in parts, their sums.
    n_blocks : pair of int
        How many parts each window came in: 1 where it is one sketch.
    reference_rows : int
        Rows of the reference that were used; 0 without one.
    notes : tuple of str
        What should be known of the comparison.
    explanation : Explanation or None
        What has changed, cluster by cluster, where that was asked for.
    correlations : tuple of CorrelationChange
        Pairs of columns whose correlation has changed, the largest change first, where both sketches know them.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=100, scale=1.0, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> monday, tuesday = rng.normal(size=(2, 5000, 2))
    >>> qckm.compare(op.sketch(monday), op.sketch(tuesday)).drifted
    False
    >>> tuesday[:100] += 4
    >>> found = qckm.compare(op.sketch(monday), op.sketch(tuesday))
    >>> found.drifted, found.statistic_name
    (True, 'largest')
    """

    pvalue: float
    statistic: float
    statistic_name: StatisticName
    level: float
    before: Sketch
    after: Sketch
    n_blocks: tuple[int, int] = (1, 1)
    reference_rows: int = 0
    notes: tuple[str, ...] = ()
    explanation: Explanation | None = None
    correlations: tuple[CorrelationChange, ...] = ()

    @property
    def drifted(self) -> bool:
        """Whether the p-value is at the level or below."""
        return self.pvalue <= self.level

    @property
    def weight_changes(self) -> Floats | None:
        """By how much each cluster's share of the rows has changed, (K,), where clusters were asked for."""
        return None if self.explanation is None else self.explanation.weight_changes

    def summary(self) -> str:
        """Return what was found in a few lines."""
        verdict = "drift" if self.drifted else "no drift found"
        blocks = "" if self.n_blocks == (1, 1) else f", in {self.n_blocks[0]} and {self.n_blocks[1]} blocks"
        lines = [
            f"{verdict}: p = {format_pvalue(self.pvalue)} (level {self.level:g})",
            f"{self.before.count:,} and {self.after.count:,} rows{blocks}; {self.statistic_name} {self.statistic:.3g}: "
            f"{MEANINGS[self.statistic_name]}",
            *self.notes,
            *map(str, self.correlations),
        ]
        if self.explanation is not None:
            lines += self.explanation.lines()
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"Drift(drifted={self.drifted}, pvalue={self.pvalue:.3g}, {self.statistic_name}={self.statistic:.3g}, "
            f"rows=({self.before.count}, {self.after.count}))"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        return {
            "drifted": self.drifted,
            "pvalue": self.pvalue,
            "level": self.level,
            "statistic": self.statistic,
            "statistic_name": self.statistic_name,
            "rows": [self.before.count, self.after.count],
            "blocks": list(self.n_blocks),
            "reference_rows": self.reference_rows,
            "notes": list(self.notes),
            "correlations": [change._asdict() for change in self.correlations],
            **({} if self.explanation is None else {"explanation": self.explanation.to_dict()}),
        }


def format_pvalue(pvalue: float) -> str:
    """Return a p-value in words.

    Examples
    --------
    >>> format_pvalue(0.04321), format_pvalue(1e-9), format_pvalue(0.0)
    ('0.043', '1e-09', '< 1e-300')
    """
    return "< 1e-300" if pvalue < 1e-300 else f"{pvalue:.2g}"
