"""The page of a choice of K: the misfit of each, what chance may leave, and which is chosen."""

from __future__ import annotations

import numpy as np

import qckm
from qckm.common.arrays import Floats
from qckm.decoding.selection import ClusterCount
from qckm.report.charts import HEIGHT, WIDTH, picture
from qckm.report.html import Html, element
from qckm.report.page import head, section

_LEFT, _BOTTOM, _TOP = 70.0, 44.0, 16.0
_MISFIT, _CHANCE = "#1f5fa8", "#8a94a3"


def render_choice(count: ClusterCount, of: str = "a sketch", doubt: str = "") -> str:
    """Return what `choose_n_clusters` found as one HTML page.

    Parameters
    ----------
    count : ClusterCount
    of : str
        What was sketched.
    doubt : str
        Why the choice may be wrong, where it may.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=1, n_frequencies=20, scale=1.0, random_state=0)
    >>> sketch = op.sketch(np.random.default_rng(0).normal(size=(1000, 1)))
    >>> "K = 1" in render_choice(qckm.choose_n_clusters(sketch, ks=[1, 2], random_state=0))
    True
    """
    title = f"K = {count.n_clusters}"
    verdict = doubt or "This number of clusters has the least criterion of those tried."
    body = [
        element("h1", title),
        element("p", f"How many clusters there are in {of}.", class_="soft"),
        section(
            "Look at the curve." if doubt else "The choice.",
            element("p", verdict),
            kind=f"verdict {'fair' if doubt else 'good'}",
        ),
        section("Misfit", _curve(count), "Blue: what K clusters leave of the sketch. Grey: what chance may leave."),
        section("By K", _table(count)),
        element("p", f"Made by qckm {qckm.__version__}.", class_="soft"),
    ]
    page = element("html", head(f"qckm: {title}"), element("body", element("main", body)), lang="en")
    return f"<!doctype html>\n{page}\n"


def _curve(count: ClusterCount) -> Html:
    """Draw misfits by K, on a logarithmic axis."""
    shown = np.maximum(np.stack([count.objectives, count.by_chance]), 1e-300)
    low, high = np.log10(shown[0].min()) - 0.1, np.log10(shown.max()) + 0.1
    x = _LEFT + (WIDTH - _LEFT - 20) * (np.arange(len(count.ks)) + 0.5) / len(count.ks)
    floor = HEIGHT - _BOTTOM

    def heights(values: Floats) -> Floats:
        share: Floats = (np.log10(np.maximum(values, 1e-300)) - low) / (high - low)
        return floor - (floor - _TOP) * np.clip(share, 0, 1)

    chosen = int(np.flatnonzero(count.ks == count.n_clusters)[0])
    parts = [element("line", x1=_LEFT, x2=WIDTH - 10, y1=floor, y2=floor, class_="axis")]
    for place, K in zip(x, count.ks, strict=True):
        parts.append(element("text", int(K), x=f"{place:.1f}", y=f"{floor + 18:.1f}", text_anchor="middle"))
    parts.append(element("text", "clusters K", x=f"{(_LEFT + WIDTH) / 2:.1f}", y=HEIGHT - 6, text_anchor="middle"))
    for share in (0.0, 0.5, 1.0):
        words = f"{10 ** (low + share * (high - low)):.2g}"
        at = f"{floor - share * (floor - _TOP) + 4:.1f}"
        parts.append(element("text", words, x=_LEFT - 8, y=at, text_anchor="end", class_="small"))
    for values, tone in ((count.by_chance, _CHANCE), (count.objectives, _MISFIT)):
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, heights(values), strict=True))
        parts.append(element("polyline", points=line, fill="none", stroke=tone, stroke_width=2))
    for number, (a, b) in enumerate(zip(x, heights(count.objectives), strict=True)):
        size = 8 if number == chosen else 4
        parts.append(element("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=size, fill=_MISFIT))
    return picture("Misfit to the sketch by the number of clusters", HEIGHT, parts)


def _table(count: ClusterCount) -> Html:
    names = ("K", "explained", "misfit", "by chance", "criterion")
    lines = [element("tr", [element("th", name) for name in names])]
    for K, explained, misfit, chance, criterion in rows_of(count):
        mark = " ✓" if count.n_clusters == K else ""
        cells = (f"{K}{mark}", f"{max(0.0, explained):.2%}", f"{misfit:.4g}", f"{chance:.4g}", f"{criterion:.1f}")
        lines.append(element("tr", [element("td", cell) for cell in cells]))
    return element("div", element("table", lines), class_="wide")


def rows_of(count: ClusterCount) -> list[tuple[int, float, float, float, float]]:
    """Return K, the share explained, the misfit, what chance may leave of it, and the criterion, of each K."""
    columns = (count.ks, count.explained, count.objectives, count.by_chance, count.criterion)
    return [(int(K), *map(float, rest)) for K, *rest in zip(*columns, strict=True)]  # type: ignore[misc]
