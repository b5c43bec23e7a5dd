"""The page: what was read, what was found, how good it is, how to do it again."""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.text import format_bytes
from qckm.models import Model
from qckm.report import charts, checks, heat_map
from qckm.report.html import (
    Html,
    aligned,
    amount,
    count,
    document,
    element,
    line,
    number,
    percent,
    section,
    table,
    words,
)

_MOST_COLUMNS = 12
_VERDICTS = {
    "good": "This looks sound.",
    "fair": "Usable, with a reservation below.",
    "poor": "Look twice before using this.",
}
_MARKS = {"good": "✓", "fair": "!", "poor": "✗"}
_SETTINGS = ("signature", "law", "scale", "dither", "standardized", "decoder", "evaluations", "seed", "fingerprint")


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
    with np.errstate(over="ignore"):
        if sample is not None and not np.isfinite(sample / model.units).all():
            sample = None  # rows so far away have no place on a map, and no distances
    rows = amount(facts, "rows")
    title = f"{k} clusters" + ("" if rows is None else f" in {count(rows)} rows")
    shown = charts.heaviest(model)
    body = [
        element("h1", title),
        element("p", _origin(facts), class_="soft"),
        _verdict(checks.check(model, sample)),
        _read(facts, model),
        section("Map", charts.draw_map(shown, sample), _map_words(sample)),
        section("Profiles", _profiles(shown, sample), _profile_words(model, sample)),
        _table(shown, k),
        _method(facts),
    ]
    return document(f"qckm: {title}", body, charts.highlighting(k))


def _origin(facts: dict[str, object]) -> str:
    inputs = facts.get("inputs") or []
    if not isinstance(inputs, list):
        inputs = [inputs]
    if not inputs:
        return "Centroids from a sketch."
    many = amount(facts, "n_inputs") or len(inputs)
    more = f" and {count(many - 1)} more" if many > 1 else ""
    return f"From {words(inputs[0])}{more}, sketched in one pass."


def _verdict(found: list[checks.Check]) -> Html:
    grade = checks.worst(found)
    items = [
        element(
            "li",
            element("span", _MARKS[one.grade], class_=f"grade {one.grade}"),
            element("b", f"{one.title}."),
            f" {one.words}",
        )
        for one in found
    ]
    return section(_VERDICTS[grade], element("ul", items, class_="checks"), kind=f"verdict {grade}")


def _read(facts: dict[str, object], model: Model) -> Html:
    titles = {"rows": "rows", "skipped": "bad rows left out", "frequencies": "frequencies"}
    shown = [(title, count(facts[key])) for key, title in titles.items() if key in facts]
    shown.insert(1, ("columns", count(model.centers.shape[1])))
    data, sketch = amount(facts, "data_bytes"), amount(facts, "sketch_bytes")
    picture = None
    if data and sketch:
        shown += [
            ("these columns, as float64", format_bytes(data)),
            ("sketch", format_bytes(sketch)),
            ("columns / sketch", f"{data / sketch:,.0f}"),
        ]
        picture = charts.draw_sizes(data, sketch)
    numbers = [element("div", element("dt", title), element("dd", value)) for title, value in shown]
    return section("What was read", [element("dl", numbers, class_="numbers"), picture])


def _map_words(sample: Floats | None) -> str:
    rows = f" Small dots: {len(sample):,} rows, drawn from all over the data." if sample is not None else ""
    return f"The two directions in which the centroids differ most. Areas grow with the clusters' weights.{rows}"


def _profiles(model: Model, sample: Floats | None) -> Html:
    return element("div", heat_map.draw_heat_map(model, sample), class_="wide", tabindex=0)


def _profile_words(model: Model, sample: Floats | None) -> str:
    k, n = model.centers.shape
    many = k > heat_map.MOST_LINES
    notes = [
        f"The {heat_map.MOST_LINES} heaviest of {k} clusters." if many else "",
        f"The {heat_map.MOST_COLUMNS} of {n} columns that differ most." if n > heat_map.MOST_COLUMNS else "",
        "Colours: how many standard deviations a centroid is above (blue) or below (orange) the mean of all rows.",
        "Numbers: the centroids, in data units." if heat_map.has_numbers(n) else "",
        "" if sample is not None else "The deviations are those that the clusters tell.",
        "Point at a cluster, or go to it with the Tab key, to see it alone everywhere on this page.",
    ]
    return " ".join(filter(None, notes))


def _table(model: Model, k: int) -> Html:
    columns = charts.telling_columns(model, _MOST_COLUMNS)
    spreads = bool(np.any(model.spreads > 0))
    names = ["cluster", "weight", *(["spread"] if spreads else []), *(model.names[place] for place in columns)]
    lines = []
    written = [aligned(model.centers[:, place]) for place in columns]
    for place_ in range(len(model.centers)):
        weight = float(model.weights[place_])
        bar = 4 * (weight / max(float(model.weights.max()), 1e-12))
        swatch = element("span", class_="swatch", style=f"background:{charts.color(place_)}")
        cells = [
            [swatch, place_],
            [percent(weight), element("span", class_="bar", style=f"width:{bar:.2f}rem")],
            *([f"{model.spreads[place_]:.3g}"] if spreads else []),
            *(numbers[place_] for numbers in written),
        ]
        lines.append(line(cells, class_=charts.mark(place_), tabindex=0))
    notes = [
        f"{len(model.centers)} of {k} clusters; the model file has all." if len(model.centers) < k else "",
        f"{len(columns)} of {len(model.names)} columns; the model file has all."
        if len(columns) < len(model.names)
        else "",
        "Centroids are in data units; distances were measured in standard deviations."
        if (model.units != 1).any()
        else "",
    ]
    return section("Centroids", table(names, lines), " ".join(filter(None, notes)))


def _method(facts: dict[str, object]) -> Html:
    shown: list[tuple[str, str]] = []
    seconds = facts.get("seconds")
    if isinstance(seconds, dict):
        for name, value in seconds.items():
            known = number(value)
            shown.append((f"seconds to {name}", words(value) if known is None else f"{known:.2f}"))
    elif seconds is not None:
        shown.append(("seconds", words(seconds)))
    shown += [(name, words(facts[name])) for name in _SETTINGS if facts.get(name) is not None]
    command = facts.get("command")
    again = [
        element("p", "The same again, to the last bit of the sketch:"),
        element("pre", command if isinstance(command, str) else words(command)),
    ]
    body = [[element("dt", name), element("dd", value)] for name, value in shown]
    return section("How it was made", [again if command else None, element("dl", body, class_="facts")])
