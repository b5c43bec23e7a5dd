"""Pictures as inline SVG: a map of the centroids, and their profiles over the columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.text import format_bytes
from qckm.models import Model
from qckm.report.facts import percent
from qckm.report.html import Html, element

# Told apart by people with any kind of colour vision (after Okabe and Ito), and on paper.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7a3e9d", "#a6761d", "#444444", "#e41a5b")
WIDTH, HEIGHT = 520, 360
# A picture of more columns than this is a tangle: those that tell the clusters apart best are shown …
MOST_COLUMNS = 10
# … and nobody reads the lines of more clusters.
MOST_CLUSTERS = 1000
# Distances beyond have squares that are no float64.
_FAR = 1e150


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
    centers, shares = _in_units(model.centers, model), _shares(model)
    spread = np.sqrt(shares @ (centers - shares @ centers) ** 2)
    return sorted(int(place) for place in np.argsort(-spread, kind="stable")[:most])


def draw_map(model: Model, sample: Floats | None) -> Html:
    """Draw centroids, and a sample of rows, on the two axes along which the centroids differ most."""
    centers = _in_units(model.centers, model)
    middle = centers.mean(axis=0)
    axes = main_axes(centers - middle)
    points = (centers - middle) @ axes.T
    dots = np.empty((0, 2)) if sample is None else (_in_units(sample, model) - middle) @ axes.T
    with np.errstate(over="ignore"):
        labels = np.empty(0, int) if sample is None else model.predict(sample)
    every = np.concatenate([points, dots])
    low, high = np.quantile(every, 0.002, axis=0), np.quantile(every, 0.998, axis=0)
    low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    margin = 26.0
    room = np.array([WIDTH - 2 * margin, HEIGHT - 2 * margin])
    # One scale for both axes: distances on the map are then distances.
    zoom = float(np.min(room / np.maximum(high - low, 1e-12)))
    shift = (np.array([WIDTH, HEIGHT]) - zoom * (low + high)) / 2

    def place(points: Floats) -> Floats:
        where: Floats = points * zoom + shift
        return np.stack([where[:, 0], HEIGHT - where[:, 1]], axis=1)

    inside = ((dots >= low) & (dots <= high)).all(axis=1)
    small = [
        element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="1.6", fill=color(label), fill_opacity="0.35")
        for (x, y), label in zip(place(dots)[inside], labels[inside], strict=True)
    ]
    large = []
    for number, (x, y) in enumerate(place(points)):
        weight = min(1.0, float(model.weights[number]))
        words = element("title", f"cluster {number}: {percent(model.weights[number])} of the rows")
        at, radius = {"cx": f"{x:.1f}", "cy": f"{y:.1f}"}, f"{8 + 14 * np.sqrt(weight):.1f}"
        large.append(element("circle", words, **at, r=radius, fill=color(number), stroke="#fff", stroke_width=2))
        large.append(element("text", number, x=f"{x:.1f}", y=f"{y + 4.5:.1f}", text_anchor="middle", class_="on"))
    return picture("Map of the centroids", HEIGHT, [small, large])


def draw_profiles(model: Model) -> Html:
    """Draw the centroids as lines over the columns, each from its least to its greatest centroid."""
    columns = telling_columns(model, MOST_COLUMNS)
    values = model.centers[:, columns]
    low, high = values.min(axis=0), values.max(axis=0)
    # Halves: the whole of a range may be no float64.
    shares = (values / 2 - low / 2) / np.where(high > low, high / 2 - low / 2, 1)
    shares[:, high == low] = 0.5
    left, right, top, bottom = 24.0, WIDTH - 60.0, 34.0, HEIGHT - 92.0
    across = np.linspace(left, right, len(columns)) if len(columns) > 1 else np.array([(left + right) / 2])
    parts = []
    for x, column, least, most in zip(across, columns, low, high, strict=True):
        name = model.names[column]
        short = name if len(name) <= 14 else name[:13] + "…"
        middle = {"x": f"{x:.1f}", "text_anchor": "middle", "class_": "small"}
        turned = f"translate({x + 4:.1f},{bottom + 26}) rotate(50)"
        parts += [
            element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=top, y2=bottom, class_="axis"),
            element("text", f"{most:.3g}", y=top - 8, **middle),
            element("text", f"{least:.3g}", y=bottom + 15, **middle),
            element("text", short, element("title", name), transform=turned),
        ]
    for number in reversed(range(len(values))):
        heights = bottom - shares[number] * (bottom - top)
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True))
        width = f"{1.2 + 5 * min(1.0, float(model.weights[number])):.1f}"
        line = {"fill": "none", "stroke": color(number), "stroke_width": width, "stroke_opacity": "0.85"}
        parts.append(element("polyline", element("title", f"cluster {number}"), points=path, **line))
    return picture("Profiles of the centroids", HEIGHT, parts)


def draw_sizes(data_bytes: float, sketch_bytes: float) -> Html:
    """Draw the data beside the sketch, as areas: the sketch is a dot."""
    side = 92.0
    small = max(1.2, side * float(np.sqrt(min(1.0, sketch_bytes / data_bytes))))
    parts = [
        element("rect", x=8, y=10, width=side, height=side, class_="data"),
        element("text", f"data, {format_bytes(data_bytes)}", x=side + 20, y=f"{10 + side:.1f}"),
        element(
            "rect", x=260, y=f"{10 + side - small:.1f}", width=f"{small:.1f}", height=f"{small:.1f}", class_="sketch"
        ),
        element("text", f"sketch, {format_bytes(sketch_bytes)}", x=f"{270 + small:.1f}", y=f"{10 + side:.1f}"),
    ]
    return picture("Size of the data and of the sketch", 112, parts)


def picture(label: str, height: int, parts: object) -> Html:
    """Return a picture as wide as all are."""
    return element("svg", parts, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=label)


def _in_units(points: Floats, model: Model) -> Floats:
    """Return points in units, those out of sight at its edge: their squares are still to be numbers."""
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(points / model.units, -_FAR, _FAR)


def _shares(model: Model) -> Floats:
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
