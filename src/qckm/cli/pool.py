"""`qckm pool`: add up bits to a sketch."""

from __future__ import annotations

import click
import numpy as np

from qckm.cli import sketching
from qckm.cli.talk import Talk, talk_options
from qckm.errors import RowsError
from qckm.sources.raw import Peekable, open_file, open_stdin

_BLOCK = 1 << 24


@click.command()
@click.argument("bits", nargs=-1, required=True, metavar="BITS...")
@click.option("--operator", "--like", "operator_file", required=True, help="The operator's .qckm file.")
@click.option("--output", "-o", help="The .qckm file. [default: stdout]")
@talk_options
def command(bits: tuple[str, ...], operator_file: str, output: str | None, talk: Talk) -> None:
    r"""Add up the bits of rows, as `qckm encode` or a sensor writes them, to the sketch that the rows would give.

    \b
    Examples:
      qckm pool station*.bits --operator fleet.qckm -o sum.qckm
      qckm encode rows.csv --operator fleet.qckm | qckm pool - --operator fleet.qckm > sum.qckm
    """
    target = sketching.sketch_output(output)
    operator = sketching.load_operator(operator_file)
    width = -(-operator.n_measurements // 8)
    total = operator.empty()
    for path in bits:
        with open_stdin() if path == "-" else open_file(path) as stream:
            rest = b""
            while data := _fill(stream, _BLOCK):
                data = rest + data
                whole = len(data) // width * width
                total += operator.pool(np.frombuffer(data, np.uint8, whole).reshape(-1, width))
                rest = data[whole:]
        if rest:
            raise RowsError(f"{path}: expected whole rows of {width} bytes, got {len(rest)} bytes too many.")
    size = sketching.write_sketch(total, target)
    talk.say(sketching.summary(total, size, None))
    talk.facts({"output": target, "rows": total.count, "sketch_bytes": size})


def _fill(stream: Peekable, size: int) -> bytes:
    """Read a block from a pipe that gives little at a time."""
    parts, left = [], size
    while left and (part := stream.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
