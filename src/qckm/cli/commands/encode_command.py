"""`qckm encode`: rows to the bits a sensor would send."""

from __future__ import annotations

import click

from qckm.cli import data_to_sketch, options, sketch_io
from qckm.cli.console import Console, console_options
from qckm.cli.outputs import writing
from qckm.cli.paths import OneFile, Output
from qckm.planning.plan import Plan
from qckm.sketch.sketch import require_columns
from qckm.sources.rows import OnBad
from qckm.sources.text import TextFormat


@click.command()
@options.data_argument
@click.option("--operator", "--like", "operator_file", type=OneFile(), required=True, help="The operator's .qckm file.")
@click.option("--output", "-o", type=Output(), help="Where the bits go. [default: stdout]")
@options.data_options
@console_options
def command(
    data: tuple[str, ...],
    operator_file: str,
    output: str | None,
    columns: tuple[str, ...] | None,
    text: TextFormat,
    dtype: str,
    on_bad: OnBad,
    console: Console,
) -> None:
    """Write the one-bit contributions of each row of DATA: M bits, little bit first, in whole bytes, row after row.

    \b
    Examples:
      qckm encode readings.csv --operator fleet.qckm -o readings.bits
      qckm encode - --operator fleet.qckm < readings.csv | qckm pool - --operator fleet.qckm -o sum.qckm
    """
    target = sketch_io.sketch_output(output)
    job = data_to_sketch.SketchTask(data, columns, text, dtype, on_bad, Plan(), operator_file, None, False, 0)
    source, operator = data_to_sketch.open_data(job, console)
    assert operator is not None
    require_columns(operator, source)
    rows = skipped = 0
    with writing(target) as write:
        for batch in source.batches():
            good = batch.finite_rows()
            if on_bad == "error" and len(good) < len(batch.rows):
                batch.require_finite()
            write(operator.encode(good).tobytes())
            rows, skipped = rows + len(good), skipped + len(batch.rows) - len(good)
        source.require_unchanged()
    width = -(-operator.n_measurements // 8)
    console.say(f"{rows:,} rows of {width} bytes" + (f"; skipped {skipped:,} bad rows" if skipped else ""))
    console.print_facts({"output": target, "rows": rows, "skipped": skipped, "bytes_a_row": width})
