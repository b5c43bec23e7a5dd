"""`qckm operator`: one operator for many places."""

from __future__ import annotations

from dataclasses import replace

import click

from qckm.cli import options, sketches
from qckm.cli.arguments import Input, Output
from qckm.cli.console import Console, with_remedy
from qckm.cli.inputs import open_looked, read_ranges
from qckm.cli.options import Reading
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
    plan: Plan,
    reading: Reading,
    console: Console,
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
    target, plan = sketches.sketch_output(output), replace(plan, n_clusters=clusters, alone=True)
    remarks: tuple[str, ...] = ()
    if operator_file is not None:
        operator = sketches.load_operator(operator_file)
    elif ranges is not None:
        operator = _from_ranges(ranges, reading.columns, plan, private)
    else:
        if clusters is None and None in (plan.scale, plan.n_frequencies):
            raise click.UsageError("Give the number of clusters (-k), or both --scale and --frequencies.")
        source = open_looked(reading, data, console)
        planned = draw_operator(source, plan)
        source.say_skipped(console)
        for words in planned.words:
            console.say(words)
        remarks = planned.remarks
        operator = planned.operator
        sketches.warn_of_columns(operator, source, console)
    for remark in remarks:
        console.warn(remark)
    size = sketches.write_sketch(operator.empty(), target)
    console.say(
        f"{target if target != '-' else 'operator'}: {sketches.columns_in_words(operator)}, "
        f"{operator.n_frequencies} frequencies, scale {operator.scale:.4g}, in {format_bytes(size)}"
    )
    told = {"remarks": [*map(with_remedy, remarks)]} if remarks else {}
    console.print_facts({"output": target, "sketch_bytes": size, **sketches.operator_facts(operator), **told})


def _from_ranges(path: str, columns: tuple[str, ...] | None, plan: Plan, private: bool) -> SketchOperator:
    if plan.n_clusters is None:
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
        plan.n_clusters,
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
