"""Drift: what was found when two sketches were compared, or many with one, of which then some may be false alarms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.common.text import facts_as_html
from qckm.drift.moments import ColumnChange, CorrelationChange
from qckm.sketch import Sketch

if TYPE_CHECKING:
    from qckm.drift.explanation import Explanation

# Columns that a summary shows; the report and JSON have all of them.
_MOST_COLUMNS = 5
# … if they changed by so many standard errors.
_ERRORS = 3.0
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
    effect, effect_error : float
        How large the change is, between 0 and 1: at least this share of the rows has been exchanged for others, as far
        as the sketches show; and its standard error.
    min_effect : float
        The effect from which on a change counts as drift.
    columns : tuple of ColumnChange
        Means and deviations of all columns before and after, the largest change first, where both sketches know them.

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
    effect: float = 0.0
    effect_error: float = 0.0
    min_effect: float = 0.0
    columns: tuple[ColumnChange, ...] = ()

    @property
    def drifted(self) -> bool:
        """Whether the p-value is at the level or below, and the effect large enough to matter."""
        return self.pvalue <= self.level and self.effect >= self.min_effect

    @property
    def verdict(self) -> str:
        """The answer in a few words."""
        if self.drifted:
            return "drift"
        return "no drift found" if self.pvalue > self.level else f"a change, but smaller than {self.min_effect:.2%}"

    @property
    def weight_changes(self) -> Floats | None:
        """By how much each cluster's share of the rows has changed, (K,), where clusters were asked for."""
        return None if self.explanation is None else self.explanation.weight_changes

    def summary(self) -> str:
        """Return what was found in a few lines."""
        blocks = "" if self.n_blocks == (1, 1) else f", in {self.n_blocks[0]} and {self.n_blocks[1]} blocks"
        lines = [
            f"{self.verdict}: p {equal_or_less(self.pvalue)} (level {self.level:g})",
            effect_in_words(self),
            f"{self.before.count:,} and {self.after.count:,} rows{blocks}; {self.statistic_name} {self.statistic:.3g}: "
            f"{MEANINGS[self.statistic_name]}",
            *self.notes,
            *[str(change) for change in self.columns if change.amount > _ERRORS * change.error][:_MOST_COLUMNS],
            *map(str, self.correlations),
        ]
        if self.explanation is not None:
            lines += self.explanation.lines()
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"Drift(drifted={self.drifted}, effect={self.effect:.3g}, pvalue={self.pvalue:.3g}, "
            f"{self.statistic_name}={self.statistic:.3g}, "
            f"rows=({self.before.count}, {self.after.count}))"
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the verdict, how much has changed, and of what most."""
        facts: dict[str, object] = {
            "verdict": self.verdict,
            "p-value": format_pvalue(self.pvalue),
            "rows changed, at least": f"{self.effect:.2%} ± {self.effect_error:.2%}",
            "rows": [self.before.count, self.after.count],
        }
        if self.drifted and self.columns:
            facts["changed most"] = self.columns[0].brief()
        if self.explanation is not None:
            facts["clusters"] = self.explanation.lines()
        return facts_as_html("Drift", facts)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        return {
            "drifted": self.drifted,
            "pvalue": self.pvalue,
            "level": self.level,
            "effect": self.effect,
            "effect_error": self.effect_error,
            "min_effect": self.min_effect,
            "statistic": self.statistic,
            "statistic_name": self.statistic_name,
            "rows": [self.before.count, self.after.count],
            "blocks": list(self.n_blocks),
            "reference_rows": self.reference_rows,
            "notes": list(self.notes),
            "columns": [_for_json(change._asdict()) for change in self.columns],
            "correlations": [change._asdict() for change in self.correlations],
            **({} if self.explanation is None else {"explanation": self.explanation.to_dict()}),
        }


@dataclass(frozen=True, eq=False, repr=False)
class DriftSeries:
    """Many windows, each compared with one. Made by `qckm.compare_windows`.

    Parameters
    ----------
    drifts : tuple of Drift
        Each comparison by itself.
    names : tuple of str
        What the windows are called.
    level : float
        Of the windows that are said to have drifted, the share that have not, on average, at most.
    """

    drifts: tuple[Drift, ...]
    names: tuple[str, ...]
    level: float

    @property
    def pvalues(self) -> Floats:
        """Of each window by itself, (W,)."""
        return np.array([drift.pvalue for drift in self.drifts])

    @property
    def adjusted(self) -> Floats:
        """The same, adjusted by Benjamini and Hochberg for how many windows there are, (W,)."""
        return adjust(self.pvalues)

    @property
    def drifted(self) -> npt.NDArray[np.bool_]:
        """Which windows have drifted, (W,): surely, and by enough to matter."""
        enough = np.array([drift.effect >= drift.min_effect for drift in self.drifts])
        return np.asarray((self.adjusted <= self.level) & enough)

    @property
    def effects(self) -> Floats:
        """At least which share of each window's rows has changed, (W,)."""
        return np.array([drift.effect for drift in self.drifts])

    @property
    def effect_errors(self) -> Floats:
        """The standard errors of the effects, (W,)."""
        return np.array([drift.effect_error for drift in self.drifts])

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be known of single comparisons, with their names."""
        pairs = zip(self.names, self.drifts, strict=True)
        return tuple(f"{name}: {note}" for name, drift in pairs for note in drift.notes)

    def summary(self) -> str:
        """Return a table, one line per window: how much has changed at least, how surely, and which column most."""
        width = max([len("window"), *map(len, self.names)])
        lines = [f"{'window':<{width}}  {'rows':>12}  {'rows changed':>17}  {'adjusted p':>10}"]
        for name, drift, adjusted, drifted in zip(self.names, self.drifts, self.adjusted, self.drifted, strict=True):
            size = f"≥ {drift.effect:.2%} ± {drift.effect_error:.2%}"
            most = f"  drift; most: {drift.columns[0].brief()}" if drift.columns else "  drift"
            values = f"{size:>17}  {format_pvalue(adjusted):>10}"
            lines.append(f"{name:<{width}}  {drift.after.count:>12,}  {values}{most if drifted else ''}")
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        return f"DriftSeries({int(self.drifted.sum())} of {len(self.drifts)} windows drifted, level={self.level:g})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how many windows there are, and which have drifted."""
        drifted = [name for name, is_one in zip(self.names, self.drifted, strict=True) if is_one]
        return facts_as_html("Drift", {"windows": len(self.drifts), "drift": drifted or "none", "level": self.level})

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        windows = zip(self.names, self.drifts, self.adjusted.tolist(), self.drifted.tolist(), strict=True)
        return {
            "drifted": bool(self.drifted.any()),
            "level": self.level,
            "windows": [
                {"name": name, **drift.to_dict(), "adjusted": adjusted, "drifted": drifted}
                for name, drift, adjusted, drifted in windows
            ],
        }


def effect_in_words(found: Drift) -> str:
    """Return how large a change is, as a sentence without an end."""
    size, error = found.effect, found.effect_error
    return f"at least {size:.2%} ± {error:.2%} of the rows have changed"


def _for_json(numbers: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in numbers.items()}


def equal_or_less(pvalue: float) -> str:
    """Return a p-value as what follows p.

    Examples
    --------
    >>> equal_or_less(0.04321), equal_or_less(0.0)
    ('= 0.043', '< 1e-300')
    """
    words = format_pvalue(pvalue)
    return words if words.startswith("<") else f"= {words}"


def format_pvalue(pvalue: float) -> str:
    """Return a p-value in words.

    Examples
    --------
    >>> format_pvalue(0.04321), format_pvalue(1e-9), format_pvalue(0.0)
    ('0.043', '1e-09', '< 1e-300')
    """
    return "< 1e-300" if pvalue < 1e-300 else f"{pvalue:.2g}"


def adjust(pvalues: Floats) -> Floats:
    """Return p-values adjusted for the false discovery rate (Benjamini and Hochberg, 1995).

    Examples
    --------
    >>> adjust(np.array([0.01, 0.5, 0.02])).round(3).tolist()
    [0.03, 0.5, 0.03]
    """
    order = np.argsort(pvalues, kind="stable")
    ranked = pvalues[order] * len(pvalues) / np.arange(1, len(pvalues) + 1)
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(np.minimum.accumulate(ranked[::-1])[::-1], 1.0)
    return adjusted
