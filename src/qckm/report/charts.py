"""Pictures as inline SVG: a map of the centroids, and the data beside the sketch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.text import format_bytes, shortened
from qckm.models import Model
from qckm.report.html import FAR, Html, element, percent

# Told apart by people with any kind of colour vision (after Okabe and Ito), and on paper.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7a3e9d", "#a6761d", "#444444", "#e41a5b")
WIDTH, HEIGHT = 520, 360
_MARGIN = 34.0
# Nobody reads the lines of more clusters.
MOST_CLUSTERS = 1000
# A style rule each, which browsers weigh at every move of the mouse; of more clusters the heaviest are highlighted.
MOST_HIGHLIGHTED = 100
# Labels on a map nearer to each other than this are moved apart, in so many steps at most; of more clusters they stay.
_LABEL, _LABEL_STEPS, _MOST_LABELS = 18.0, 200, 200


def color(cluster: int) -> str:
    """Return a cluster's colour."""
    return COLORS[cluster % len(COLORS)]


def heaviest(model: Model) -> Model:
    """Return the model of as many clusters as can be shown: decoders give the heaviest first."""
    if len(model.centers) <= MOST_CLUSTERS:
        return model
    few = slice(MOST_CLUSTERS)
    return replace(model, centers=model.centers[few], weights=model.weights[few], spreads=model.spreads[few])


def telling_columns(model: Model, most: int) -> list[int]:
    """Return the columns in which centroids differ most, in units, in their own order."""
    centers, shares = in_units(model.centers, model), shares_of(model)
    spread = np.sqrt(shares @ (centers - shares @ centers) ** 2)
    return sorted(int(place) for place in np.argsort(-spread, kind="stable")[:most])


def draw_map(model: Model, sample: Floats | None) -> Html:
    """Draw centroids, and a sample of rows, on the two axes along which the centroids differ most."""
    centers = in_units(model.centers, model)
    middle = centers.mean(axis=0)
    axes = main_axes(centers - middle)
    points = (centers - middle) @ axes.T
    dots = np.empty((0, 2)) if sample is None else (in_units(sample, model) - middle) @ axes.T
    with np.errstate(over="ignore"):
        labels = np.empty(0, int) if sample is None else model.predict(sample)
    every = np.concatenate([points, dots])
    low, high = np.quantile(every, 0.002, axis=0), np.quantile(every, 0.998, axis=0)
    low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    place = placing(low, high)
    inside = ((dots >= low) & (dots <= high)).all(axis=1)
    small = [
        element(
            "circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="1.6", fill=color(label), fill_opacity="0.35", class_=mark(label)
        )
        for (x, y), label in zip(place(dots)[inside], labels[inside], strict=True)
    ]
    # No circle covers the number of another: all numbers come last.
    large, numbers, where = [], [], place(points)
    labelled = labels_apart(where)
    for number, (x, y) in enumerate(where):
        weight = min(1.0, float(model.weights[number]))
        words = element("title", f"cluster {number}: {percent(model.weights[number])} of the rows")
        at, radius = {"cx": f"{x:.1f}", "cy": f"{y:.1f}"}, f"{8 + 14 * np.sqrt(weight):.1f}"
        circle = element("circle", **at, r=radius, fill=color(number), stroke="#fff", stroke_width=2)
        large.append(element("g", words, circle, class_=mark(number), tabindex=0))
        numbers.append(element("g", label_at(number, where[number], labelled[number]), class_=mark(number)))
    first, second = (_axis_words(axis, model) for axis in axes)
    turned = f"translate(13,{HEIGHT / 2:.1f}) rotate(-90)"
    frame = [
        element("rect", x=22, y=4, width=WIDTH - 28, height=HEIGHT - 26, class_="frame"),
        element("text", f"first axis: {first}", x=WIDTH / 2, y=HEIGHT - 6, text_anchor="middle", class_="small"),
        element("text", f"second axis: {second}", transform=turned, text_anchor="middle", class_="small"),
    ]
    return picture("Map of the centroids", HEIGHT, [frame, small, large, numbers])


def placing(low: Floats, high: Floats) -> Callable[[Floats], Floats]:
    """Return what puts points (P, 2) between two corners on a picture, the second axis upwards."""
    size = np.array([WIDTH, HEIGHT])
    # One scale for both axes: distances on the map are then distances.
    zoom = float(np.min((size - 2 * _MARGIN) / np.maximum(high - low, 1e-12)))
    shift = (size - zoom * (low + high)) / 2

    def place(points: Floats) -> Floats:
        where: Floats = points * zoom + shift
        return np.stack([where[:, 0], HEIGHT - where[:, 1]], axis=1)

    return place


def labels_apart(places: Floats) -> Floats:
    """Return where to put the labels of places (K, 2) on a map, so that none lies on another.

    Examples
    --------
    >>> import numpy as np
    >>> moved = labels_apart(np.array([[100.0, 100.0], [101.0, 100.0], [300.0, 100.0]]))
    >>> bool(np.linalg.norm(moved[0] - moved[1]) > 17), moved[2].tolist()
    (True, [300.0, 100.0])
    """
    moved = places.copy()
    if len(places) > _MOST_LABELS:
        return moved
    # Labels of one place part in directions of their own.
    turns = 2.4 * np.arange(len(places))
    moved += 1e-3 * np.column_stack([np.cos(turns), np.sin(turns)])
    low, high = np.array([32.0, 14.0]), np.array([WIDTH - 14.0, HEIGHT - 32.0])
    for _ in range(_LABEL_STEPS):
        ways = moved[:, np.newaxis] - moved
        lengths = np.linalg.norm(ways, axis=2)
        np.fill_diagonal(lengths, np.inf)
        lacking = np.maximum(_LABEL - lengths, 0.0)
        if not lacking.any():
            break
        moved += (ways / lengths[..., np.newaxis] * (0.55 * lacking)[..., np.newaxis]).sum(axis=1)
        moved = np.clip(moved, low, high)
    stayed = np.linalg.norm(moved - places, axis=1) < 1
    moved[stayed] = places[stayed]
    return moved


def label_at(number: int, place: Floats, label: Floats) -> list[Html]:
    """Return the number of a cluster on its circle; or beside it, where it was moved, with a line between them."""
    (x, y), (left, top) = place, label
    at = {"x": f"{left:.1f}", "y": f"{top + 4.5:.1f}", "text_anchor": "middle"}
    if (label == place).all():
        return [element("text", number, **at, class_="on")]
    ends = {"x1": f"{x:.1f}", "y1": f"{y:.1f}", "x2": f"{left:.1f}", "y2": f"{top:.1f}"}
    badge = element("circle", cx=f"{left:.1f}", cy=f"{top:.1f}", r=8.5, fill=color(number), stroke="#fff")
    return [element("line", **ends, stroke=color(number)), badge, element("text", number, **at, class_="on")]


def mark(cluster: int) -> str | None:
    """Return the class of what is drawn for a cluster: all of it is highlighted together (`highlighting`)."""
    return f"c c{cluster}" if cluster < MOST_HIGHLIGHTED else None


def highlighting(k: int) -> str:
    """Return style rules that fade all other clusters when one is pointed at or has the focus, without a script."""
    rules = (f"main:has(.c{j}:is(:hover,:focus)) .c:not(.c{j}){{opacity:.15}}" for j in range(min(k, MOST_HIGHLIGHTED)))
    return "@media screen{" + "".join(rules) + "}"


def draw_sizes(data_bytes: float, sketch_bytes: float) -> Html:
    """Draw the data beside the sketch, as areas: the sketch is a dot."""
    side = 92.0
    small = max(1.2, side * float(np.sqrt(min(1.0, sketch_bytes / data_bytes))))
    parts = [
        element("rect", x=8, y=10, width=side, height=side, class_="data"),
        element("text", f"columns read, {format_bytes(data_bytes)}", x=side + 20, y=f"{10 + side:.1f}"),
        element(
            "rect", x=260, y=f"{10 + side - small:.1f}", width=f"{small:.1f}", height=f"{small:.1f}", class_="sketch"
        ),
        element("text", f"sketch, {format_bytes(sketch_bytes)}", x=f"{270 + small:.1f}", y=f"{10 + side:.1f}"),
    ]
    return picture("Size of the data and of the sketch", 112, parts)


def _axis_words(axis: Floats, model: Model) -> str:
    """Return the columns that make up most of an axis: at most two, each with at least half of the largest part."""
    parts = np.abs(axis)
    if not parts.max() > 0:
        return "none"
    order = np.argsort(-parts, kind="stable")[:2]
    named = [shortened(model.names[place], 24) for place in order if parts[place] >= parts.max() / 2]
    more = " and others" if (parts >= parts.max() / 2).sum() > len(named) else ""
    return f"mostly {', '.join(named)}{more}" if len(parts) > 1 else named[0]


def picture(label: str, height: int, parts: object) -> Html:
    """Return a picture as wide as all are."""
    return element("svg", parts, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=label)


def in_units(points: Floats, model: Model) -> Floats:
    """Return points in units, those out of sight at its edge: their squares are still to be numbers."""
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(points / model.units, -FAR, FAR)


def shares_of(model: Model) -> Floats:
    """Return the weights as shares of their sum."""
    weights = model.weights / max(float(model.weights.max()), 1e-300)
    return weights / max(float(weights.sum()), 1e-300)


def main_axes(points: Floats) -> Floats:
    """Return two directions (2, n): the main axes, with signs that do not depend on the library."""
    n = points.shape[1]
    axes = np.zeros((2, n))
    found = np.linalg.svd(points, full_matrices=False)[2][:2]
    axes[: len(found)] = found
    for axis in axes:
        if axis[np.abs(axis).argmax()] < 0:
            axis *= -1
    return axes
