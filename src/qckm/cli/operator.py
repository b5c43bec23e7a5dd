"""`qckm operator`: one operator for many places."""

from __future__ import annotations

from typing import Any

import click

from qckm.cli import options, sketching
from qckm.cli.messages import Talk, talk_options
from qckm.cli.paths import Input, Output
from qckm.planning.plan import Plan, draw_operator


@click.command()
@click.argument("data", type=Input(), nargs=-1, metavar="[DATA...]")
@click.option("--output", "-o", type=Output(), help="The .qckm file: a sketch of no rows. [default: stdout]")
@click.option("--clusters", "-k", type=click.IntRange(min=1), help="How many clusters will be looked for.")
@options.operator_options
@options.plan_options
@options.column_options
@talk_options
def command(
    data: tuple[str, ...],
    output: str | None,
    clusters: int | None,
    operator_file: str | None,
    columns: Any,
    header: bool | None,
    dtype: str,
    talk: Talk,
    **plan: Any,
) -> None:
    """Draw an operator from a pilot of DATA, of which no row is kept; or take that of another sketch.

    \b
    Examples:
      qckm operator 'data/*.parquet' -k 10 -o fleet.qckm
      qckm operator data.csv -k 10 --standardize --columns age,income -o fleet.qckm
      qckm operator --like berlin.qckm -o fleet.qckm
    Then in every place:
      qckm sketch DATA --operator fleet.qckm -o here.qckm
    """
    if bool(data) == (operator_file is not None):
        raise click.UsageError("Give DATA to draw an operator for, or --like FILE to copy one: one of the two.")
    target = sketching.sketch_output(output)
    if operator_file is not None:
        operator = sketching.load_operator(operator_file)
    else:
        plan["n_frequencies"] = plan.pop("frequencies")
        wishes = Plan(n_clusters=clusters, **plan)
        if clusters is None and None in (wishes.scale, wishes.n_frequencies):
            raise click.UsageError("Give the number of clusters (-k), or both --scale and --frequencies.")
        job = sketching.Job(data, columns, header, dtype, "error", wishes, None, None, False, 0)
        planned = draw_operator(sketching.open_job(job, talk)[0], wishes)
        for words in planned.words:
            talk.say(words)
        operator = planned.operator
    size = sketching.write_sketch(operator.empty(), target)
    talk.say(f"{operator.n_features} columns, {operator.n_frequencies} frequencies, scale {operator.scale:.4g}")
    talk.facts({"output": target, "sketch_bytes": size, **sketching.operator_facts(operator)})
