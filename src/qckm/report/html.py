"""Elements of a page. Whatever is put into one is text, and shown as such, unless it is an element itself.

So nothing that a name or a fact holds can become markup: there is no other way to make any.
"""

from __future__ import annotations

from html import escape

from qckm.common.text import visible

_WITHOUT_END = ("meta", "link")


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


def _parts(children: object) -> list[str]:
    if isinstance(children, (list, tuple)):
        return [part for child in children for part in _parts(child)]
    if children is None:
        return []
    return [children if isinstance(children, Html) else _escaped(children)]


def _escaped(value: object) -> str:
    return escape(visible(str(value)))
