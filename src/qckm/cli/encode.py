"""`qckm encode`: rows to the bits a sensor would send."""

from __future__ import annotations

from typing import Any

import click

from qckm.cli import options, sketching
from qckm.cli.messages import Talk, talk_options
from qckm.cli.paths import Input, Output
from qckm.cli.writing import writing
from qckm.planning.plan import Plan
from qckm.sketch.runs import require_columns


@click.command()
@options.data_argument
@click.option("--operator", "--like", "operator_file", type=Input(), required=True, help="The operator's .qckm file.")
@click.option("--output", "-o", type=Output(), help="Where the bits go. [default: stdout]")
@options.data_options
@talk_options
def command(
    data: tuple[str, ...],
    operator_file: str,
    output: str | None,
    columns: Any,
    header: bool | None,
    dtype: str,
    on_bad: Any,
    talk: Talk,
) -> None:
    """Write the one-bit contributions of each row of DATA: M bits, little bit first, in whole bytes, row after row.

    \b
    Examples:
      qckm encode readings.csv --operator fleet.qckm -o readings.bits
      qckm encode - --operator fleet.qckm < readings.csv | qckm pool - --operator fleet.qckm -o sum.qckm
    """
    target = sketching.sketch_output(output)
    job = sketching.Job(data, columns, header, dtype, on_bad, Plan(), operator_file, None, False, 0)
    source, operator = sketching.open_job(job, talk)
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
    talk.say(f"{rows:,} rows of {width} bytes" + (f"; skipped {skipped:,} bad rows" if skipped else ""))
    talk.facts({"output": target, "rows": rows, "skipped": skipped, "bytes_a_row": width})
