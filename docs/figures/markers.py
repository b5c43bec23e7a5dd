"""Find the marks in a page and put in what their functions return."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPAN = re.compile(r"(<!--figure: ([^>]*?)-->)(.*?)(<!--/figure-->)", re.DOTALL)
BLOCK = re.compile(r"(<!--table: ([^>]*?)-->\n)(.*?)(<!--/table-->)", re.DOTALL)
OPENED = re.compile(r"<!--(?:figure|table)\b")


def pages() -> list[Path]:
    """Return every page that may hold figures."""
    docs = ROOT / "docs"
    found = [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        ROOT / "experiments" / "README.md",
        ROOT / "benchmarks" / "README.md",
    ]
    return found + sorted([*docs.glob("*.md"), *docs.glob("guide/*.md")])


def computed(call: str) -> str:
    """Return what a mark's words stand for: "module function argument …"."""
    module, function, *arguments = shlex.split(call)
    return str(getattr(importlib.import_module(f"figures.{module}"), function)(*arguments))


def filled(text: str) -> str:
    """Return a page's text with every marked figure and table computed anew."""
    text = SPAN.sub(lambda mark: f"{mark[1]}{computed(mark[2])}{mark[4]}", text)
    return BLOCK.sub(lambda mark: f"{mark[1]}\n{computed(mark[2])}\n\n{mark[4]}", text)


def broken(text: str) -> list[str]:
    """Return the marks of a page that are not closed, or with which a line of text begins."""
    whole = len(SPAN.findall(text)) + len(BLOCK.findall(text))
    found = [] if whole == len(OPENED.findall(text)) else [f"{len(OPENED.findall(text))} marks, {whole} of them closed"]
    return found + re.findall(r"^[ \t>*-]*<!--figure:.*$", text, re.MULTILINE)
