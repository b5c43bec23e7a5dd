"""`qckm sketch`: data to a sketch."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from typing import Any

import click

from qckm.cli import options, sketches
from qckm.cli.arguments import COLUMNS, DURATION, Output, is_folder
from qckm.cli.commands import send_command as sending
from qckm.cli.console import Console
from qckm.cli.data_to_sketch import SketchTask, cluster_for, new_folder, sketch_data
from qckm.common.text import format_duration
from qckm.planning.plan import Plan
from qckm.sketch import Sketch, SketchOperator, checkpoints, files
from qckm.sketch.parts import id_of
from qckm.sketch.sketch import require_columns

_OWN_OPERATOR = (
    "this sketch has an operator of its own, and merges only with sketches made with --operator {path}. To merge many, "
    "draw one operator first (`qckm operator`) and use it everywhere"
)


@click.command()
@options.data_argument
@click.option(
    "--output",
    "-o",
    type=Output(resumable=True),
    help="The .qckm file; {time} and {number} in it name snapshots. [default: stdout]",
)
@options.clusters_option(False, "How many clusters you will look for in the sketch.")
@options.operator_option()
@options.plan_options
@options.data_options
@options.run_options
@options.engine_option
@click.option(
    "--by",
    type=COLUMNS,
    help="A sketch of each group of these columns, such as shop,day: -o names a .parquet file, or a folder.",
)
@click.option("--every", type=DURATION, help="Write a snapshot of the sum so far every 60s, 5m, 1h …")
@click.option(
    "--column-sums/--no-column-sums",
    default=True,
    show_default=True,
    help="Keep the sums of the columns and of their squares in the file: exact means and variances.",
)
@click.option(
    "--bounds/--no-bounds",
    default=True,
    show_default=True,
    help="Keep the least and the greatest value of each column in the file.",
)
@sending.part_options
@options.console_options
def command(
    data: tuple[str, ...],
    output: str | None,
    clusters: int | None,
    by: tuple[str, ...] | None,
    every: float | None,
    send: str | None,
    part: str | None,
    outbox: str | None,
    plan: Plan,
    console: Console,
    **of_task: Any,
) -> None:
    """Sketch DATA in one pass: files, folders, globs, or - for standard input (CSV, JSON lines or an Arrow stream).

    \b
    Examples:
      qckm sketch 'part*.parquet' --operator fleet.qckm -o out.qckm --resume
      qckm sketch today.csv --operator fleet.qckm --part berlin/2026-11-16 -o berlin.qckm
      qckm sketch 'part*.parquet' --scale 2 --frequencies 500 --seed 1 -o out.qckm
      qckm sketch logs.csv.gz --columns bytes,seconds -k 20 --standardize -o out.qckm
      qckm sketch today.parquet --operator fleet.qckm --send https://collector:8321 --part berlin/2026-11-16
      qckm sketch 's3://bucket/rows/*.parquet' --operator fleet.qckm --engine dask://… -o out.qckm
      qckm sketch 'rows/*.parquet' --operator fleet.qckm --by shop,day -o sketches.parquet
      tail -n +1 -F log.csv | qckm sketch - --operator fleet.qckm --every 60s -o 'snapshots/{time}.qckm'

    Killed or stopped, the same command with --resume goes on where it was, and gives the same bytes.
    """
    sending.require_part(send, part)
    if part is not None:
        id_of(part)  # refused before hours of reading, if it is no name
    plan = replace(plan, n_clusters=clusters, alone=True)
    task = SketchTask(data, plan=plan, output=output or "-", **of_task)
    if task.operator_file is None and clusters is None and None in (plan.scale, plan.n_frequencies):
        raise click.UsageError("Give the number of clusters (-k), or --scale and --frequencies, or --operator FILE.")
    if by is not None:
        _sketch_groups(task, by, send or part or every, console)
        return
    target = "" if send and output is None else sketches.sketch_output(output)
    if every and (send or part):
        raise click.UsageError("Snapshots are not parts: each would count what the one before has counted.")
    if every and target == "-":
        raise click.UsageError("Snapshots need a name: -o snapshot.qckm, or -o 'snapshots/{time}.qckm'.")
    number = 0

    def name() -> str:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        return target.replace("{time}", stamp).replace("{number}", f"{number:06}") if every else target

    def snapshot(sketch: Sketch) -> None:
        nonlocal number
        number += 1
        sketches.write_sketch(task.kept(sketch), name())
        console.say(f"{name()}: {sketch.count:,} rows so far")

    done = sketch_data(task, console, every=every, snapshot=snapshot)
    number += 1
    size = _deliver(task.kept(done.sketch), name(), (send, part, outbox), console)
    if task.checkpoint:
        checkpoints.remove(task.checkpoint)
    for remark in done.remarks:
        console.warn(remark)
    sketches.remark(done.sketch, console)
    if task.operator_file is None and target != "-":
        console.say(_OWN_OPERATOR.format(path=shlex.quote(name())))
    words = sketches.summary(done.sketch, size)
    console.say(
        f"{name() if target not in ('', '-') else 'sketch'}: {words}, in {format_duration(done.seconds['sketch'])}"
    )
    console.print_facts({"output": name(), **done.facts(size)})


Where = tuple[str | None, str | None, str | None]  # --send, --part and --outbox


def _deliver(sketch: Sketch, target: str, where: Where, console: Console) -> int:
    """Write a sketch under its name, send it, or both; return its size."""
    url, part, outbox = where
    sketch = sketch if part is None else sketch.as_part(part)
    size = sketches.write_sketch(sketch, target) if target else len(files.dumps(sketch))
    if url is not None and part is not None:
        sending.send_part(url, part, files.dumps(sketch), outbox, False, console)
    return size


def _sketch_groups(task: SketchTask, by: tuple[str, ...], other: object, console: Console) -> None:
    """Write a table of sketches; workers write one each."""
    if task.operator_file is None or task.output == "-" or other or task.resume:
        raise click.UsageError(
            "--by needs --operator FILE and -o, and does not go with --send, --part, --every or --resume."
        )
    if is_folder(task.output) if task.engine is None else not is_folder(task.output):
        raise click.UsageError("With --by, -o names a file that ends in .parquet; with --engine, a new folder.")
    rows, skipped = _write_groups(task, sketches.load_operator(task.operator_file), by, console)
    more = f", {sketches.counted(skipped, 'bad row')} skipped" if skipped else ""
    console.say(f"{task.output}: a sketch of each group by {', '.join(by)}, of {sketches.counted(rows, 'row')}{more}")
    console.print_facts({"output": task.output, "by": list(by), "rows": rows, "skipped": skipped})


def _write_groups(task: SketchTask, operator: SketchOperator, by: tuple[str, ...], console: Console) -> tuple[int, int]:
    """Write a sketch of each group; return how many rows they are of, and how many were skipped."""
    from qckm.sketch import group_tables
    from qckm.sketch.grouping import GroupedSketches
    from qckm.sources.kept_columns import KeptColumns

    if task.engine is None:
        source = task.reading.open(task.data, console, operator.feature_names)
        kept, groups = KeptColumns(source, by), GroupedSketches(operator, by)
        require_columns(operator, source)
        with groups.filling(task.reading.on_bad) as add:
            for batch in source.batches():
                add(kept.take(len(batch.rows)), batch)
        source.require_unchanged()
        group_tables.save(groups, task.output)
        return int(groups.sums.count.sum()), int(groups.skipped.sum())
    with new_folder(task.output), cluster_for(task.data, task.engine, console) as cluster:
        rows = task.reading.open_on(cluster, task.data, console, operator.feature_names)
        return rows.sketch_by(operator, by, task.output, task.reading.on_bad)
