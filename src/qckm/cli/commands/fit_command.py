"""`qckm fit`: the main job, from data to centroids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from qckm.cli import data_to_sketch, options, sketch_to_model, sketches
from qckm.cli.arguments import Output
from qckm.cli.console import Console, command_again
from qckm.cli.data_to_sketch import SketchTask
from qckm.common.text import format_duration
from qckm.planning.plan import Plan
from qckm.sketch import checkpoints, files


@click.command()
@options.data_argument
@options.clusters_option()
@options.model_output_option(resumable=True)
@click.option("--sketch", "sketch_output", type=Output(), help="Keep the sketch, too, as this .qckm file.")
@click.option("--report", "report_output", type=Output(), help="Write an HTML report, too.")
@options.operator_option()
@options.plan_options
@options.data_options
@options.decode_options
@options.run_options
@options.engine_option
@options.strict_option
@options.console_options
def command(
    data: tuple[str, ...],
    clusters: int,
    output: str | None,
    sketch_output: str | None,
    report_output: str | None,
    plan: Plan,
    decoder: str,
    n_init: int,
    strict: bool,
    console: Console,
    **of_task: Any,
) -> int:
    """Find K centroids of DATA: files, folders, globs, or - for standard input (CSV, JSON lines or an Arrow stream).

    \b
    Examples:
      qckm fit 'data/*.parquet' -k 10 -o model.json --report report.html
      qckm fit logs.csv.gz -k 20 --columns bytes,seconds --standardize --on-bad skip > centroids.csv
      qckm fit rows.npy -k 10 --sketch rows.qckm -o centroids.parquet
      qckm fit 's3://bucket/rows/*.parquet' -k 10 --engine dask://scheduler:8786 -o model.json
      psql -c "copy t to stdout csv header" | qckm fit - -k 5 --json

    One pass in bounded memory; a pilot of at most 5000 rows sets the scale, and as many of all rows are decoded with.
    """
    target = output or "-"
    task = SketchTask(data, plan=replace(plan, n_clusters=clusters), output=target, **of_task)
    done = data_to_sketch.sketch_data(task, console, want_hints=True)
    console.say(f"sketch: {sketches.summary(done.sketch)}, in {format_duration(done.seconds['sketch'])}")
    assumed, seed = done.source.assumptions, plan.decoder_seed
    clustering, told, seconds = sketch_to_model.decode_sketch(
        done.sketch, clusters, decoder, n_init, seed, console, done.hints, done.remarks, assumed
    )
    sketches.remark(done.sketch, console)
    size = None
    if sketch_output:
        size = sketches.write_sketch(done.sketch, sketch_output)
    elif report_output:  # its page compares sizes
        size = len(files.dumps(done.sketch))
    facts = {
        **done.facts(size),
        "seconds": {**done.seconds, "decode": seconds},
        **told,
        "seed": plan.seed,
        "command": command_again(),
    }
    model = clustering.to_model(facts)
    sketch_to_model.write_model(model, target, console)
    if task.checkpoint:
        checkpoints.remove(task.checkpoint)
    if report_output:  # the last: the page can be made again from the model, the model from nothing
        from qckm.cli.commands.report_command import sample_for, write_report

        write_report(model, sample_for(model, done.rereadable), report_output)
    for path, what in ((sketch_output, "the sketch"), (report_output, "a report")):
        if path not in (None, "-"):
            console.say(f"{path}: {what}")
    return sketch_to_model.say_found(clustering, done.sketch, target, seconds, strict, console)
