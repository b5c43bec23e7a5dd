"""From two sketches to a p-value: `compare` checks what was given, chooses a test whose level is held, and runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from qckm.decoding.task import require_sketch
from qckm.drift.block_exchange import exchange_blocks
from qckm.drift.drift_result import Drift, DriftSeries, StatisticName
from qckm.drift.largest import effect_of, largest_difference
from qckm.drift.moments import changed_correlations, column_changes
from qckm.drift.reference_rows import Reference
from qckm.errors import DriftWarning, QckmError, SketchError, warn
from qckm.sketch import Sketch

if TYPE_CHECKING:
    from qckm.drift.explanation import ClustersLike

# Quadratic forms of means are far from their distribution over fewer rows. Levels were measured from here on.
LEAST_WINDOW = 500
# A reference that neither window is like, as surely as this, tells nothing of how they vary. One that is like them, but
# an unusual draw, is refused as rarely.
_UNLIKE = 1e-5
_STATISTICS = ("auto", "largest", "squares", "whitened")


def compare(
    a: Sketch | Sequence[Sketch],
    b: Sketch | Sequence[Sketch],
    reference: npt.ArrayLike | Reference | None = None,
    *,
    clusters: ClustersLike | None = None,
    statistic: Literal["auto", "largest", "squares", "whitened"] = "auto",
    level: float = 0.05,
    min_effect: float = 0.0,
    random_state: int = 0,
) -> Drift:
    """Test whether the rows of two sketches are alike, and show how much has changed, and what.

    Parameters
    ----------
    a, b : Sketch, or sequence of Sketch
        Two windows, sketched with one operator, that have no row in common. Rows are taken to be independent. Where
        they depend on their neighbours, as in time, give windows in parts: sketches of blocks longer than rows
        remember, four per side or more.
    reference : array-like of shape (rows, n), or Reference, optional
        2000 rows or more of the usual kind, in neither window: they tell how measurements vary together, and make a far
        more powerful test. To compare many windows, prepare it once: `Reference.of(operator, rows)`.
    clusters : int, Clustering, Model or array-like of shape (K, n), optional
        To explain the change by: which clusters gained or lost rows, which moved, where new ones are. A number is
        decoded from the first window, which takes seconds. Centres alone need a reference.
    statistic : {"auto", "largest", "squares", "whitened"}, default "auto"
        "largest", which needs no reference; "whitened", or "squares", which do. "auto" is "whitened" where a reference
        makes it trustworthy, else "largest". Windows in parts are compared by exchanging parts, whatever is given.
    level : float, default 0.05
        The share of false alarms to put up with.
    min_effect : float, default 0
        A change of a smaller share of the rows than this is no drift, however surely it is there.
    random_state : int, default 0
        For which rows of the reference and which exchanges are drawn, and for decoding.

    Returns
    -------
    Drift
        Its `statistic_name` says which test was used. There is a `DriftWarning` where the reference is like neither
        window and was left out, and where both are the same sum.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=100, scale=1.0, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> hours = [op.sketch(rng.normal(size=(500, 2))) for _ in range(12)]
    >>> qckm.compare(sum(hours[:6]), sum(hours[6:])).drifted
    False
    >>> qckm.compare(hours[:6], hours[6:]).statistic_name
    'blocks'
    """
    first, second = _parts("first", a), _parts("second", b)
    for part in [*first, *second][1:]:
        first[0].require_same_operator(part, "compare")
    if any(part.private for part in (*first, *second)):
        raise QckmError(
            "Private sketches cannot be compared: the tests take the noise that was added to them for drift. Compare "
            "the exact sketches where they are, and publish what was found."
        )
    _require_level(level)
    if isinstance(min_effect, bool) or not isinstance(min_effect, (int, float, np.number)) or not 0 <= min_effect <= 1:
        raise QckmError(f"Expected min_effect between 0 and 1, got {min_effect!r}.")
    if statistic not in _STATISTICS:
        raise QckmError(f"Expected a statistic among {', '.join(_STATISTICS)}, got {statistic!r}.")
    before, after = sum(first[1:], first[0]), sum(second[1:], second[0])
    notes: list[str] = []
    prepared = _prepare(reference, before, random_state)
    if prepared is not None and _is_unlike(prepared, before, after):
        if statistic in ("squares", "whitened"):
            raise SketchError(
                "Expected a reference of the usual kind, got rows that neither window is like: they do not tell how "
                "its measurements vary. Give newer rows, or compare without a reference."
            )
        notes.append("the reference is like neither window, and was not used: give newer rows")
        warn(notes[-1][0].upper() + notes[-1][1:] + ".", DriftWarning)
        prepared = None
    if before == after:
        notes.append("both windows are the same sum: were the same rows sketched twice?")
        warn(notes[-1][0].upper() + notes[-1][1:], DriftWarning)
    if before.saturated + after.saturated:
        notes.append(
            f"{before.saturated:,} and {after.saturated:,} rows lie too far from the others to be coded, and count as "
            "if at the edge, in means and deviations, too"
        )
    if len(first) + len(second) > 2:
        name: StatisticName = "blocks"
        value, pvalue = exchange_blocks(first, second, level, prepared, random_state)
    else:
        name = _choose(statistic, before, after, prepared, notes)
        value, pvalue = _test(name, before, after, prepared)
    explanation = None
    if clusters is not None:
        from qckm.drift.explanation import explain  # decoders take their time to import

        explanation = explain(before, after, clusters, prepared, level, pvalue <= level, random_state)
        notes += explanation.doubts
    if not 0 <= pvalue <= 1:
        raise QckmError(f"No p-value could be computed of the statistic {name!r}, {value:.3g}: please report this.")
    used = prepared is not None and name != "largest"
    return Drift(
        pvalue,
        value,
        name,
        level,
        before,
        after,
        (len(first), len(second)),
        len(prepared.rows) if prepared is not None and used else 0,
        tuple(notes),
        explanation,
        changed_correlations(before, after),
        *effect_of(first, second),
        min_effect,
        column_changes(before, after),
    )


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


def _test(name: StatisticName, before: Sketch, after: Sketch, reference: Reference | None) -> tuple[float, float]:
    if name == "largest" or reference is None:
        return largest_difference(before, after)
    return reference.whitened(before, after) if name == "whitened" else reference.squares(before, after)


def _choose(
    statistic: str, before: Sketch, after: Sketch, reference: Reference | None, notes: list[str]
) -> StatisticName:
    """Return the test to use: the most powerful one of those whose level is held."""
    if not (before.exact and after.exact):
        raise SketchError(
            "Expected sketches of rows that count as whole numbers, got real-valued weights: their sum does not say "
            "how many rows there were. Give each window in parts, as a list of sketches."
        )
    few = min(before.count, after.count) < LEAST_WINDOW
    if statistic == "largest":
        return "largest"
    if statistic == "auto":
        if reference is not None and few:
            notes.append(f"the reference was not used: it needs windows of {LEAST_WINDOW} rows or more")
        return "largest" if reference is None or few else "whitened"
    if reference is None:
        raise SketchError(f"Expected a reference for the statistic {statistic!r}: without one, use 'largest'.")
    if few:
        raise SketchError(
            f"Expected windows of {LEAST_WINDOW} rows or more for the statistic {statistic!r}, got {before.count} and "
            f"{after.count}: use 'largest'."
        )
    return "squares" if statistic == "squares" else "whitened"


def _parts(which: str, given: Any) -> list[Sketch]:
    """Return the parts of a window, each of some rows."""
    parts = [given] if isinstance(given, Sketch) or not isinstance(given, Sequence) else list(given)
    if not parts:
        raise SketchError(f"Expected a sketch, or several, as the {which} window, got an empty list.")
    for part in parts:
        require_sketch(part)
        if not part.count > 0:
            raise SketchError(f"Expected windows of one row or more, got a sketch of none in the {which} window.")
        part.require_consistent()
    return parts


def _prepare(reference: Any, sketch: Sketch, random_state: int) -> Reference | None:
    if reference is None:
        return None
    if isinstance(reference, Reference):
        sketch.require_same_operator(reference.operator.empty(), "compare")
        return reference
    return Reference.of(sketch.operator, reference, random_state)


def _is_unlike(reference: Reference, before: Sketch, after: Sketch) -> bool:
    """Return whether both windows differ from the reference: then it tells of neither."""
    if not (before.exact and after.exact):
        return False
    return all(largest_difference(reference.sketch, window)[1] < _UNLIKE for window in (before, after))


def _require_level(level: Any) -> None:
    if isinstance(level, bool) or not isinstance(level, (int, float, np.number)) or not 0 < level < 1:
        raise QckmError(f"Expected a level between 0 and 1, got {level!r}.")
