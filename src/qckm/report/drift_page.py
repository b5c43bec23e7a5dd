"""The page of a drift: whether there is one, weights then and now, clusters that moved, where rows came and went."""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats
from qckm.drift.drift_result import MEANINGS, Drift, DriftSeries, effect_in_words, equal_or_less, format_pvalue
from qckm.drift.explanation import Explanation
from qckm.drift.witness import Plane, witness_map
from qckm.report.charts import HEIGHT, WIDTH, color, label_at, labels_apart, main_axes, picture, placing
from qckm.report.html import Html, document, element, line, section, table

_RESOLUTION = 56
_VERDICTS = {True: "There is drift.", False: "No drift was found."}
# Columns whose means and deviations are shown: those that changed most.
_MOST_COLUMNS = 100
# Clusters whose weights are shown: those that changed most.
_MOST_BARS = 15
_RISEN, _FALLEN, _SOFT = "#b42318", "#1f5fa8", "#8a94a3"
# A share of the highest hill below which a map stays white.
_FAINT = 0.08


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
        picture = _draw_witness(witness_map(found.before, found.after, _RESOLUTION))
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
    few = f" The {_MOST_BARS} that changed most." if len(found.weights) > _MOST_BARS else ""
    weights = section(
        "Weights then and now",
        _draw_weights(found),
        "Grey, above: before. Below: after, at fixed centres; red or blue where the change is beyond two standard "
        f"errors.{few}",
    )
    moves = section(
        "Clusters",
        _draw_moves(found, drift.before.operator.units),
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
            _draw_effects(found),
            f"With two standard errors, in the order of the windows. Red: drift.{below}",
        ),
        section("Windows", table(names, rows)),
    ]


def _kind(drifted: bool) -> str:
    return f"verdict {'poor' if drifted else 'good'}"


def _draw_weights(found: Explanation) -> Html:
    """Draw the weights of clusters before and after, with two standard errors of the change."""
    changes = np.nan_to_num(found.weight_changes)
    errors = np.nan_to_num(found.weight_errors)
    order = np.argsort(-np.abs(changes) / np.maximum(errors, 1e-12), kind="stable")[:_MOST_BARS]
    most = float(max((found.weights + np.maximum(changes, 0) + 2 * errors).max(), 1e-12))
    left, room, line = 46.0, WIDTH - 150.0, 30.0
    parts = []
    for row, k in enumerate(np.sort(order)):
        top = 8 + row * line
        before, after = float(found.weights[k]), max(float(found.weights[k] + changes[k]), 0.0)
        beyond = abs(changes[k]) > 2 * errors[k]
        tone = (_RISEN if changes[k] > 0 else _FALLEN) if beyond else _SOFT
        low, high = (left + room * max(after + side * 2 * errors[k], 0.0) / most for side in (-1, 1))
        middle = f"{top + 17:.1f}"
        parts += [
            element("text", int(k), x=left - 10, y=f"{top + 16:.1f}", text_anchor="end"),
            element("rect", x=left, y=top, width=f"{room * before / most:.1f}", height=9, fill="#cfd6df"),
            element("rect", x=left, y=top + 12, width=f"{room * after / most:.1f}", height=9, fill=tone),
            element(
                "line", x1=f"{low:.1f}", x2=f"{high:.1f}", y1=middle, y2=middle, stroke="#1d2430", stroke_width=1.5
            ),
            element("text", f"{changes[k]:+.2%}", x=f"{max(high, left + room * before / most) + 8:.1f}", y=top + 16),
        ]
    return picture("Weights of the clusters before and after", int(16 + line * len(order)), parts)


def _draw_moves(found: Explanation, units: Floats) -> Html:
    """Draw centroids, arrows to where some have moved, and new places, on the axes along which centroids differ."""
    centers = found.centers / units
    middle = centers.mean(axis=0)
    axes = main_axes(centers - middle)
    places = [cause.place / units for cause in found.causes if cause.place is not None]
    every = (np.array([*centers, *places]) - middle) @ axes.T
    at = placing(every.min(axis=0), every.max(axis=0))(every)
    parts, numbers = [], []  # no circle covers the number of another: all numbers come last
    labels = labels_apart(at[: len(centers)])
    for number, (x, y) in enumerate(at[: len(centers)]):
        radius = f"{8 + 14 * np.sqrt(min(1.0, float(found.weights[number]))):.1f}"
        circle = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": radius, "fill": color(number), "fill_opacity": "0.8"}
        parts.append(element("circle", **circle))
        numbers += label_at(number, at[number], labels[number])
    parts += numbers
    index = len(centers)
    for cause in found.causes:
        if cause.place is None:
            continue
        x, y = at[index]
        index += 1
        if cause.kind == "move" and cause.cluster is not None:
            parts.append(_arrow(at[cause.cluster], np.array([x, y])))
        else:
            star = {"x": f"{x:.1f}", "y": f"{y + 8:.1f}", "text_anchor": "middle"}
            parts.append(
                element("text", "★", element("title", cause.words()), style=f"font-size:24px;fill:{_RISEN}", **star)
            )
    return picture("Map of the clusters, those that moved, and new ones", HEIGHT, parts)


def _draw_witness(found: Plane) -> Html:
    """Draw where rows have come, in red, and gone, in blue, as squares."""
    rows, columns = found.heights.shape
    width, height = WIDTH / columns, HEIGHT / rows
    limit = float(np.abs(found.heights).max()) or 1.0
    parts = []
    for row, column in np.argwhere(np.abs(found.heights) > _FAINT * limit):
        share = float(found.heights[row, column]) / limit
        parts.append(
            element(
                "rect",
                x=f"{column * width:.2f}",
                y=f"{HEIGHT - (row + 1) * height:.2f}",
                width=f"{width:.2f}",
                height=f"{height:.2f}",
                fill=_RISEN if share > 0 else _FALLEN,
                fill_opacity=f"{abs(share):.2f}",
                shape_rendering="crispEdges",  # else seams show between squares
            )
        )
    frame = element("rect", x=0, y=0, width=WIDTH, height=HEIGHT, fill="none", class_="axis")
    return picture("Where rows came and went", HEIGHT, [parts, frame])


def _draw_effects(series: DriftSeries) -> Html:
    """Draw at least which share of each window's rows has changed, with two standard errors, in their order."""
    sizes, errors = series.effects, series.effect_errors
    most = max(float((sizes + 2 * errors).max()), 1e-9)
    left, right, top, bottom, height = 58.0, WIDTH - 14.0, 14.0, 210.0, 236

    def across(place: float) -> float:
        return left + (right - left) * (place + 0.5) / len(sizes)

    def down(value: float) -> float:
        return bottom - (bottom - top) * min(max(value / most, 0.0), 1.0)

    parts = [
        element("text", f"{most:.1%}", x=left - 8, y=f"{top + 4:.1f}", text_anchor="end"),
        element("text", "0", x=left - 8, y=f"{bottom + 4:.1f}", text_anchor="end"),
        element("line", x1=left, x2=left, y1=top, y2=bottom, class_="axis"),
        element("line", x1=left, x2=right, y1=bottom, y2=bottom, class_="axis"),
    ]
    least = series.drifts[0].min_effect
    if 0 < least < most:
        y = f"{down(least):.1f}"
        parts.append(element("line", x1=left, x2=right, y1=y, y2=y, stroke=_SOFT, stroke_dasharray="5 4"))
    for place, (size, error, drifted, name) in enumerate(zip(sizes, errors, series.drifted, series.names, strict=True)):
        x, tone = f"{across(place):.1f}", _RISEN if drifted else _FALLEN
        ends = {"x1": x, "x2": x, "y1": f"{down(size - 2 * error):.1f}", "y2": f"{down(size + 2 * error):.1f}"}
        words = element("title", f"{name}: {size:.2%} ± {error:.2%}")
        parts.append(element("line", **ends, stroke=tone, stroke_width=1.5))
        parts.append(element("circle", words, cx=x, cy=f"{down(size):.1f}", r=4, fill=tone))
    for place in (0, len(sizes) - 1) if len(sizes) > 1 else (0,):
        anchor = "start" if place == 0 else "end"
        end = left if place == 0 else right
        parts.append(element("text", series.names[place], x=end, y=height - 6, text_anchor=anchor, class_="small"))
    return picture("How much the windows have changed", height, parts)


def _arrow(begin: Floats, end: Floats) -> Html:
    way = end - begin
    length = max(float(np.hypot(*way)), 1e-9)
    along, aside = way / length, np.array([-way[1], way[0]]) / length
    head = [end, end - 9 * along + 4 * aside, end - 9 * along - 4 * aside]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in head)
    line = {"x1": f"{begin[0]:.1f}", "y1": f"{begin[1]:.1f}", "x2": f"{end[0]:.1f}", "y2": f"{end[1]:.1f}"}
    return element("g", element("line", **line, stroke="#1d2430", stroke_width=2), element("polygon", points=points))
