"""`qckm choose-k`: how many clusters there are, from one sketch."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any

import click

from qckm.cli import data_to_sketch, options, outputs, sketches
from qckm.cli.arguments import Output, Parsed
from qckm.cli.console import DONE, DOUBTFUL, Console, show, write_bytes
from qckm.cli.sketch_to_model import decoding
from qckm.common.arrays import Floats
from qckm.common.text import format_duration, public_name
from qckm.decoding.targets.n_clusters import ClusterCount, choose_n_clusters
from qckm.decoding.task import require_room
from qckm.planning.pilot import PILOT_ROWS
from qckm.planning.plan import Plan, require_rows
from qckm.sketch import Sketch

_BAR = 24
_MOST_NUMBERS = 200


def _numbers(value: str) -> tuple[int, ...]:
    """Return the numbers from 1 on that words such as 2-12 or 2,4,8 stand for, increasing."""
    found: set[int] = set()
    for part in value.split(","):
        ends = re.fullmatch(r"\s*([0-9]{1,6})\s*(?:-\s*([0-9]{1,6})\s*)?", part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (0, 0)
        if not 0 < first <= last:
            raise ValueError(f"expected numbers such as 2-12 or 2,4,8, got {value!r}.")
        found |= set(range(first, last + 1))
    if len(found) > _MOST_NUMBERS:
        raise ValueError(f"expected at most {_MOST_NUMBERS} numbers to try, got {len(found)}.")
    return tuple(sorted(found))


@click.command()
@options.data_argument
@click.option(
    "--clusters",
    "-k",
    "--k",
    "ks",
    type=Parsed("numbers", _numbers),
    default="1-10",
    show_default=True,
    help="The numbers to try: 2-12, or 2,4,8,16.",
)
@click.option("--report", type=Output(), help="Write an HTML page with the curve and the table.")
@click.option("--plot", type=Output(*outputs.PICTURES), help="Draw the curve (needs matplotlib).")
@click.option("--sketch", "sketch_output", type=Output(), help="Keep the sketch, to decode it for the K chosen.")
@options.operator_option()
@options.plan_options
@options.data_options
@options.engine_option
@options.strict_option
@options.console_options
def command(
    data: tuple[str, ...],
    ks: tuple[int, ...],
    report: str | None,
    plot: str | None,
    sketch_output: str | None,
    strict: bool,
    plan: Plan,
    console: Console,
    **of_task: Any,
) -> int:
    """Try numbers of clusters on DATA, or on a sketch of it (.qckm), and say how many of them are separate.

    \b
    Examples:
      qckm choose-k data.parquet
      qckm choose-k data.csv -k 2-20 --standardize --report choice.html --sketch data.qckm
      qckm choose-k 'rows/*.parquet' -k 2-20 --engine ray
      qckm choose-k all.qckm -k 5,10,20,40 --plot choice.png

    The data are read once, whatever the numbers. A sketch should have 2·columns·K frequencies or more for the largest.
    Where the number is not clear, a warning says so.
    """
    began = time.perf_counter()
    sketch, rows, inputs = _sketch(data, replace(plan, n_clusters=max(ks)), console, of_task)
    require_room(sketch.operator.n_features, sketch.operator.n_frequencies)
    require_rows(sketch.count, min(max(ks), int(sketch.count)))
    if sketch_output is not None:
        size = sketches.write_sketch(sketch, sketch_output)
        console.say(f"{sketch_output}: {sketches.summary(sketch, size)}")
    sketches.remark(sketch, console)
    with decoding(console):
        count = choose_n_clusters(sketch, ks, rows=rows, random_state=plan.decoder_seed)
    _write(count, inputs, report, plot, console)
    if count.doubt:
        console.warn(count.doubt)
    console.say(
        f"K = {count.n_clusters} of {counted_ks(ks)} tried, from {sketches.summary(sketch)}, in "
        f"{format_duration(time.perf_counter() - began)}"
    )
    console.print_facts(_facts(count, inputs, sketch))
    return DOUBTFUL if count.doubt and strict else DONE


def _sketch(
    data: tuple[str, ...], plan: Plan, console: Console, of_task: dict[str, Any]
) -> tuple[Sketch, Floats | None, list[str]]:
    """Return the sketch of DATA, or that which it is, and rows to decode with where there are some."""
    if len(data) == 1 and sketches.is_sketch(data[0]):
        return sketches.read_sketch(data[0]), None, [public_name(data[0])]
    done = data_to_sketch.sketch_data(data_to_sketch.SketchTask(data, plan=plan, **of_task), console)
    for remark in done.remarks:
        console.warn(remark)
    inputs = done.source.labels[:100]
    return done.sketch, None if done.hints is None else done.hints.repeated(PILOT_ROWS), inputs


def _write(count: ClusterCount, inputs: list[str], report: str | None, plot: str | None, console: Console) -> None:
    if report is not None:
        from qckm.report import render_choice

        more = f" and {len(inputs) - 1} more" if len(inputs) > 1 else ""
        write_bytes(report, render_choice(count, f"{inputs[0]}{more}").encode())
    if plot is not None:
        from qckm import plots

        write_bytes(plot, outputs.drawn(plot, lambda ax: plots.selection(count, ax)))
    for path in (report, plot):
        if path not in (None, "-"):
            console.say(f"{path}: the curve")
    if not console.json and "-" not in (report, plot):
        for line in table(count):
            show(line)


def table(count: ClusterCount) -> list[str]:
    """Return the table of a choice, with a bar for what each K explains."""
    from qckm.report.choice_page import rows_of

    lines = ["   K  separate groups  variance explained"]
    for K, groups, explained in rows_of(count):
        bar = "█" * round(_BAR * min(1.0, max(0.0, explained)))
        mark = "  ←" if count.n_clusters == K else ""
        lines.append(f"{K:4}  {groups:15}  {explained:8.2%} {bar:{_BAR}}{mark}")
    return lines


def counted_ks(ks: tuple[int, ...]) -> str:
    """Return the numbers tried in words."""
    return f"{min(ks)} to {max(ks)}" if len(ks) == max(ks) - min(ks) + 1 else ", ".join(map(str, ks))


def _facts(count: ClusterCount, inputs: list[str], sketch: Sketch) -> dict[str, object]:
    return {
        "n_clusters": count.n_clusters,
        "ks": count.ks.tolist(),
        "groups": count.groups.tolist(),
        "variance_explained": count.variance_explained.tolist(),
        "agreement": count.agreement,
        "rows": sketch.count,
        "inputs": inputs,
        **({"remarks": [count.doubt]} if count.doubt else {}),
    }
