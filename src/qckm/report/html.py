"""Pages, their elements, and facts in words. A page runs no script and fetches nothing.

Whatever is put into an element is text, and shown as such, unless it is an element itself.

So nothing that a name or a fact holds can become markup: there is no other way to make any.

Facts of a model come out of a file: a number only where one is there, and words for anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

import numpy as np

import qckm
from qckm.common.arrays import Floats
from qckm.common.text import format_value, shortened, visible

_WITHOUT_END = ("meta", "link")
# No script runs and nothing is fetched, whatever the page may hold: all that is allowed is its own style, and its icon.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
# No count of rows or bytes is larger, and Python's integers know no end.
_LARGEST = 1e21
_LONGEST = 300
# Squares of larger numbers are no float64, nor those of smaller ones than its inverse.
FAR = 1e150


class Html(str):
    """Markup, as `element` makes it; made by hand only of what we wrote ourselves."""

    __slots__ = ()


def element(tag: str, *children: object, **attributes: object) -> Html:
    """Return an element. Lists of children are put one after the other; None is left out.

    In names of attributes, - is written _, and a name that Python has taken gets one at the end.

    Examples
    --------
    >>> element("p", "a < b", element("b", 1), class_="soft")
    '<p class="soft">a &lt; b<b>1</b></p>'
    """
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_escaped(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = "".join(_parts(children))
    return Html(f"<{tag}{given}>" if tag in _WITHOUT_END else f"<{tag}{given}>{inside}</{tag}>")


def document(title: str, body: Sequence[object], rules: str = "") -> str:
    """Return a whole page; `rules`, ours alone, extend its style."""
    style = files("qckm.report").joinpath("style.css").read_text(encoding="utf-8") + rules
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        # A page without an icon makes browsers ask a server for one.
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Html(style)),
    )
    made = element("p", f"Made by qckm {qckm.__version__}.", class_="soft")
    page = element("html", head, element("body", element("main", *body, made)), lang="en")
    return f"<!doctype html>\n{page}\n"


def section(title: str, body: object, note: str = "", kind: str | None = None) -> Html:
    """Return a part of a page, with a title above and a note below."""
    return element(
        "section", element("h2", title), body, element("p", note, class_="soft") if note else None, class_=kind
    )


def table(names: Iterable[object], lines: Iterable[Html]) -> Html:
    """Return a table of some lines below the names of its columns; it may be wider than the page."""
    return element(
        "div", element("table", element("tr", [element("th", name) for name in names]), *lines), class_="wide"
    )


def line(cells: Iterable[object], **attributes: object) -> Html:
    """Return a line of a table."""
    return element("tr", [element("td", cell) for cell in cells], **attributes)


def _parts(children: object) -> list[str]:
    if isinstance(children, (list, tuple)):
        return [part for child in children for part in _parts(child)]
    if children is None:
        return []
    return [children if isinstance(children, Html) else _escaped(children)]


def _escaped(value: object) -> str:
    return escape(visible(str(value)))


def number(value: object) -> float | None:
    """Return a finite number of a size that can be, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if -_LARGEST < value < _LARGEST else None


def amount(facts: dict[str, object], key: str) -> float | None:
    """Return a fact that counts something, or None."""
    found = number(facts.get(key))
    return found if found is not None and found >= 0 else None


def words(value: object) -> str:
    """Return a fact in words. Integers stay as they are: a seed is copied, not read."""
    return shortened(str(value) if type(value) is int else format_value(value), _LONGEST)


def count(value: object) -> str:
    """Return a number of things in words."""
    known = number(value)
    return words(value) if known is None else f"{known:,.0f}"


def aligned(values: Floats) -> list[str]:
    """Return the numbers of a column with the same number of decimals: three digits of the largest.

    Examples
    --------
    >>> import numpy as np
    >>> aligned(np.array([12.345, -0.000982])), aligned(np.array([1e7, 2.0]))
    (['12.3', '0.0'], ['1.00e+07', '2.00e+00'])
    """
    largest = float(np.abs(values).max())
    if not 1e-3 <= largest < 1e6:
        return [f"{value:.2e}" if value else "0" for value in values]
    decimals = max(0, 2 - int(np.floor(np.log10(largest))))
    return [f"{value:z.{decimals}f}" for value in values]


def percent(share: float, digits: int = 1) -> str:
    """Return a share in per cent; what is none, and far above 1, as it is."""
    return f"{share:.{digits}%}" if share < _LARGEST else f"{share:.3g}"
