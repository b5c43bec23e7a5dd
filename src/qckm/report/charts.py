"""Pictures as inline SVG: a map of the centroids, and their profiles over the columns."""

from __future__ import annotations

from html import escape

import numpy as np

from qckm.models import Model
from qckm.rows import Floats

# Told apart by people with any kind of colour vision (after Okabe and Ito), and on paper.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7a3e9d", "#a6761d", "#444444", "#e41a5b")
_WIDTH, _HEIGHT = 520, 360
# A picture of more columns than this is a tangle: those that tell the clusters apart best are shown.
MOST_COLUMNS = 10


def color(cluster: int) -> str:
    """Return a cluster's colour."""
    return COLORS[cluster % len(COLORS)]


def telling_columns(model: Model, most: int) -> list[int]:
    """Return the columns in which centroids differ most, in units, in their own order."""
    mean = model.weights @ model.centers / max(model.weights.sum(), 1e-300)
    spread = np.sqrt(model.weights @ ((model.centers - mean) / model.units) ** 2)
    return sorted(int(place) for place in np.argsort(-spread, kind="stable")[:most])


def draw_map(model: Model, sample: Floats | None) -> str:
    """Draw centroids, and a sample of rows, on the two axes along which the centroids differ most."""
    centers = model.centers / model.units
    middle = centers.mean(axis=0)
    axes = _main_axes(centers - middle)
    points = (centers - middle) @ axes.T
    dots = np.empty((0, 2)) if sample is None else (sample / model.units - middle) @ axes.T
    labels = np.empty(0, int) if sample is None else model.predict(sample)
    every = np.concatenate([points, dots])
    low, high = np.quantile(every, 0.002, axis=0), np.quantile(every, 0.998, axis=0)
    low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
    margin = 26.0
    size = np.array([_WIDTH - 2 * margin, _HEIGHT - 2 * margin])
    # One scale for both axes: distances on the map are then distances.
    zoom = float(np.min(size / np.maximum(high - low, 1e-12)))
    shift = (np.array([_WIDTH, _HEIGHT]) - zoom * (low + high)) / 2

    def place(points: Floats) -> Floats:
        where: Floats = points * zoom + shift
        return np.stack([where[:, 0], _HEIGHT - where[:, 1]], axis=1)

    parts = [_open("Map of the centroids")]
    inside = ((dots >= low) & (dots <= high)).all(axis=1)
    for (x, y), label in zip(place(dots)[inside], labels[inside], strict=True):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.6" fill="{color(label)}" fill-opacity="0.35"/>')
    for number, (x, y) in enumerate(place(points)):
        radius = 8 + 14 * np.sqrt(model.weights[number])
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{color(number)}" stroke="#fff" '
            f'stroke-width="2"><title>cluster {number}: {model.weights[number]:.1%} of the rows</title></circle>'
            f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="middle" class="on">{number}</text>'
        )
    return "".join([*parts, "</svg>"])


def draw_profiles(model: Model) -> str:
    """Draw the centroids as lines over the columns, each from its least to its greatest centroid."""
    columns = telling_columns(model, MOST_COLUMNS)
    values = model.centers[:, columns]
    low, high = values.min(axis=0), values.max(axis=0)
    shares = (values - low) / np.where(high > low, high - low, 1)
    shares[:, high == low] = 0.5
    left, right, top, bottom = 24.0, _WIDTH - 60.0, 34.0, _HEIGHT - 92.0
    across = np.linspace(left, right, len(columns)) if len(columns) > 1 else np.array([(left + right) / 2])
    parts = [_open("Profiles of the centroids")]
    for x, column, least, most in zip(across, columns, low, high, strict=True):
        name = model.names[column]
        short = name if len(name) <= 14 else name[:13] + "…"
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" class="axis"/>'
            f'<text x="{x:.1f}" y="{top - 8}" text-anchor="middle" class="small">{most:.3g}</text>'
            f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle" class="small">{least:.3g}</text>'
            f'<text transform="translate({x + 4:.1f},{bottom + 26}) rotate(50)">{escape(short)}'
            f"<title>{escape(name)}</title></text>"
        )
    for number in reversed(range(len(values))):
        heights = bottom - shares[number] * (bottom - top)
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, heights, strict=True))
        width = 1.2 + 5 * model.weights[number]
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{color(number)}" stroke-width="{width:.1f}" '
            f'stroke-opacity="0.85"><title>cluster {number}</title></polyline>'
        )
    return "".join([*parts, "</svg>"])


def draw_sizes(data_bytes: float, sketch_bytes: float, words: tuple[str, str]) -> str:
    """Draw the data beside the sketch, as areas: the sketch is a dot."""
    side = 92.0
    small = max(1.2, side * float(np.sqrt(min(1.0, sketch_bytes / data_bytes))))
    return (
        f'<svg viewBox="0 0 {_WIDTH} 112" role="img" aria-label="Size of the data and of the sketch">'
        f'<rect x="8" y="10" width="{side}" height="{side}" class="data"/>'
        f'<text x="{side + 20}" y="{10 + side:.1f}">data, {escape(words[0])}</text>'
        f'<rect x="260" y="{10 + side - small:.1f}" width="{small:.1f}" height="{small:.1f}" class="sketch"/>'
        f'<text x="{270 + small:.1f}" y="{10 + side:.1f}">sketch, {escape(words[1])}</text></svg>'
    )


def _open(label: str) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">'


def _main_axes(points: Floats) -> Floats:
    """Return two directions (2, n): the main axes, with signs that do not depend on the library."""
    n = points.shape[1]
    axes = np.zeros((2, n))
    found = np.linalg.svd(points, full_matrices=False)[2][:2]
    axes[: len(found)] = found
    for axis in axes:
        if axis[np.abs(axis).argmax()] < 0:
            axis *= -1
    return axes
