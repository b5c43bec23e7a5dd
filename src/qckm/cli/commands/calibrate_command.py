"""`qckm calibrate`: weights that make a sample represent all the rows of a sketch."""

from __future__ import annotations

import time
import warnings

import click
import numpy as np

from qckm.cli import options, sample_files, sketch_io
from qckm.cli.column_files import ENDINGS, writing_columns
from qckm.cli.console import Console, console_options
from qckm.cli.paths import Input, Output
from qckm.common.text import format_duration
from qckm.decoding.calibration import Calibration, calibrate
from qckm.errors import PoorFitWarning
from qckm.sources.text_format import TextFormat


@click.command()
@click.argument("sketch", type=Input())
@click.argument("sample", type=Input())
@click.option("--output", "-o", type=Output(*ENDINGS), help="weights.parquet, .arrow or .csv. [default: CSV on stdout]")
@options.column_options
@console_options
def command(
    sketch: str,
    sample: str,
    output: str | None,
    columns: tuple[str, ...] | None,
    text: TextFormat,
    dtype: str,
    console: Console,
) -> None:
    """Weigh the rows of SAMPLE so that they represent all the rows of SKETCH.

    \b
    Examples:
      qckm calibrate all.qckm sample.parquet -o weights.parquet

    A weight is the number of sketched rows that a row of the sample stands for, one a line, in the order of the rows.
    """
    target = output or "-"
    found = sketch_io.read_sketch(sketch)
    rows = sample_files.read_all(sample_files.open_sample(sample, found.operator, console, columns, dtype, text))
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorFitWarning)  # said in the tool's own voice
        weighed = calibrate(found, rows)
    seconds = time.perf_counter() - began
    with writing_columns(target, {"weight": np.dtype(np.float64)}) as write:
        write([weighed.weights], None)
    console.print_facts(
        {
            "output": target,
            "rows": len(rows),
            "effective_size": weighed.effective_size,
            "residual": weighed.residual,
            "expected": weighed.expected,
            "matched": weighed.matched,
            "seconds": {"calibrate": seconds},
        }
    )
    if not weighed.matched:
        console.say(f"warning: {_missed(weighed)}")
    console.say(
        f"{len(rows):,} rows stand for {found.count:,}, as well as {weighed.effective_size:,.0f} rows of equal weight, "
        f"in {format_duration(seconds)}"
    )


def _missed(weighed: Calibration) -> str:
    return (
        "the sample cannot reproduce the sketch: with the best weights it is "
        f"{weighed.residual / weighed.expected:.3g} "
        "times as far off as as many rows drawn at random. Some of the rows that were sketched are like none of it."
    )
