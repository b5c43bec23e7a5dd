"""`qckm merge`: add sketches."""

from __future__ import annotations

import click

from qckm.cli import sketching
from qckm.cli.paths import Output
from qckm.cli.talk import Talk, talk_options
from qckm.errors import QckmError


@click.command()
@click.argument("sketches", nargs=-1, required=True, metavar="SKETCH...")
@click.option("--output", "-o", type=Output(), help="The .qckm file. [default: stdout]")
@talk_options
def command(sketches: tuple[str, ...], output: str | None, talk: Talk) -> None:
    """Add sketches of one operator: the result is that of all their rows together, to the last bit.

    \b
    Examples:
      qckm merge berlin.qckm paris.qckm -o europe.qckm
      qckm merge monday.qckm - < tuesday.qckm > both.qckm
    """
    target = sketching.sketch_output(output)
    total = sketching.read_sketch(sketches[0])
    for path in sketches[1:]:
        try:
            total = total + sketching.read_sketch(path)
        except QckmError as error:
            raise type(error)(f"{path}: {error}") from error
    size = sketching.write_sketch(total, target)
    talk.say(sketching.summary(total, size, None))
    talk.facts({"output": target, "rows": total.count, "skipped": total.skipped, "sketch_bytes": size})
