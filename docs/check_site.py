"""Check a built site: links and anchors lead somewhere, pictures are described, no page needs the network to be shown.

python docs/check_site.py docs/_build/html
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, where it links to, and what a browser would load to show it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.undescribed: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag defines and refers to."""
        values = dict(attrs)
        self.anchors.update(filter(None, (values.get("id"), values.get("name"))))
        if tag == "a" and values.get("href"):
            self.links.add(values["href"] or "")
        if tag in ("img", "script", "source", "iframe") and values.get("src"):
            self.loads.add(values["src"] or "")
        if tag == "img" and not values.get("alt") and "_thumb" not in (values.get("src") or ""):  # a title is below it
            self.undescribed.add(values.get("src") or "")
        if tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload", "modulepreload"):
            self.loads.add(values.get("href") or "")


@cache
def read(path: Path) -> Page:
    return Page(path)


def problems(site: Path) -> list[str]:
    out = []
    pages = [
        path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts
    ]  # the theme keeps a template there
    for path in pages:
        page, name = read(path), path.relative_to(site)
        out += [f"{name} loads {load}" for load in page.loads if urlsplit(load).scheme in ("http", "https")]
        out += [f"{name} shows {picture} without a description" for picture in sorted(page.undescribed)]
        for link in sorted(page.links | page.loads):
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                out.append(f"{name} links to {link}, which is not there")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in read(target).anchors:
                out.append(f"{name} links to {link}, whose anchor is not there")
    return out


if __name__ == "__main__":
    found = problems(Path(sys.argv[1]))
    print("\n".join(found) or "all internal links lead somewhere; nothing is loaded from elsewhere")
    sys.exit(bool(found))
