"""`qckm operator`: one operator for many places."""

from __future__ import annotations

from typing import Any

import click

from qckm.cli import options, sketch_io, summaries
from qckm.cli.console import Console
from qckm.cli.error_hints import remarks_in_words
from qckm.cli.inputs import Reading, read_ranges
from qckm.cli.paths import Input, Output
from qckm.common.text import format_bytes
from qckm.operator.request import LAW_OF_RANGES
from qckm.planning.plan import Plan, draw_operator
from qckm.sketch import SketchOperator


@click.command()
@click.argument("data", type=Input(), nargs=-1, metavar="[DATA...]")
@click.option("--output", "-o", type=Output(), help="The .qckm file: a sketch of no rows. [default: stdout]")
@options.clusters_option(False, "How many clusters you will look for.")
@click.option(
    "--ranges",
    type=Input(),
    help='Public ranges of the columns, as JSON: {"age": [0, 120], "income": [0, 1e6]}. No row is looked at.',
)
@click.option(
    "--private",
    is_flag=True,
    help="With --ranges: sketches will be released with noise, which wants fewer frequencies.",
)
@options.operator_option()
@options.plan_options
@options.data_options
@options.console_options
def command(
    data: tuple[str, ...],
    output: str | None,
    clusters: int | None,
    ranges: str | None,
    private: bool,
    operator_file: str | None,
    reading: Reading,
    console: Console,
    **plan_options: Any,
) -> None:
    """Draw an operator from a pilot of DATA, or from public ranges and no row; or take that of another sketch.

    \b
    Examples:
      qckm operator 'data/*.parquet' -k 10 -o fleet.qckm
      qckm operator data.csv -k 10 --standardize --columns age,income -o fleet.qckm
      qckm operator --ranges ranges.json -k 10 --private -o public-operator.qckm
      qckm operator --like berlin.qckm -o fleet.qckm
    Then in every place:
      qckm sketch DATA --operator fleet.qckm -o here.qckm
    """
    if [bool(data), ranges is not None, operator_file is not None].count(True) != 1:
        raise click.UsageError("Give DATA, or --ranges FILE, to draw an operator for, or --like FILE to copy one.")
    if private and ranges is None:
        raise click.UsageError("--private goes with --ranges: an operator drawn from rows is not private.")
    target = sketch_io.sketch_output(output)
    remarks: tuple[str, ...] = ()
    if operator_file is not None:
        operator = sketch_io.load_operator(operator_file)
    elif ranges is not None:
        operator = _from_ranges(ranges, clusters, reading.columns, Plan(n_clusters=clusters, **plan_options), private)
    else:
        plan = Plan(n_clusters=clusters, alone=True, **plan_options)
        if clusters is None and None in (plan.scale, plan.n_frequencies):
            raise click.UsageError("Give the number of clusters (-k), or both --scale and --frequencies.")
        source = reading.open_looked(data, console)
        planned = draw_operator(source, plan)
        source.say_skipped(console)
        for words in planned.words:
            console.say(words)
        remarks = planned.remarks
        operator = planned.operator
        summaries.warn_of_columns(operator, source, console)
    for words in remarks_in_words(remarks):
        console.warn(words)
    size = sketch_io.write_sketch(operator.empty(), target)
    of = summaries.columns_in_words(operator.feature_names, operator.n_features)
    console.say(
        f"{target if target != '-' else 'operator'}: {of}, {operator.n_frequencies} frequencies, "
        f"scale {operator.scale:.4g}, in {format_bytes(size)}"
    )
    told = {"remarks": remarks_in_words(remarks)} if remarks else {}
    console.print_facts({"output": target, "sketch_bytes": size, **summaries.operator_facts(operator), **told})


def _from_ranges(
    path: str, clusters: int | None, columns: tuple[str, ...] | None, plan: Plan, private: bool
) -> SketchOperator:
    if clusters is None:
        raise click.UsageError("Give the number of clusters (-k).")
    if plan.scale is not None:
        raise click.UsageError("--ranges sets the scale: leave out --scale.")
    (lower, upper), names = read_ranges(path)
    if columns is not None:
        if names is None or not set(columns) <= set(names):
            raise click.UsageError(f"Expected --columns among those of {path}.")
        which = [names.index(name) for name in columns]
        lower, upper, names = lower[which], upper[which], columns
    return SketchOperator.from_ranges(
        lower,
        upper,
        clusters,
        n_frequencies=plan.n_frequencies,
        octaves=None if plan.octaves == 1 else plan.octaves,
        law=LAW_OF_RANGES if plan.law == "auto" else plan.law,
        signature=plan.signature,
        dither=plan.dither,
        units=upper - lower if plan.standardize else None,
        random_state=plan.seed,
        feature_names=names,
        private=private,
    )
