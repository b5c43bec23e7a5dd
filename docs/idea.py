"""Draw the picture of the idea, docs/images/idea.svg: rows → sums → clusters; merge, forget. `make pictures` runs it.

Nothing in it is made up: the dots are rows, the cells are the measurements of real sketches, and the centroids are
decoded from their sum.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import qckm

PATH = Path(__file__).parent / "images" / "idea.svg"
CENTERS = np.array([[-3.0, -1.6], [2.2, 2.2], [2.6, -2.0]])
SHOPS = {"shop 1": [0.8, 0.2, 0.0], "shop 2": [0.0, 0.3, 0.7], "shop 40": [0.3, 0.5, 0.2]}
WIDTH, HEIGHT = 760, 474
# Its own ground, so that it can be read on any page; and a dark one where the reader's system is dark.
STYLE = """
  .ground { fill: #ffffff; stroke: #d5dbe3 } .panel { fill: #f3f5f8; stroke: #c3cbd6 } .row { fill: #4d5b6e }
  text { fill: #1d2430; font: 16px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif }
  .title { font-weight: 700 } .soft { fill: #556070; font-size: 14px } .sign { font-size: 26px; font-weight: 700 }
  .arrow { stroke: #556070; stroke-width: 2; fill: none } .tip { fill: #556070 } .none { fill: #e3e7ed }
  .more { fill: #0072b2 } .less { fill: #d55e00 } .center { fill: #009e73; stroke: #ffffff; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #14181e; stroke: #3a4450 } .panel { fill: #1f252e; stroke: #465160 } .row { fill: #b4c0cf }
    text { fill: #e8edf3 } .soft { fill: #a9b4c2 } .arrow { stroke: #a9b4c2 } .tip { fill: #a9b4c2 }
    .none { fill: #2b333e } .more { fill: #58b0ee } .less { fill: #f0883e } .center { fill: #2fc795; stroke: #14181e }
  }
"""


def rows(shares: list[float], rng: np.random.Generator, count: int = 4000) -> np.ndarray:
    return CENTERS[rng.choice(3, count, p=shares)] + 0.6 * rng.normal(size=(count, 2))


def panel(x: float, y: float, width: float, height: float, points: np.ndarray, mark: str) -> str:
    """Return a plane with points on it; the marks of centroids are larger than those of rows."""
    inside = points[(np.abs(points[:, 0]) < 5) & (np.abs(points[:, 1]) < 4.2)]
    across, up = x + width * (inside[:, 0] + 5.2) / 10.4, y + height * (4.4 - inside[:, 1]) / 8.8
    radius = {"row": 1.9, "center": 9}[mark]
    dots = "".join(
        f'<circle class="{mark}" cx="{a:.1f}" cy="{b:.1f}" r="{radius}"/>' for a, b in zip(across, up, strict=True)
    )
    return f'<rect class="panel" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>{dots}'


def cells(x: float, y: float, side: float, sketch: qckm.Sketch) -> str:
    """Return the measurements of a sketch, six a line: blue above zero, orange below, stronger when farther from it."""
    parts = []
    for place, value in enumerate(sketch.values()):
        at = (
            f'x="{x + side * (place % 6):.1f}" y="{y + side * (place // 6):.1f}" width="{side - 2}" height="{side - 2}"'
        )
        sign = "more" if value > 0 else "less"
        parts.append(f'<rect class="none" {at}/><rect class="{sign}" {at} opacity="{abs(value):.2f}"/>')
    return "".join(parts)


def arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    angle = np.degrees(np.arctan2(y2 - y1, x2 - x1))
    tip = f'<path class="tip" transform="translate({x2},{y2}) rotate({angle:.1f})" d="M0 0L-10 -5L-10 5Z"/>'
    back = 8 * np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])  # the line ends inside the tip
    return f'<path class="arrow" d="M{x1} {y1}L{x2 - back[0]:.1f} {y2 - back[1]:.1f}"/>{tip}'


def text(x: float, y: float, words: str, kind: str, anchor: str = "middle") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>'


def draw() -> str:
    rng = np.random.default_rng(0)
    operator = qckm.SketchOperator.draw(2, 12, 1.1, "concentrated-radius", random_state=5)
    data = {name: rows(shares, rng) for name, shares in SHOPS.items()}
    sketches = {name: operator.sketch(X) for name, X in data.items()}
    merged = sketches["shop 1"] + sketches["shop 2"] + sketches["shop 40"]
    left = merged - sketches["shop 2"]
    assert left == sketches["shop 1"] + sketches["shop 40"]
    centers = qckm.decode(merged, 3, random_state=0).centers
    parts = [
        f'<rect class="ground" x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="12"/>',
        text(88, 34, "rows", "title"),
        text(267, 34, "sketches", "title"),
        text(450, 84, "merge: add", "title"),
        text(650, 84, "decode: clusters", "title"),
    ]
    for (name, X), y in zip(data.items(), (48, 150, 252), strict=True):
        parts += [panel(30, y, 116, 84, X[:90], "row"), text(38, y + 17, name, "soft", "start")]
        parts += [arrow(152, y + 42, 204, y + 42), cells(212, y + 6, 18, sketches[name])]
        parts.append(arrow(328, y + 42, 382, 192 + (y - 150) / 4))
    parts += [text(88, 248, "⋮", "soft"), text(267, 248, "⋮", "soft")]
    parts += [cells(390, 152, 20, merged), arrow(518, 192, 568, 192), panel(576, 138, 150, 108, centers, "center")]
    parts += [text(450, 262, "as small as one of them", "soft"), text(650, 270, "centroids and weights,", "soft")]
    parts.append(text(650, 289, "without the rows", "soft"))
    y = 374
    parts += [text(30, y + 40, "forget:", "title", "start"), text(30, y + 60, "subtract", "title", "start")]
    parts += [cells(132, y, 18, merged), text(264, y + 45, "−", "sign"), cells(288, y, 18, sketches["shop 2"])]
    parts += [text(420, y + 45, "=", "sign"), cells(444, y, 18, left)]
    parts += [
        text(566, y + 24, "as if shop 2 had", "soft", "start"),
        text(566, y + 43, "never been added,", "soft", "start"),
    ]
    parts += [text(566, y + 62, "to the last bit", "soft", "start")]
    parts += [
        text(186, y - 8, "all shops", "soft"),
        text(342, y - 8, "shop 2", "soft"),
        text(498, y - 8, "the others", "soft"),
    ]
    body = "\n".join(parts)
    title = (
        "Rows become sketches; sketches are added, and clusters decoded from the sum; subtracting a sketch forgets it"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img"><title>{title}</title>\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    PATH.write_text(draw(), encoding="utf-8")
    print(f"drawn: {PATH.name}")
