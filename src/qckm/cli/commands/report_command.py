"""`qckm report`: one HTML file that shows what was found."""

from __future__ import annotations

from dataclasses import asdict

import click
import numpy as np

from qckm.cli import options
from qckm.cli.console import Console, console_options, say_assumptions
from qckm.cli.output_files import write_bytes
from qckm.cli.paths import Input, Output
from qckm.models import Model, load_model
from qckm.planning.sampling import draw_pilot_of
from qckm.report import render
from qckm.sources.opening import open_source
from qckm.sources.source import Source
from qckm.sources.text_format import TextFormat

_SAMPLE = 2000


@click.command()
@click.argument("model_file", type=Input(), metavar="MODEL")
@click.option(
    "--data", type=Input(), multiple=True, help="Data to draw a sample of rows from, for the map and the verdict."
)
@click.option("--output", "-o", type=Output(), help="The HTML file. [default: stdout]")
@options.columns_option
@options.text_options
@console_options
def command(
    model_file: str,
    data: tuple[str, ...],
    output: str | None,
    columns: tuple[str, ...] | None,
    text: TextFormat,
    console: Console,
) -> None:
    """Write one self-contained HTML page about MODEL: no script, no network, nothing beside it.

    \b
    Examples:
      qckm report model.json -o report.html
      qckm report model.json --data 'data/*.parquet' -o report.html
    """
    model = load_model(model_file)
    source = open_source(list(data), columns, usual=model.feature_names, **asdict(text)) if data else None
    if source is not None:
        say_assumptions(source, console)
    size = write_report(model, source, output or "-")
    console.say(f"{output or 'report'}: {size:,} bytes")
    console.print_facts({"output": output, "bytes": size})


def write_report(model: Model, source: Source | None, output: str) -> int:
    """Write the page, with a sample of the source's rows if there is one; return its size."""
    sample = None
    if source is not None:
        if source.n_features != model.centers.shape[1]:
            raise click.UsageError(f"Expected data of {model.centers.shape[1]} columns, got {source.n_features}.")
        sample = draw_pilot_of(source, np.random.default_rng(0), _SAMPLE).repeated(_SAMPLE)
    data = render(model, sample).encode()
    write_bytes(output, data)
    return len(data)
