"""`qckm fit`: the main job, from data to centroids."""

from __future__ import annotations

from typing import Any

import click

from qckm.cli import decoding, options, sketching
from qckm.cli.messages import Talk, talk_options
from qckm.cli.paths import Output
from qckm.common import atomic
from qckm.common.text import format_duration
from qckm.models import ENDINGS, Model
from qckm.planning.plan import Plan, decoder_seed, hints_for
from qckm.sketch import checkpoints, files


@click.command()
@options.data_argument
@options.clusters_option
@click.option(
    "--output",
    "-o",
    type=Output(*ENDINGS, resumable=True, in_json=True),
    help="model.json, .csv, .parquet or .npz. [default: CSV on stdout]",
)
@click.option("--sketch", "sketch_output", type=Output(), help="Keep the sketch, too, as this .qckm file.")
@click.option("--report", "report_output", type=Output(), help="Write an HTML report, too.")
@options.operator_options
@options.plan_options
@options.data_options
@options.decode_options
@options.run_options
@talk_options
def command(
    data: tuple[str, ...],
    clusters: int,
    output: str | None,
    sketch_output: str | None,
    report_output: str | None,
    operator_file: str | None,
    columns: Any,
    header: bool | None,
    dtype: str,
    on_bad: Any,
    decoder: str,
    n_init: int,
    resume: bool,
    checkpoint_every: float,
    talk: Talk,
    **plan: Any,
) -> None:
    """Find K centroids of DATA: files, folders, globs, or - for standard input (CSV or an Arrow stream).

    \b
    Examples:
      qckm fit 'data/*.parquet' -k 10 -o model.json --report report.html
      qckm fit logs.csv.gz -k 20 --columns bytes,seconds --standardize --on-bad skip > centroids.csv
      qckm fit rows.npy -k 10 --sketch rows.qckm -o centroids.parquet
      psql -c "copy t to stdout csv header" | qckm fit - -k 5 --json

    One pass in bounded memory; a pilot of at most 5000 rows sets the scale and gives the decoder a start.
    """
    decoding.require_decoder(decoder)
    target = output or "-"
    plan["n_frequencies"] = plan.pop("frequencies")
    wishes = Plan(n_clusters=clusters, **plan)
    job = sketching.Job(
        data,
        columns,
        header,
        dtype,
        on_bad,
        wishes,
        operator_file,
        None if target == "-" else target,
        resume,
        checkpoint_every,
    )
    done = sketching.sketch_job(job, talk, want_hints=True)
    hints = done.hints
    if hints is None and not done.source.once:
        hints = hints_for(done.source, wishes, done.sketch.operator)
    size = len(files.dumps(done.sketch))
    talk.say(
        f"{sketching.summary(done.sketch, size, done.source.n_bytes)}, in {format_duration(done.seconds['sketch'])}"
    )
    seed = decoder_seed(wishes.seed)
    clustering, seconds = decoding.decode_sketch(done.sketch, clusters, decoder, n_init, seed, talk, hints)
    sketching.remark(done.sketch, talk)
    facts = sketching.facts_of(done, size)
    facts["seconds"] = {**done.seconds, "decode": seconds}
    facts |= {
        **decoding.fit_facts(clustering),
        "decoder": decoder,
        "seed": wishes.seed,
        "command": sketching.command_again(),
    }
    model = Model.of(clustering, done.sketch.operator, facts)
    if sketch_output:
        sketching.write_sketch(done.sketch, sketch_output)
    decoding.write_model(model, target, talk)
    if target != "-" and not atomic.is_device(target):
        checkpoints.remove(checkpoints.path_of(target))
    if report_output:  # the last: the page can be made again from the model, the model from nothing
        from qckm.cli.report import write_report

        write_report(model, None if done.source.once else done.source, report_output)
    talk.say(f"K = {clusters} explains {clustering.explained:.1%} of the sketch, in {format_duration(seconds)}")
