"""The one way to a person's terminal: words are shown, never obeyed, whatever names of files and columns they hold."""

from __future__ import annotations

import io
import traceback
import warnings

import click

from qckm.common.atomic import naming
from qckm.common.text import visible


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
