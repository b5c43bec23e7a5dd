"""`qckm export-c`: an operator as C for a sensor."""

from __future__ import annotations

import click

from qckm.cli import options, sketches
from qckm.cli.arguments import OneFile, Output
from qckm.cli.console import Console, write_bytes
from qckm.export.as_c import COUNTER_BITS, render_c
from qckm.export.rendering import PREFIX


@click.command()
@click.argument("operator_file", type=OneFile(), metavar="OPERATOR")
@click.option("--output", "-o", type=Output(), help="The C header. [default: stdout]")
@click.option("--prefix", default=PREFIX, show_default=True, help="What all names start with.")
@click.option(
    "--regenerate",
    is_flag=True,
    help="Make the frequencies on the device: less flash, more time (integer laws; faster: --law seeded).",
)
@click.option(
    "--hints/--no-hints",
    default=True,
    help="With --regenerate of the seeded law: one byte per frequency, which saves time. [default: yes]",
)
@click.option(
    "--counters",
    type=click.Choice([str(bits) for bits in COUNTER_BITS]),
    default=str(COUNTER_BITS[0]),
    show_default=True,
    help="Bits of a counter.",
)
@options.console_options
def command(
    operator_file: str, output: str | None, prefix: str, regenerate: bool, hints: bool, counters: str, console: Console
) -> None:
    """Write the encoder of an operator as one C99 header: integers only, no library, the same bits as here.

    \b
    Examples:
      qckm export-c fleet.qckm -o encoder.h
      qckm operator pilot.csv -k 5 --law seeded -o fleet.qckm
      qckm export-c fleet.qckm --regenerate --prefix gait -o gait.h
    """
    operator = sketches.load_operator(operator_file)
    text = render_c(operator, prefix, regenerate, int(counters), hints).encode("ascii")
    target = output or "-"
    write_bytes(target, text)
    width = -(-operator.n_measurements // 8)
    console.say(f"{operator.n_features} readings to {width} bytes per row; operator {operator.fingerprint[:16]}")
    console.print_facts({"output": target, "bytes_a_row": width, **sketches.operator_facts(operator)})
