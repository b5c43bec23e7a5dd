"""`qckm send`: sketches to a collector."""

from __future__ import annotations

import click

from qckm.cli import options, sending, sketch_io
from qckm.cli.console import Console
from qckm.cli.paths import OneFile
from qckm.sketch import files


@click.command()
@click.argument("sketch", type=OneFile(), required=False)
@click.option("--to", "url", metavar="URL", help="The collector: https://collector:8321.")
@click.option("--part", metavar="NAME", help="The sketch's name, which counts once: berlin/2026-11-16.")
@click.option("--replace", is_flag=True, help="Replace the one of the same name.")
@sending.outbox_option
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
        box = sending.open_outbox(outbox)
        arrived = sending.send_letters(box.waiting(), box, console)
        console.say(f"{arrived} sketch(es) sent")
        return
    if url is None or part is None:
        raise click.UsageError("Expected --to URL and --part NAME.")
    data = files.dumps(sketch_io.read_sketch(sketch))
    sending.send_part(url, part, data, outbox, replace, console)
