"""The page: what was read, what was found, how good it is, how to do it again."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

import qckm
from qckm.models import Model
from qckm.report import charts, verdict
from qckm.rows import Floats

_MOST_COLUMNS = 12
_WORDS = {
    "good": "This looks sound.",
    "fair": "Usable, with a reservation below.",
    "poor": "Look twice before using this.",
}
_MARKS = {"good": "✓", "fair": "!", "poor": "✗"}


def render(model: Model, sample: Floats | None = None) -> str:
    """Return the report of a model as one HTML page.

    Parameters
    ----------
    model : Model
        Its facts are shown where it has them: a model read from CSV has none.
    sample : ndarray of shape (rows, n), optional
        Some rows, for the map and for a comparison with k-means.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> model = Model(np.eye(2), np.array([0.5, 0.5]), np.zeros(2), np.ones(2), facts={"rows": 10})
    >>> "2 clusters in 10 rows" in render(model)
    True
    """
    facts, k = model.facts, len(model.centers)
    checks = verdict.check(model, sample)
    rows = f" in {_count(facts['rows'])} rows" if "rows" in facts else ""
    title = f"{k} clusters{rows}"
    parts = [
        f"<h1>{title}</h1>",
        f'<p class="soft">{_origin(facts)}</p>',
        _verdict(checks),
        _read(facts, model),
        '<div class="pair">',
        _section("Map", charts.draw_map(model, sample), _map_words(sample)),
        _section("Profiles", charts.draw_profiles(model), _profile_words(model)),
        "</div>",
        _table(model),
        _method(facts),
    ]
    style = files("qckm.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        # A page without an icon makes browsers ask a server for one.
        '<link rel="icon" href="data:,">'
        f"<title>qckm: {title}</title><style>{style}</style></head>\n<body><main>{''.join(parts)}"
        f'<p class="soft">Made by qckm {qckm.__version__}.</p></main></body></html>\n'
    )


def _section(title: str, body: str, words: str = "", kind: str = "") -> str:
    note = f'<p class="soft">{words}</p>' if words else ""
    return f'<section class="{kind}"><h2>{title}</h2>{body}{note}</section>'


def _origin(facts: dict[str, Any]) -> str:
    inputs = facts.get("inputs") or []
    if not inputs:
        return "Centroids from a sketch."
    many = facts.get("n_inputs", len(inputs))
    more = f" and {many - 1} more" if many > 1 else ""
    return f"From {escape(str(inputs[0]))}{more}, sketched in one pass."


def _verdict(checks: list[verdict.Check]) -> str:
    grade = verdict.worst(checks)
    items = "".join(
        f'<li><span class="grade {one.grade}">{_MARKS[one.grade]}</span><b>{one.title}.</b> {escape(one.words)}</li>'
        for one in checks
    )
    return _section(_WORDS[grade], f'<ul class="checks">{items}</ul>', kind=f"verdict {grade}")


def _read(facts: dict[str, Any], model: Model) -> str:
    shown: list[tuple[str, str]] = []
    for title, key in (("rows", "rows"), ("bad rows left out", "skipped"), ("frequencies", "frequencies")):
        if key in facts:
            shown.append((title, _count(facts[key])))
    shown.insert(1, ("columns", _count(model.centers.shape[1])))
    data, sketch = facts.get("data_bytes"), facts.get("sketch_bytes")
    picture = ""
    if data and sketch:
        shown += [("data", _size(data)), ("sketch", _size(sketch)), ("data / sketch", f"{data / sketch:,.0f}")]
        picture = charts.draw_sizes(data, sketch, (_size(data), _size(sketch)))
    numbers = "".join(f"<div><dt>{title}</dt><dd>{value}</dd></div>" for title, value in shown)
    return _section("What was read", f'<dl class="numbers">{numbers}</dl>{picture}')


def _map_words(sample: Floats | None) -> str:
    rows = f" Small dots: {len(sample):,} rows, drawn from all over the data." if sample is not None else ""
    return f"The two directions in which the centroids differ most. Areas grow with the clusters' weights.{rows}"


def _profile_words(model: Model) -> str:
    n = model.centers.shape[1]
    some = f"The {charts.MOST_COLUMNS} of {n} columns that differ most. " if n > charts.MOST_COLUMNS else ""
    return f"{some}Each axis runs from the least to the greatest centroid of its column. Thick lines: heavy clusters."


def _table(model: Model) -> str:
    columns = charts.telling_columns(model, _MOST_COLUMNS)
    spreads = bool(np.any(model.spreads > 0))
    head = ["cluster", "weight", *(["spread"] if spreads else []), *(escape(model.names[place]) for place in columns)]
    lines = ["".join(f"<th>{name}</th>" for name in head)]
    for number, center in enumerate(model.centers):
        weight = float(model.weights[number])
        bar = 4 * weight / max(model.weights.max(), 1e-12)
        cells = [
            f'<span class="swatch" style="background:{charts.color(number)}"></span>{number}',
            f'{weight:.1%}<span class="bar" style="width:{bar:.2f}rem"></span>',
            *([f"{model.spreads[number]:.3g}"] if spreads else []),
            *(f"{center[place]:.3g}" for place in columns),
        ]
        lines.append("".join(f"<td>{cell}</td>" for cell in cells))
    rows = "".join(f"<tr>{line}</tr>" for line in lines)
    note = (
        f"{len(columns)} of {len(model.names)} columns; the model file has all."
        if len(columns) < len(model.names)
        else ""
    )
    if (model.units != 1).any():
        note += " Centroids are in data units; distances were measured in standard deviations."
    return _section("Centroids", f'<div class="wide"><table>{rows}</table></div>', note)


def _method(facts: dict[str, Any]) -> str:
    shown = []
    seconds = facts.get("seconds") or {}
    for name, value in seconds.items():
        shown.append((f"seconds to {name}", f"{value:.2f}"))
    for name in (
        "signature",
        "law",
        "scale",
        "dither",
        "standardized",
        "decoder",
        "evaluations",
        "seed",
        "fingerprint",
    ):
        if facts.get(name) is not None:
            shown.append((name, escape(_plain(facts[name]))))
    body = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in shown)
    command = facts.get("command")
    again = f"<p>The same again, to the last bit of the sketch:</p><pre>{escape(command)}</pre>" if command else ""
    return _section("How it was made", f'{again}<dl class="facts">{body}</dl>')


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _size(value: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
