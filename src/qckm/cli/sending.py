"""Sending sketches to a collector: each waits in an outbox until the collector has it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qckm.cli.console import Console

if TYPE_CHECKING:
    from qckm.collector.client import Outbox

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
    """Send what waits, then this; what does not arrive waits for the next time, and is an error now."""
    box = open_outbox(outbox)
    own = box.add(url, part, data, replace)
    send_waiting(box, console, own)


def open_outbox(folder: str | None) -> Outbox:
    """Return the outbox of a folder."""
    from qckm.collector import client  # what speaks HTTP takes its time to import

    return client.Outbox(Path(folder) if folder else client.default_outbox())


def send_waiting(box: Outbox, console: Console, last: Path | None = None) -> int:
    """Send all that waits in an outbox, one of them last; return how many have arrived."""
    from qckm.collector.client import Unreachable

    notes = [note for note in box.waiting() if note != last] + ([] if last is None else [last])
    failed = None
    arrived = 0
    for note in notes:
        try:
            told = box.send(note, tries=1 if failed else 6)
        except Unreachable as error:
            failed = failed or error
            continue
        console.say(f"{told['part']}: {told['outcome']}, {told['rows']:,} rows")
        arrived += 1
    if failed:
        left = len(box.waiting())
        raise failed.within(f"{left} sketch(es) wait in {box.folder}; `qckm send` sends them again")
    return arrived
