"""Pictures of a drift as inline SVG: weights then and now, centroids that moved, the witness map, effects."""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats
from qckm.drift.explanation import Explanation
from qckm.drift.plane import Plane
from qckm.drift.windows import DriftSeries
from qckm.report.charts import HEIGHT, WIDTH, color, label_at, labels_apart, main_axes, picture, placing
from qckm.report.html import Html, element

# Clusters whose weights are shown: those that changed most.
MOST_BARS = 15
_RISEN, _FALLEN, _SOFT = "#b42318", "#1f5fa8", "#8a94a3"
# A share of the highest hill below which a map stays white.
_FAINT = 0.08


def draw_weights(found: Explanation) -> Html:
    """Draw the weights of clusters before and after, with two standard errors of the change."""
    changes = np.nan_to_num(found.weight_changes)
    errors = np.nan_to_num(found.weight_errors)
    order = np.argsort(-np.abs(changes) / np.maximum(errors, 1e-12), kind="stable")[:MOST_BARS]
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


def draw_moves(found: Explanation, units: Floats) -> Html:
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


def draw_witness(found: Plane) -> Html:
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


def draw_effects(series: DriftSeries) -> Html:
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
