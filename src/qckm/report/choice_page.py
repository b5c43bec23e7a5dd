"""The page of a choice of K: how many separate groups the clusters of each form, and which is chosen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import qckm
from qckm.common.arrays import Floats
from qckm.decoding.targets.n_clusters import ClusterCount
from qckm.report.charts import HEIGHT, WIDTH, picture
from qckm.report.html import Html, element
from qckm.report.page import head, section

_LEFT, _BOTTOM, _TOP = 70.0, 44.0, 16.0
_GROUPS, _ALL = "#1f5fa8", "#8a94a3"


def render_choice(count: ClusterCount, of: str = "a sketch") -> str:
    """Return what `choose_n_clusters` found as one HTML page.

    Parameters
    ----------
    count : ClusterCount
    of : str
        What was sketched.

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
    verdict = count.doubt or "So many clusters are separate. More centroids find no more of them."
    body = [
        element("h1", title),
        element("p", f"How many clusters there are in {of}.", class_="soft"),
        section(
            "Not clear." if count.doubt else "The choice.",
            element("p", verdict),
            kind=f"verdict {'fair' if count.doubt else 'good'}",
        ),
        section("Groups", _curve(count), "Blue: how many separate groups K clusters form. Grey: K itself."),
        section("By K", _table(count)),
        element("p", f"Made by qckm {qckm.__version__}.", class_="soft"),
    ]
    page = element("html", head(f"qckm: {title}"), element("body", element("main", body)), lang="en")
    return f"<!doctype html>\n{page}\n"


def _curve(count: ClusterCount) -> Html:
    """Draw the groups by K, beside K itself."""
    most = max(int(count.ks[-1]), 1)
    x = _LEFT + (WIDTH - _LEFT - 20) * (np.arange(len(count.ks)) + 0.5) / len(count.ks)
    floor = HEIGHT - _BOTTOM

    def heights(values: npt.NDArray[np.int64]) -> Floats:
        return np.asarray(floor - (floor - _TOP) * values / most)

    chosen = int(np.flatnonzero(count.ks == count.n_clusters)[0])
    parts = [element("line", x1=_LEFT, x2=WIDTH - 10, y1=floor, y2=floor, class_="axis")]
    for place, K in zip(x, count.ks, strict=True):
        parts.append(element("text", int(K), x=f"{place:.1f}", y=f"{floor + 18:.1f}", text_anchor="middle"))
    parts.append(element("text", "clusters K", x=f"{(_LEFT + WIDTH) / 2:.1f}", y=HEIGHT - 6, text_anchor="middle"))
    for groups in sorted({0, count.n_clusters, most}):
        at = f"{floor - groups / most * (floor - _TOP) + 4:.1f}"
        parts.append(element("text", groups, x=_LEFT - 8, y=at, text_anchor="end", class_="small"))
    for values, tone in ((count.ks, _ALL), (count.groups, _GROUPS)):
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, heights(values), strict=True))
        parts.append(element("polyline", points=line, fill="none", stroke=tone, stroke_width=2))
    for number, (a, b) in enumerate(zip(x, heights(count.groups), strict=True)):
        size = 8 if number == chosen else 4
        parts.append(element("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=size, fill=_GROUPS))
    return picture("Separate groups by the number of clusters", HEIGHT, parts)


def _table(count: ClusterCount) -> Html:
    lines = [element("tr", [element("th", name) for name in ("K", "separate groups", "variance explained")])]
    for K, groups, explained in rows_of(count):
        mark = " ✓" if count.n_clusters == K else ""
        cells = (f"{K}{mark}", str(groups), f"{explained:.2%}")
        lines.append(element("tr", [element("td", cell) for cell in cells]))
    return element("div", element("table", lines), class_="wide")


def rows_of(count: ClusterCount) -> list[tuple[int, int, float]]:
    """Return K, the separate groups that K clusters form, and the share of the variance they explain, of each K."""
    columns = zip(count.ks, count.groups, count.variance_explained, strict=True)
    return [(int(K), int(groups), float(explained)) for K, groups, explained in columns]
