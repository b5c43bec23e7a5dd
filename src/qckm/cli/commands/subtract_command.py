"""`qckm subtract`: forget rows, or cut a window out of cumulative sketches."""

from __future__ import annotations

import operator

import click

from qckm.cli import completion, options, sketch_io
from qckm.cli.console import Console
from qckm.cli.paths import sketch_files


@click.command()
@click.argument("whole", shell_complete=completion.files)
@click.argument(
    "parts", nargs=-1, required=True, metavar="PART...", shell_complete=completion.files, callback=sketch_files
)
@options.sketch_output_option
@sketch_io.parts_option
@options.console_options
def command(whole: str, parts: tuple[str, ...], output: str | None, names: bool, console: Console) -> None:
    """Take the rows of each PART out of WHOLE, exactly.

    \b
    Examples:
      qckm subtract all.qckm withdrawn.qckm -o rest.qckm
      qckm subtract 14h.qckm 13h.qckm -o last-hour.qckm     # of snapshots: sketch --every
    """
    sketch_io.fold((whole, *parts), operator.sub, output, console, names)
