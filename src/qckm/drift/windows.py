"""Many windows compared with one: which of them have drifted, when so many are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.drift.compare import compare
from qckm.drift.drift_result import Drift, format_pvalue
from qckm.drift.reference_rows import Reference
from qckm.errors import QckmError, SketchError
from qckm.sketch import Sketch


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


def compare_windows(
    windows: Sequence[Sketch],
    against: Sketch,
    reference: npt.ArrayLike | Reference | None = None,
    *,
    names: Sequence[str] | None = None,
    statistic: Literal["auto", "largest", "squares", "whitened"] = "auto",
    level: float = 0.05,
    min_effect: float = 0.0,
    random_state: int = 0,
) -> DriftSeries:
    """Compare each of many windows with one, and say which have drifted.

    With a hundred windows, five would be false alarms at 5 %. So p-values are adjusted by Benjamini and Hochberg: of
    the windows that are said to have drifted, a share of at most `level` has not, on average. All windows share what
    they are compared with, which makes p-values rise and fall together; that does the rate no harm.

    Parameters
    ----------
    windows : sequence of Sketch
    against : Sketch
        The usual: last week, say. It must not hold the rows of the windows: subtract them.
    reference, statistic, min_effect, random_state
        As in `compare`.
    names : sequence of str, optional
        What to call the windows; their numbers by default.
    level : float, default 0.05

    Returns
    -------
    DriftSeries

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=100, scale=1.0, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> usual = op.sketch(rng.normal(size=(20_000, 2)))
    >>> hours = [op.sketch(rng.normal(size=(2000, 2)) + (hour == 7)) for hour in range(10)]
    >>> np.flatnonzero(qckm.compare_windows(hours, usual).drifted).tolist()
    [7]
    """
    if isinstance(windows, Sketch) or not len(windows):
        raise SketchError("Expected a list of windows, one or more: compare two sketches with qckm.compare.")
    called = tuple(map(str, range(len(windows)) if names is None else names))
    if len(called) != len(windows):
        raise QckmError(f"Expected {len(windows)} names, as many as windows, got {len(called)}.")
    if reference is not None and not isinstance(reference, Reference):
        reference = Reference.of(against.operator, reference, random_state)
    drifts = []
    for name, window in zip(called, windows, strict=True):
        try:
            drifts.append(
                compare(
                    against,
                    window,
                    reference,
                    statistic=statistic,
                    level=level,
                    min_effect=min_effect,
                    random_state=random_state,
                )
            )
        except QckmError as error:
            raise error.within(f"window {name}") from error
    return DriftSeries(tuple(drifts), called, level)


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
