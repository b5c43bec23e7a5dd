"""How a command speaks: messages to stderr, data to stdout, exit codes; and what was typed.

Words are shown, never obeyed, whatever names of files and columns they hold. --quiet leaves warnings of the messages,
--json makes the data a summary.
"""

from __future__ import annotations

import functools
import io
import json
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import click

from qckm.common.atomic import naming
from qckm.common.text import public_name, visible


def say(words: str) -> None:
    """Say one line to the person at the terminal."""
    click.echo(visible(words), err=True)


def show(words: str) -> None:
    """Print one line of what was asked for, for a person to read."""
    print_data(visible(words))


def print_data(text: str) -> None:
    """Print what a program reads, as it is."""
    with naming("standard output"):
        click.echo(text)


def visible_lines(text: str) -> str:
    """Return lines of our own making, in which what others named is shown."""
    return "\n".join(map(visible, text.split("\n")))


def say_usage(error: click.ClickException) -> None:
    """Say what click found wrong, and how the verb is used."""
    words, message = io.StringIO(), error.format_message()
    error.show(file=words)
    text = words.getvalue()
    # Without any arguments, newer versions of click "find wrong" what is the help, of many lines.
    if not isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        text = text.replace(message, visible(message))
    click.echo(visible_lines(text), err=True, nl=False)


def say_traceback(error: BaseException) -> None:
    """Say where something that should not happen did."""
    click.echo(visible_lines("".join(traceback.format_exception(error))), err=True, nl=False)


def say_warnings() -> None:
    """Have Python's warnings said here, too, as all else."""

    def say_one(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        say(f"warning: {message}")

    warnings.showwarning = say_one


# The exit codes. Of a command that answers a question (`drift`), 0 is no, 1 is yes, and 2 is whatever went wrong.
DONE, FAILED, MISUSED, DOUBTFUL = 0, 1, 2, 3

_words: ContextVar[tuple[str, ...]] = ContextVar("words", default=())


def remember(words: Sequence[str]) -> None:
    """Keep the words after `qckm`: remedies repeat them, when what click knew of them is gone."""
    _words.set(tuple(words))


def typed() -> list[str]:
    """Return the words after `qckm` that started this: as typed, or as another verb says (`demo` runs `fit`)."""
    context = click.get_current_context(silent=True)
    return list(context.obj if context is not None and context.obj else _words.get())


def command_again() -> str:
    """Return the command that does the same once more, without the secrets of URLs."""
    return shlex.join(["qckm", *(public_name(word) for word in typed() if word != "--resume")])


strict_option = click.option(
    "--strict", is_flag=True, envvar="QCKM_STRICT", help="Exit with code 3 if the result is not reliable."
)


@dataclass(frozen=True)
class Console:
    """How a command speaks."""

    quiet: bool = False
    json: bool = False

    def say(self, words: str) -> None:
        """Say something to the person at the terminal."""
        if not self.quiet:
            say(words)

    def warn(self, words: str) -> None:
        """Say what may be wrong with a result, however quiet the rest is."""
        say(f"warning: {words}")

    def print_facts(self, facts: dict[str, object]) -> None:
        """Print a summary on stdout, if asked for: one line for a log, several for a person."""
        if self.json:
            print_data(json.dumps(facts, indent=1 if sys.stdout.isatty() else None))


def console_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb --quiet and --json, as one argument `console`; look at its files before it starts."""

    @click.option("--quiet", "-q", is_flag=True, help="Print only warnings and errors.")
    @click.option("--json", "as_json", is_flag=True, help="Print a summary as one line of JSON on stdout.")
    @functools.wraps(verb)
    def with_console(*, quiet: bool, as_json: bool, **arguments: Any) -> Any:
        from qckm.cli.paths import require_apart  # `qckm --help` needs no library that reads data

        require_apart(click.get_current_context())
        return verb(console=Console(quiet, as_json), **arguments)

    return with_console


class Assumed(Protocol):
    """Data of which something was taken for granted."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was, in words."""


def say_assumptions(source: Assumed, console: Console) -> None:
    """Say what was taken for granted on opening data, and how to say otherwise."""
    for words in source.assumptions:
        console.say(assumption_in_words(words))


def assumption_in_words(words: str) -> str:
    """Return what was taken for granted, with its remedy on the command line."""
    return f"{words}; if that is wrong, use --header, --no-header or --columns"
