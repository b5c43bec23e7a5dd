"""`qckm sketch`: data to a sketch."""

from __future__ import annotations

import shlex
import time
from typing import Any

import click

from qckm.cli import data_to_sketch, options, sending, sketch_io, summaries
from qckm.cli.console import Console
from qckm.cli.data_to_sketch import SketchTask
from qckm.cli.error_hints import remarks_in_words
from qckm.cli.paths import Output, is_folder
from qckm.common.text import format_duration
from qckm.sketch import Sketch, checkpoints, files
from qckm.sketch.parts import id_of

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
    type=options.ColumnNames(),
    help="A sketch of each group of these columns, such as shop,day: -o names a .parquet file, or a folder.",
)
@click.option("--every", type=options.Duration(), help="Write a snapshot of the sum so far every 60s, 5m, 1h …")
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
    console: Console,
    **options_of_task: Any,
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
    task = SketchTask.of(data, clusters, output, {"alone": True, **options_of_task})
    if task.operator_file is None and clusters is None and None in (task.plan.scale, task.plan.n_frequencies):
        raise click.UsageError("Give the number of clusters (-k), or --scale and --frequencies, or --operator FILE.")
    if by is not None:
        _sketch_groups(task, by, send or part or every, console)
        return
    target = "" if send and output is None else sketch_io.sketch_output(output)
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
        sketch_io.write_sketch(task.kept(sketch), name())
        console.say(f"{name()}: {sketch.count:,} rows so far")

    done = data_to_sketch.sketch_data(task, console, every=every, snapshot=snapshot)
    number += 1
    size = _deliver(task.kept(done.sketch), name(), (send, part, outbox), console)
    if target not in ("", "-"):
        checkpoints.remove(checkpoints.path_of(target))
    for remark in remarks_in_words(done.remarks):
        console.warn(remark)
    summaries.remark(done.sketch, console)
    if task.operator_file is None and target != "-":
        console.say(_OWN_OPERATOR.format(path=shlex.quote(name())))
    words = summaries.summary(done.sketch, size)
    console.say(
        f"{name() if target not in ('', '-') else 'sketch'}: {words}, in {format_duration(done.seconds['sketch'])}"
    )
    console.print_facts({"output": name(), **data_to_sketch.facts_of(done, size)})


Where = tuple[str | None, str | None, str | None]  # --send, --part and --outbox


def _deliver(sketch: Sketch, target: str, where: Where, console: Console) -> int:
    """Write a sketch under its name, send it, or both; return its size."""
    url, part, outbox = where
    sketch = sketch if part is None else sketch.as_part(part)
    size = sketch_io.write_sketch(sketch, target) if target else len(files.dumps(sketch))
    if url is not None and part is not None:
        sending.send_part(url, part, files.dumps(sketch), outbox, False, console)
    return size


def _sketch_groups(task: SketchTask, by: tuple[str, ...], other: object, console: Console) -> None:
    """Write a table of sketches; workers write one each."""
    if task.operator_file is None or task.output is None or other or task.resume:
        raise click.UsageError(
            "--by needs --operator FILE and -o, and does not go with --send, --part, --every or --resume."
        )
    if is_folder(task.output) if task.engine is None else not is_folder(task.output):
        raise click.UsageError("With --by, -o names a file that ends in .parquet; with --engine, a new folder.")
    rows, skipped = data_to_sketch.sketch_groups(task, by, task.output, console)
    more = f", {summaries.counted(skipped, 'bad row')} skipped" if skipped else ""
    console.say(f"{task.output}: a sketch of each group by {', '.join(by)}, of {summaries.counted(rows, 'row')}{more}")
    console.print_facts({"output": task.output, "by": list(by), "rows": rows, "skipped": skipped})
