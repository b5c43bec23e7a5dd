"""`qckm encode`: rows to the bits a sensor would send."""

from __future__ import annotations

import click

from qckm.cli import options, sketches
from qckm.cli.arguments import Output
from qckm.cli.console import Console, writing
from qckm.cli.inputs import open_looked
from qckm.cli.options import Reading
from qckm.cli.sketches import counted
from qckm.sketch.sketch import require_columns


@click.command()
@options.data_argument
@options.operator_option(required=True)
@click.option("--output", "-o", type=Output(), help="Where the bits go. [default: stdout]")
@options.data_options
@options.console_options
def command(data: tuple[str, ...], operator_file: str, output: str | None, reading: Reading, console: Console) -> None:
    """Write the one-bit contributions of each row of DATA: M bits, little bit first, in whole bytes, row after row.

    \b
    Examples:
      qckm encode readings.csv --operator fleet.qckm -o readings.bits
      qckm encode - --operator fleet.qckm < readings.csv | qckm pool - --operator fleet.qckm -o sum.qckm
    """
    target = sketches.sketch_output(output)
    operator = sketches.load_operator(operator_file)
    source = open_looked(reading, data, console, operator.feature_names)
    require_columns(operator, source)
    rows = 0
    with writing(target) as write:
        for batch in source.batches():
            good = batch.finite_rows()
            write(operator.encode(good).tobytes())
            rows += len(good)
        source.require_unchanged()
    width = -(-operator.n_measurements // 8)
    console.say(
        f"{rows:,} rows of {width} bytes"
        + (f"; skipped {counted(source.skipped, 'bad row')}" if source.skipped else "")
    )
    console.print_facts({"output": target, "rows": rows, "skipped": source.skipped, "bytes_a_row": width})
