"""Sending sketches to a collector: each waits in an outbox until the collector has it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qckm.cli.console import Console
from qckm.errors import CollectorError, QckmError

if TYPE_CHECKING:
    from qckm.collector.client import Letter, Outbox

outbox_option = click.option(
    "--outbox", type=click.Path(file_okay=False), help="Where sketches wait. [default: ~/.local/state/qckm/outbox]"
)


def part_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb --send, --part and --outbox."""
    send = click.option("--send", metavar="URL", help="Send the sketch to a collector; the token is QCKM_TOKEN's.")
    part = click.option(
        "--part", metavar="NAME", help="A name for these rows, which count once under it: berlin/2026-11-16."
    )
    return send(part(outbox_option(verb)))


def require_part(url: str | None, part: str | None) -> None:
    """Refuse a sketch that is to be sent under no name."""
    if url is not None and part is None:
        raise click.UsageError("Expected a name for what is sent, so that it counts once: --part berlin/2026-11-16.")


def send_part(url: str, part: str, data: bytes, outbox: str | None, replace: bool, console: Console) -> None:
    """Send what waits for the same collector, then this; what does not arrive waits for the next time."""
    box = open_outbox(outbox)
    own = box.add(url, part, data, replace)
    # The token is that of this collector, and no other's.
    others = [letter for letter in box.waiting() if letter.url == url and letter.path != own.path]
    send_letters([*others, own], box, console)


def open_outbox(folder: str | None) -> Outbox:
    """Return the outbox of a folder."""
    from qckm.collector import client  # what speaks HTTP takes its time to import

    return client.Outbox(Path(folder) if folder else client.default_outbox())


def send_letters(letters: list[Letter], box: Outbox, console: Console) -> int:
    """Send some letters of an outbox; return how many have arrived. The first that has not is an error, at the end."""
    from qckm.collector.client import Undelivered

    failed: QckmError | None = None
    silent: set[str] = set()
    arrived = 0
    for letter in letters:
        try:
            told = letter.send(tries=1 if letter.url in silent else 6)
            console.say(f"{told['part']}: {told['outcome']}, {told['rows']:,} rows")
            arrived += 1
        except Undelivered as error:
            failed = failed or error
            silent.add(letter.url)
        except CollectorError as error:
            kept = letter.set_aside()
            failed = failed or error.within(f"{letter.part} was refused, and is kept as {kept}")
    if silent:
        console.say(f"{len(box.waiting())} sketch(es) wait in {box.folder}; `qckm send` sends them again")
    if failed:
        raise failed
    return arrived
