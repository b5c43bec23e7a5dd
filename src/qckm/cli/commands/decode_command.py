"""`qckm decode`: centroids from a sketch, alone or with some rows."""

from __future__ import annotations

import click

from qckm.cli import options, sample_files, sketch_io, sketch_to_model, summaries
from qckm.cli.console import Console, console_options
from qckm.cli.paths import Input, Output
from qckm.decoding.decode import Hints
from qckm.models import ENDINGS, Model


@click.command()
@click.argument("sketch", type=Input())
@options.clusters_option
@click.option(
    "--output",
    "-o",
    type=Output(*ENDINGS, in_json=True),
    help="model.json, .csv, .parquet or .npz. [default: CSV on stdout]",
)
@click.option("--rows", type=Input(), help="A file of some of the rows, or rows like them, to decode with.")
@options.decode_options
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@console_options
def command(
    sketch: str,
    clusters: int,
    output: str | None,
    rows: str | None,
    decoder: str,
    n_init: int,
    seed: int,
    console: Console,
) -> None:
    """Find K centroids, their weights and spreads, from SKETCH: no row is needed, and some rows make it better.

    \b
    Examples:
      qckm decode all.qckm -k 10 -o model.json
      qckm decode all.qckm -k 10 --rows sample.parquet -o model.json
      qckm merge *.qckm | qckm decode - -k 10 > centroids.csv
    """
    sketch_to_model.require_decoder(decoder)
    target = output or "-"
    found = sketch_io.read_sketch(sketch)
    hints = None
    if rows:
        sample = sample_files.read_some(rows, found.operator, seed, console)
        hints = Hints(sample.rows, sample.weights)
    clustering, seconds = sketch_to_model.decode_sketch(found, clusters, decoder, n_init, seed, console, hints)
    summaries.remark(found, console)
    facts = {
        "rows": found.count,
        "skipped": found.skipped,
        "saturated": found.saturated,
        "inputs": [sketch],
        **summaries.operator_facts(found.operator),
        **sketch_to_model.fit_facts(clustering),
        "decoder": decoder,
        "seed": seed,
        "seconds": {"decode": seconds},
    }
    sketch_to_model.write_model(Model.of(clustering, found.operator, facts), target, console)
    console.say(sketch_to_model.summary(clustering, seconds))
