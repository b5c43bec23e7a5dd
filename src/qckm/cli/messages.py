"""Talk goes to stderr, data to stdout; --quiet silences the first, --json makes the second a summary."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from qckm.cli import echo
from qckm.cli.paths import require_apart
from qckm.sources.source import Source


@dataclass(frozen=True)
class Talk:
    """How a verb speaks."""

    quiet: bool = False
    json: bool = False

    def say(self, words: str) -> None:
        """Say something to the person at the terminal."""
        if not self.quiet:
            echo.say(words)

    def facts(self, facts: dict[str, Any]) -> None:
        """Print a summary on stdout, if asked for."""
        if self.json:
            echo.print_data(json.dumps(facts, indent=1))


def talk_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb --quiet and --json, as one argument `talk`; look at its files before it starts."""

    @click.option("--quiet", "-q", is_flag=True, help="Say nothing but errors.")
    @click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON on stdout.")
    @functools.wraps(verb)
    def with_talk(*, quiet: bool, as_json: bool, **arguments: Any) -> Any:
        require_apart(click.get_current_context())
        return verb(talk=Talk(quiet, as_json), **arguments)

    return with_talk


def say_assumptions(source: Source, talk: Talk) -> None:
    """Say what was taken for granted on opening data, and how to say otherwise."""
    for words in source.assumptions:
        talk.say(f"{words}; if that is wrong, use --header, --no-header or --columns")


def size(number: float) -> str:
    """Return bytes in words."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def duration(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
