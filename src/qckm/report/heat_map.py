"""The centroids as a heat map: a line per cluster, a cell per column, as inline SVG."""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.text import shortened
from qckm.models import Model
from qckm.report.charts import color, in_units, mark, shares_of, telling_columns
from qckm.report.html import FAR, Html, aligned, element, percent

# As many as a screen has room for: the columns that tell the clusters apart best, and the heaviest clusters.
MOST_COLUMNS, MOST_LINES = 50, 50
_LINE, _WIDEST, _NARROWEST = 24.0, 74.0, 17.0
_ROOM = 850.0  # of all cells together, in a page of 60rem
_LEFT = 78.0  # for the clusters' numbers and shares
# Names of this length, turned by 60 degrees, need so much room above the cells and beyond them. Shorter ones get the
# same: what the columns are called changes text and nothing else (tests/attacks).
_LONGEST_NAME, _TOP, _BEYOND = 14, 108.0, 62
# A cell this wide holds a number of three digits.
_WIDE_ENOUGH = 44.0
_ABOVE, _BELOW, _NONE = np.array([0, 95, 155]), np.array([190, 75, 0]), np.array([246, 247, 249])


def standardized_centers(model: Model, sample: Floats | None) -> Floats:
    """Return how many standard deviations of the rows each centroid is from their mean, (K, n).

    The deviations are those of the sample. Without one they are those of the clusters: between and, where the model
    knows it, within.
    """
    shares = shares_of(model)
    with np.errstate(over="ignore", under="ignore"):
        centers = in_units(model.centers, model)
        away = centers - shares @ centers
        if sample is not None and len(sample) > 1:
            deviation = in_units(sample, model).std(axis=0)
        else:
            deviation = np.sqrt(shares @ away**2 + shares @ np.minimum(model.spreads, FAR) ** 2)
        out: Floats = np.where(deviation > 0, away / np.where(deviation > 0, deviation, 1), 0.0)
    return np.clip(np.nan_to_num(out), -999, 999)


def draw_heat_map(model: Model, sample: Floats | None) -> Html:
    """Draw the standardised centroids of the heaviest clusters; cells that are wide enough hold the centroid itself."""
    columns = telling_columns(model, MOST_COLUMNS)
    heights = standardized_centers(model, sample)[:MOST_LINES, columns]
    values = model.centers[:MOST_LINES, columns]
    side = _side(len(columns))
    limit = max(1.0, float(np.abs(heights).max()))
    names = [shortened(model.names[place], _LONGEST_NAME) for place in columns]
    width = max(430, int(_LEFT + side * len(columns) + _BEYOND))
    written = [aligned(column) for column in values.T]
    parts = _column_names(names, side)
    for line, (cells, numbers) in enumerate(zip(heights, values, strict=True)):
        y = _TOP + _LINE * line
        share = percent(float(model.weights[line]))
        label = [
            element("circle", cx=10, cy=f"{y + _LINE / 2:.1f}", r=5, fill=color(line)),
            element("text", line, x=20, y=f"{y + 16:.1f}"),
            element("text", share, x=_LEFT - 6, y=f"{y + 16:.1f}", text_anchor="end", class_="small"),
        ]
        drawn = [
            _cell(
                _LEFT + side * place, y, side, cell / limit, written[place][line], f"{name}: {number:.4g}, {cell:+.2f}"
            )
            for place, (cell, number, name) in enumerate(zip(cells, numbers, names, strict=True))
        ]
        title = element("title", f"cluster {line}: {share} of the rows")
        parts.append(element("g", title, label, drawn, class_=mark(line), tabindex=0))
    bottom = _TOP + _LINE * len(heights)
    parts += _legend(bottom + 16, limit)
    return element(
        "svg",
        parts,
        viewBox=f"0 0 {width} {bottom + 66:.0f}",
        style=f"max-width:{width}px;min-width:{width * 0.8:.0f}px",
        role="img",
        aria_label="Standardised centroids: a line per cluster, a cell per column",
        class_="heat",
    )


def has_numbers(n: int) -> bool:
    """Return whether the cells of n columns are wide enough for numbers."""
    return _side(n) >= _WIDE_ENOUGH


def _side(n: int) -> float:
    return float(np.clip(_ROOM / min(n, MOST_COLUMNS), _NARROWEST, _WIDEST))


def _column_names(names: list[str], side: float) -> list[Html]:
    """Return the names of the axes, and of the columns, turned."""
    y = _TOP - 8
    parts = [
        element("text", "cluster", x=4, y=y, class_="small"),
        element("text", "rows", x=_LEFT - 6, y=y, text_anchor="end", class_="small"),
    ]
    for place, name in enumerate(names):
        x = _LEFT + side * (place + 0.5)
        parts.append(element("text", name, transform=f"translate({x + 3:.1f},{y:.1f}) rotate(-60)"))
    return parts


def _cell(x: float, y: float, side: float, share: float, number: str, words: str) -> list[Html]:
    """Return one cell; `share` is its colour, from -1 to 1."""
    tone = np.round(_NONE + abs(share) * ((_ABOVE if share > 0 else _BELOW) - _NONE)).astype(int)
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{side - 1:.1f}", "height": _LINE - 1}
    square = element("rect", element("title", words), **place, fill=f"rgb({tone[0]},{tone[1]},{tone[2]})")
    if side < _WIDE_ENOUGH or len(number) > 8:
        return [square]
    kind = "small on" if abs(share) > 0.55 else "small ink"
    at = {"x": f"{x + side / 2:.1f}", "y": f"{y + 16:.1f}", "text_anchor": "middle", "class_": kind}
    return [square, element("text", number, **at)]


def _legend(y: float, limit: float) -> list[Html]:
    """Return the scale of colours: below the mean, at it, above it."""
    parts = [
        cell
        for step in range(11)
        for cell in _cell(_LEFT + 24 * step, y, 25.0, (step - 5) / 5, "", f"{(step - 5) / 5 * limit:+.1f} deviations")
    ]
    for step, words in ((0, f"−{limit:.1f}"), (5, "mean"), (10, f"+{limit:.1f}")):
        at = {"x": f"{_LEFT + 24 * step + 12:.1f}", "y": f"{y + 38:.1f}", "text_anchor": "middle", "class_": "small"}
        parts.append(element("text", words, **at))
    return [*parts, element("text", "deviations", x=4, y=f"{y + 16:.1f}", class_="small")]
