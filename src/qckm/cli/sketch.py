"""`qckm sketch`: data to a sketch."""

from __future__ import annotations

import time
from typing import Any

import click

from qckm.cli import engine_runs, options, sketching
from qckm.cli.messages import Talk, talk_options
from qckm.cli.paths import Output
from qckm.common.text import format_duration
from qckm.planning.plan import Plan
from qckm.sketch import Sketch, checkpoints


@click.command()
@options.data_argument
@click.option(
    "--output",
    "-o",
    type=Output(resumable=True),
    help="The .qckm file; {time} and {number} in it name snapshots. [default: stdout]",
)
@click.option("--clusters", "-k", type=click.IntRange(min=1), help="How many clusters the sketch is to be decoded to.")
@options.operator_options
@options.plan_options
@options.data_options
@options.run_options
@options.engine_options
@click.option("--every", type=options.Duration(), help="Write a snapshot of the sum so far every 60s, 5m, 1h …")
@talk_options
def command(
    data: tuple[str, ...],
    output: str | None,
    clusters: int | None,
    operator_file: str | None,
    columns: Any,
    header: bool | None,
    dtype: str,
    on_bad: Any,
    resume: bool,
    checkpoint_every: float,
    engine: str | None,
    address: str | None,
    every: float | None,
    talk: Talk,
    **plan: Any,
) -> None:
    """Sketch DATA in one pass: files, folders, globs, or - for standard input (CSV or an Arrow stream).

    \b
    Examples:
      qckm sketch 'part*.parquet' --operator fleet.qckm -o out.qckm --resume
      qckm sketch 'part*.parquet' --scale 2 --frequencies 500 --seed 1 -o out.qckm
      qckm sketch logs.csv.gz --columns bytes,seconds -k 20 --standardize -o out.qckm
      qckm sketch 's3://bucket/rows/*.parquet' --operator fleet.qckm --engine dask --address tcp://… -o out.qckm
      tail -n +1 -F log.csv | qckm sketch - --operator fleet.qckm --every 60s -o 'snapshots/{time}.qckm'

    Killed or stopped, the same command with --resume goes on where it was, and gives the same bytes.
    """
    plan["n_frequencies"] = plan.pop("frequencies")
    wishes = Plan(n_clusters=clusters, **plan)
    if operator_file is None and clusters is None and None in (wishes.scale, wishes.n_frequencies):
        raise click.UsageError("Give the number of clusters (-k), or --scale and --frequencies, or --operator FILE.")
    target = sketching.sketch_output(output)
    if every and target == "-":
        raise click.UsageError("Snapshots need a name: -o snapshot.qckm, or -o 'snapshots/{time}.qckm'.")
    if engine or address:
        if resume or every or dtype != "auto" or header is not None:
            raise click.UsageError(
                "--resume, --every, --dtype and --header are for data that this process reads: leave out --engine."
            )
        _sketch_engine_runs(data, columns, on_bad, wishes, operator_file, target, engine, address, talk)
        return
    number = 0

    def name() -> str:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        return target.replace("{time}", stamp).replace("{number}", f"{number:06}") if every else target

    def snapshot(sketch: Sketch) -> None:
        nonlocal number
        number += 1
        sketching.write_sketch(sketch, name())
        talk.say(f"{name()}: {sketch.count:,} rows so far")

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
    done = sketching.sketch_job(job, talk, every=every, snapshot=snapshot)
    number += 1
    size = sketching.write_sketch(done.sketch, name())
    if target != "-":
        checkpoints.remove(checkpoints.path_of(target))
    sketching.remark(done.sketch, talk)
    words = sketching.summary(done.sketch, size, done.source.n_bytes)
    talk.say(f"{name() if target != '-' else 'sketch'}: {words}, in {format_duration(done.seconds['sketch'])}")
    talk.facts({"output": name(), **sketching.facts_of(done, size)})


def _sketch_engine_runs(
    data: tuple[str, ...],
    columns: Any,
    on_bad: Any,
    plan: Plan,
    operator_file: str | None,
    target: str,
    engine: str | None,
    address: str | None,
    talk: Talk,
) -> None:
    """Have an engine read the data and sketch them where they are."""
    if engine is None:
        raise click.UsageError("--address is that of an engine: name it with --engine dask, spark or ray.")
    if "-" in data:
        raise click.UsageError("Standard input is here, not where the engine is: leave out --engine.")
    done = engine_runs.sketch_paths(engine_runs.Work(data, columns, on_bad, plan, operator_file), engine, address, talk)
    size = sketching.write_sketch(done.sketch, target)
    sketching.remark(done.sketch, talk)
    words = sketching.summary(done.sketch, size, None)
    talk.say(f"{target if target != '-' else 'sketch'}: {words}, in {format_duration(done.seconds['sketch'])}")
    talk.facts({"output": target, **engine_runs.facts_of(done, size)})
