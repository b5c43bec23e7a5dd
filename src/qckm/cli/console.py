"""Messages go to stderr, data to stdout; --quiet silences the first, --json makes the second a summary."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from qckm.cli import terminal
from qckm.cli.paths import require_apart
from qckm.sources.source import Source


@dataclass(frozen=True)
class Console:
    """How a command speaks."""

    quiet: bool = False
    json: bool = False

    def say(self, words: str) -> None:
        """Say something to the person at the terminal."""
        if not self.quiet:
            terminal.say(words)

    def print_facts(self, facts: dict[str, object]) -> None:
        """Print a summary on stdout, if asked for."""
        if self.json:
            terminal.print_data(json.dumps(facts, indent=1))


def console_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb --quiet and --json, as one argument `console`; look at its files before it starts."""

    @click.option("--quiet", "-q", is_flag=True, help="Say nothing but errors.")
    @click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON on stdout.")
    @functools.wraps(verb)
    def with_console(*, quiet: bool, as_json: bool, **arguments: Any) -> Any:
        require_apart(click.get_current_context())
        return verb(console=Console(quiet, as_json), **arguments)

    return with_console


def say_assumptions(source: Source, console: Console) -> None:
    """Say what was taken for granted on opening data, and how to say otherwise."""
    for words in source.assumptions:
        console.say(assumption_in_words(words))


def assumption_in_words(words: str) -> str:
    """Return what was taken for granted, with its remedy on the command line."""
    return f"{words}; if that is wrong, use --header, --no-header or --columns"
