"""`qckm report`: one HTML file that shows what was found."""

from __future__ import annotations

import click
import numpy as np

from qckm.cli import options, sketches
from qckm.cli.arguments import Input, OneFile, Output
from qckm.cli.console import DONE, DOUBTFUL, Console, write_bytes
from qckm.cli.inputs import open_looked
from qckm.cli.options import Reading
from qckm.common.arrays import Floats
from qckm.models import Model
from qckm.planning.held_rows import draw_pilot
from qckm.report import checks, render
from qckm.sources.source import Source

_SAMPLE = 2000


@click.command()
@click.argument("model_file", type=OneFile(), metavar="MODEL")
@click.option(
    "--data", type=Input(), multiple=True, help="Data to draw a sample of rows from, for the map and the verdict."
)
@click.option("--output", "-o", type=Output(), help="The HTML file. [default: stdout]")
@options.data_options
@options.strict_option
@options.console_options
def command(
    model_file: str, data: tuple[str, ...], output: str | None, reading: Reading, strict: bool, console: Console
) -> int:
    """Write one self-contained HTML page about MODEL: no script, no network, nothing beside it.

    \b
    Examples:
      qckm report model.json -o report.html
      qckm report model.json --data 'data/*.parquet' -o report.html
    """
    model = sketches.load_model(model_file)
    source = open_looked(reading, data, console, model.feature_names) if data else None
    sample = sample_for(model, source)
    if source is not None:
        source.say_skipped(console)
    size = write_report(model, sample, output or "-")
    console.say(f"{output or 'report'}: {size:,} bytes")
    grade = checks.worst(checks.check(model, sample))
    console.print_facts({"output": output, "bytes": size, "grade": grade})
    return DOUBTFUL if strict and grade == "poor" else DONE


def sample_for(model: Model, source: Source | None) -> Floats | None:
    """Return some rows of a source, if there is one, to compare a model with."""
    if source is None:
        return None
    if source.n_features != model.centers.shape[1]:
        raise click.UsageError(f"Expected data of {model.centers.shape[1]} columns, got {source.n_features}.")
    return draw_pilot(source, np.random.default_rng(0), _SAMPLE).repeated(_SAMPLE)


def write_report(model: Model, sample: Floats | None, output: str) -> int:
    """Write the page; return its size."""
    data = render(model, sample).encode()
    write_bytes(output, data)
    return len(data)
