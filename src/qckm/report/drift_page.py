"""The page of a drift: whether there is one, weights then and now, clusters that moved, where rows came and went."""

from __future__ import annotations

from qckm.drift.drift_result import MEANINGS, Drift, effect_in_words, equal_or_less, format_pvalue
from qckm.drift.explanation import Explanation
from qckm.drift.plane import witness_map
from qckm.drift.windows import DriftSeries
from qckm.report import drift_charts
from qckm.report.html import Html, document, element, line, section, table

_RESOLUTION = 56
_VERDICTS = {True: "There is drift.", False: "No drift was found."}
# Columns whose means and deviations are shown: those that changed most.
_MOST_COLUMNS = 100


def render_drift(found: Drift | DriftSeries, names: tuple[str, str] = ("the first window", "the second")) -> str:
    """Return the report of a comparison as one HTML page.

    Parameters
    ----------
    found : Drift or DriftSeries
    names : pair of str
        What the two windows are called; of a series, the second is what all are compared with.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=50, scale=1.0, random_state=0)
    >>> a, b = (op.sketch(np.random.default_rng(seed).normal(size=(1000, 2))) for seed in range(2))
    >>> "No drift was found." in render_drift(qckm.compare(a, b))
    True
    """
    body = _series(found, names[1]) if isinstance(found, DriftSeries) else _pair(found, names)
    return document("qckm: drift", body)


def _pair(found: Drift, names: tuple[str, str]) -> list[Html | None]:
    explanation = found.explanation
    plane = found.before.operator.n_features == 2
    blocks = "" if found.n_blocks == (1, 1) else f", in {found.n_blocks[0]} and {found.n_blocks[1]} blocks"
    reference = f" The reference has {found.reference_rows:,} rows." if found.reference_rows else ""
    size = effect_in_words(found)
    words = (
        f"p {equal_or_less(found.pvalue)}, at a level of {found.level:g}, for {found.before.count:,} and "
        f"{found.after.count:,} rows{blocks}. Statistic: {found.statistic_name}, {found.statistic:.3g} "
        f"({MEANINGS[found.statistic_name]}).{reference}"
    )
    small = found.pvalue <= found.level and not found.drifted
    verdict = f"There is {found.verdict}." if small else _VERDICTS[found.drifted]
    said = [
        element("p", element("strong", f"{size[0].upper()}{size[1:]}."), " It may be more: this is a lower bound."),
        _warnings(found.notes),
        element("p", words),
        [element("p", f"{change}".capitalize() + ".") for change in found.correlations],
    ]
    witness = None
    if plane:
        picture = drift_charts.draw_witness(witness_map(found, _RESOLUTION))
        witness = section("Where rows came and went", picture, "Red: more rows than before. Blue: fewer.")
    return [
        element("h1", "Drift"),
        element("p", f"{names[0]}, then {names[1]}", class_="soft"),
        section(verdict, said, kind=_kind(found.drifted)),
        _columns(found),
        None if explanation is None or not explanation.lines() else _changes(explanation),
        None if explanation is None else _clusters(explanation, found),
        witness,
    ]


def _warnings(notes: tuple[str, ...]) -> list[Html]:
    return [element("p", f"Warning: {note[0].lower()}{note[1:]}.".replace("?.", "?")) for note in notes]


def _columns(found: Drift) -> Html | None:
    """Return means and deviations of the columns, then and now, as a table."""
    if not found.columns:
        return None
    names = ("column", "mean before", "mean after", "in deviations", "deviation before", "deviation after")
    rows = []
    for change in found.columns[:_MOST_COLUMNS]:
        shift = f"{change.shift:+.3f} ± {change.error:.2g}" if change.shift == change.shift else ""
        cells = [
            change.column,
            f"{change.mean_before:.6g}",
            f"{change.mean_after:.6g}",
            shift,
            f"{change.deviation_before:.5g}",
            f"{change.deviation_after:.5g}",
        ]
        rows.append(line(cells))
    more = len(found.columns) - _MOST_COLUMNS
    note = "Of all rows, as they were coded; the largest change first."
    note += f" {more} more columns changed less." if more > 0 else ""
    return section("Columns", table(names, rows), note)


def _changes(found: Explanation) -> Html:
    words = [line.split(". ", 1)[-1] for line in found.lines()]
    items = [element("li", one[0].upper() + one[1:] + ".") for one in words]
    return section(
        "What has changed", element("ol" if found.causes else "ul", items), "The least likely by chance first."
    )


def _clusters(found: Explanation, drift: Drift) -> Html:
    few = f" The {drift_charts.MOST_BARS} that changed most." if len(found.weights) > drift_charts.MOST_BARS else ""
    weights = section(
        "Weights then and now",
        drift_charts.draw_weights(found),
        "Grey, above: before. Below: after, at fixed centres; red or blue where the change is beyond two standard "
        f"errors.{few}",
    )
    moves = section(
        "Clusters",
        drift_charts.draw_moves(found, drift.before.operator.units),
        "The two directions in which the centroids differ most. Arrows: moved. Stars: new.",
    )
    return element("div", weights, moves, class_="pair")


def _series(found: DriftSeries, against: str) -> list[Html | None]:
    drifted = int(found.drifted.sum())
    words = (
        f"{drifted} of {len(found.drifts)} windows differ from {against}. On average at most "
        f"{100 * found.level:.3g} % of the windows reported here are false alarms (Benjamini and Hochberg)."
    )
    least = found.drifts[0].min_effect
    below = f" Dashed: {100 * least:.3g} % of the rows, below which a change does not count." if least else ""
    names = ("window", "rows", "rows changed, at least", "p-value", "adjusted", "", "changed most")
    rows = []
    for name, drift, adjusted, said in zip(found.names, found.drifts, found.adjusted, found.drifted, strict=True):
        cells = [
            name,
            f"{drift.after.count:,}",
            f"{drift.effect:.2%} ± {drift.effect_error:.2%}",
            format_pvalue(drift.pvalue),
            format_pvalue(adjusted),
            "drift" if said else "",
            drift.columns[0].brief() if said and drift.columns else "",
        ]
        rows.append(line(cells))
    return [
        element("h1", "Drift"),
        element("p", f"{len(found.drifts)} windows, compared with {against}", class_="soft"),
        section(_VERDICTS[drifted > 0], [element("p", words), _warnings(found.notes)], kind=_kind(drifted > 0)),
        section(
            "Rows that changed, at least",
            drift_charts.draw_effects(found),
            f"With two standard errors, in the order of the windows. Red: drift.{below}",
        ),
        section("Windows", table(names, rows)),
    ]


def _kind(drifted: bool) -> str:
    return f"verdict {'poor' if drifted else 'good'}"
