"""`qckm merge`: add sketches."""

from __future__ import annotations

import operator

import click

from qckm.cli import completion, sketch_io
from qckm.cli.console import Console, console_options
from qckm.cli.paths import Output, sketch_files


@click.command()
@click.argument(
    "sketches", nargs=-1, required=True, metavar="SKETCH...", shell_complete=completion.files, callback=sketch_files
)
@click.option("--output", "-o", type=Output(), help="The .qckm file. [default: stdout]")
@sketch_io.parts_option
@console_options
def command(sketches: tuple[str, ...], output: str | None, names: bool, console: Console) -> None:
    """Add sketches of one operator: the result is that of all their rows together, to the last bit.

    \b
    Examples:
      qckm merge berlin.qckm paris.qckm -o europe.qckm
      qckm merge 'month-*.qckm' -o year.qckm
      qckm merge monday.qckm - < tuesday.qckm > both.qckm
    """
    sketch_io.fold(sketches, operator.add, output, console, names)
