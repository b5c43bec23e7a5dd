"""Pages and their elements. A page runs no script and fetches nothing.

Whatever is put into an element is text, and shown as such, unless it is an element itself.

So nothing that a name or a fact holds can become markup: there is no other way to make any.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

import qckm
from qckm.common.text import visible

_WITHOUT_END = ("meta", "link")
# No script runs and nothing is fetched, whatever the page may hold: all that is allowed is its own style, and its icon.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


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
