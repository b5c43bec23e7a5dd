"""`qckm subtract`: forget rows, or cut a window out of cumulative sketches."""

from __future__ import annotations

import operator

import click

from qckm.cli import sketching
from qckm.cli.messages import Talk, talk_options
from qckm.cli.paths import Output


@click.command()
@click.argument("whole")
@click.argument("parts", nargs=-1, required=True, metavar="PART...")
@click.option("--output", "-o", type=Output(), help="The .qckm file. [default: stdout]")
@talk_options
def command(whole: str, parts: tuple[str, ...], output: str | None, talk: Talk) -> None:
    """Take the rows of each PART out of WHOLE, exactly.

    \b
    Examples:
      qckm subtract all.qckm withdrawn.qckm -o rest.qckm
      qckm subtract 14h.qckm 13h.qckm -o last-hour.qckm     # of snapshots: sketch --every
    """
    sketching.fold((whole, *parts), operator.sub, output, talk)
