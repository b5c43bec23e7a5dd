"""`qckm send`: sketches to a collector; each waits in an outbox until the collector has it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qckm.cli import options, sketches
from qckm.cli.arguments import OneFile
from qckm.cli.console import Console
from qckm.errors import CollectorError, QckmError
from qckm.sketch import files

if TYPE_CHECKING:
    from qckm.collector.client import Letter, Outbox

_outbox_option = click.option(
    "--outbox", type=click.Path(file_okay=False), help="Where sketches wait. [default: ~/.local/state/qckm/outbox]"
)


@click.command()
@click.argument("sketch", type=OneFile(), required=False)
@click.option("--to", "url", metavar="URL", help="The collector: https://collector:8321.")
@click.option("--part", metavar="NAME", help="The sketch's name, which counts once: berlin/2026-11-16.")
@click.option("--replace", is_flag=True, help="Replace the one of the same name.")
@_outbox_option
@options.console_options
def command(
    sketch: str | None, url: str | None, part: str | None, replace: bool, outbox: str | None, console: Console
) -> None:
    """Send SKETCH to a collector; without one, send what waits in the outbox since it could not be reached.

    \b
    Examples:
      qckm send berlin.qckm --to https://collector:8321 --part berlin/2026-11-16
      qckm send

    The token is that of the variable QCKM_TOKEN. A sketch that arrives twice counts once.
    """
    if sketch is None:
        if url or part or replace:
            raise click.UsageError("Expected a sketch to send, or no options: then what waits is sent.")
        box = _open_outbox(outbox)
        arrived = _send_letters(box.waiting(), box, console)
        console.say(f"{arrived} sketch(es) sent")
        return
    if url is None or part is None:
        raise click.UsageError("Expected --to URL and --part NAME.")
    data = files.dumps(sketches.read_sketch(sketch))
    send_part(url, part, data, outbox, replace, console)


def part_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb --send, --part and --outbox."""
    send = click.option("--send", metavar="URL", help="Send the sketch to a collector; the token is QCKM_TOKEN's.")
    part = click.option(
        "--part", metavar="NAME", help="A name for these rows, which count once under it: berlin/2026-11-16."
    )
    return send(part(_outbox_option(verb)))


def require_part(url: str | None, part: str | None) -> None:
    """Refuse a sketch that is to be sent under no name."""
    if url is not None and part is None:
        raise click.UsageError("Expected a name for what is sent, so that it counts once: --part berlin/2026-11-16.")


def send_part(url: str, part: str, data: bytes, outbox: str | None, replace: bool, console: Console) -> None:
    """Send what waits for the same collector, then this; what does not arrive waits for the next time."""
    box = _open_outbox(outbox)
    own = box.add(url, part, data, replace)
    # The token is that of this collector, and no other's.
    others = [letter for letter in box.waiting() if letter.url == url and letter.path != own.path]
    _send_letters([*others, own], box, console)


def _open_outbox(folder: str | None) -> Outbox:
    """Return the outbox of a folder."""
    from qckm.collector import client  # what speaks HTTP takes its time to import

    return client.Outbox(Path(folder) if folder else client.default_outbox())


def _send_letters(letters: list[Letter], box: Outbox, console: Console) -> int:
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
