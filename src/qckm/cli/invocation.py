"""What was typed, and what to type to do the same once more."""

from __future__ import annotations

import shlex
import sys

import click

from qckm.sources.remote import public_name


def typed() -> list[str]:
    """Return the words after `qckm` that started this: as typed, or as another verb says (`demo` runs `fit`)."""
    context = click.get_current_context(silent=True)
    return list(context.obj) if context is not None and context.obj else sys.argv[1:]


def command_again() -> str:
    """Return the command that does the same once more, without the secrets of URLs."""
    return shlex.join(["qckm", *(public_name(word) for word in typed() if word != "--resume")])
