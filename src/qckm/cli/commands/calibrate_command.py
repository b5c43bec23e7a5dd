"""`qckm calibrate`: weights that make a sample represent all the rows of a sketch."""

from __future__ import annotations

import time
import warnings

import click
import numpy as np

from qckm.cli import inputs, options, sketches
from qckm.cli.arguments import Input, OneFile, Output
from qckm.cli.console import DONE, DOUBTFUL, Console
from qckm.cli.options import Reading
from qckm.cli.outputs import ENDINGS, writing_columns
from qckm.common.arrays import Flags, Floats
from qckm.common.text import format_duration
from qckm.decoding.clouds.calibration import Calibration, calibrate
from qckm.errors import PoorFitWarning, RowsError
from qckm.sources.source import Source


@click.command()
@click.argument("sketch", type=OneFile())
@click.argument("sample", type=Input())
@click.option("--output", "-o", type=Output(*ENDINGS), help="weights.parquet, .arrow or .csv. [default: CSV on stdout]")
@options.data_options
@options.strict_option
@options.console_options
def command(sketch: str, sample: str, output: str | None, reading: Reading, strict: bool, console: Console) -> int:
    """Weigh the rows of SAMPLE so that they represent all the rows of SKETCH.

    \b
    Examples:
      qckm calibrate all.qckm sample.parquet -o weights.parquet

    A weight is the number of sketched rows that a row of the sample stands for. There is one weight per line, in the
    order of the rows; with --on-bad skip, bad rows have an empty one.
    """
    target = output or "-"
    found = sketches.read_sketch(sketch)
    source = inputs.open_sample(sample, found.operator, console, reading)
    rows = _read_all(source)
    good: Flags = np.asarray(np.isfinite(rows).all(axis=1))
    source.say_skipped(console)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorFitWarning)  # said in the tool's own voice
        weighed = calibrate(found, rows[good])
    seconds = time.perf_counter() - began
    with writing_columns(target, {"weight": np.dtype(np.float64)}) as write:
        weights = np.zeros(len(rows))
        weights[good] = weighed.weights
        write([weights], ~good)
    console.print_facts(
        {
            "output": target,
            "rows": len(weighed.weights),
            "skipped": len(rows) - len(weighed.weights),
            "effective_size": weighed.effective_size,
            "residual": weighed.residual,
            "expected": weighed.expected,
            "matched": weighed.matched,
            "seconds": {"calibrate": seconds},
        }
    )
    if not weighed.matched:
        console.warn(_missed(weighed))
    console.say(
        f"{len(weighed.weights):,} rows represent {found.count:,}, about as precisely as {weighed.effective_size:,.0f} "
        f"rows of equal weight would; in {format_duration(seconds)}"
    )
    return DONE if weighed.matched or not strict else DOUBTFUL


def _read_all(source: Source) -> Floats:
    """Read every row of a file, in its order, bad ones, too."""
    found = [np.asarray(batch.rows, np.float64) for batch in source.batches()]
    source.require_unchanged()
    if not found:
        raise RowsError(f"{source.tables[0].label}: expected rows, found none.")
    return np.concatenate(found)


def _missed(weighed: Calibration) -> str:
    return (
        "the sample cannot reproduce the sketch: with the best weights it is "
        f"{weighed.residual / weighed.expected:.3g} "
        "times as far off as a random sample of this size would be. It has no rows like some that were sketched."
    )
