"""What a shell proposes: columns of the file that was named before, names of files, values of options.

A shell asks while somebody types: whatever goes wrong is no proposal, and nothing is read but the head of a file here.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

# Arguments that name rows, in the order they are asked in.
_ROWS = ("data", "sample", "rows")


def files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Propose names of files: the shell knows them."""
    return [CompletionItem(incomplete, type="file")]


def one_of(**values: str) -> Complete:
    """Propose values, each with a word on what it is."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(value, help=help_) for value, help_ in values.items() if value.startswith(incomplete)]

    return complete


def columns(context: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Propose columns of the first file named before, other than those that are there: numbers, or all to keep."""
    before, comma, last = incomplete.rpartition(",")
    named = before.split(",") if before else []
    for given in context.params.get(param.name or "") or ():
        named += [given] if isinstance(given, str) else list(given)
    return [
        CompletionItem(f"{before}{comma}{name}")
        for name in _held(context, numeric=param.name != "keep")
        if name.startswith(last) and name not in named and "," not in name and name.isprintable()
    ]


def _held(context: click.Context, numeric: bool) -> list[str]:
    """Return the columns of the first file of rows among the words before."""
    from qckm.sources.opening import paths_of

    words: list[str] = []
    for name in _ROWS:
        given = context.params.get(name) or ()
        words += [given] if isinstance(given, str) else given
    for word in (*words, *context.args):  # arguments are left over where the last option has no value yet
        for path in paths_of(word)[:1]:
            found = _columns_of(path, numeric) if os.path.isfile(path) else []  # a pipe would wait
            if found:
                return found
    return []


def _columns_of(path: str, numeric: bool) -> list[str]:
    from qckm.sources.opening import tables_of

    try:
        held = tables_of(path)[0].columns
    except Exception:  # of a file that cannot be read nobody proposes anything
        return []
    return [column.name for column in held if column.numeric or not numeric]
