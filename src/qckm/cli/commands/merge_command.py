"""`qckm merge`: add sketches."""

from __future__ import annotations

import operator

import click

from qckm.cli import completion, options, sketch_io
from qckm.cli.console import Console
from qckm.cli.paths import Output, sketch_files
from qckm.cli.summaries import counted
from qckm.sketch import group_tables
from qckm.sources.opening import paths_of


@click.command()
@click.argument("sketches", nargs=-1, required=True, metavar="SKETCH...", shell_complete=completion.files)
@click.option("--output", "-o", type=Output(), help="The .qckm file, with --by a .parquet file. [default: stdout]")
@click.option(
    "--by",
    type=options.ColumnNames(),
    help="Merge tables of sketches (`qckm sketch --by`): the groups of these columns, such as shop.",
)
@sketch_io.parts_option
@options.console_options
@click.pass_context
def command(
    context: click.Context,
    sketches: tuple[str, ...],
    output: str | None,
    by: tuple[str, ...] | None,
    names: bool,
    console: Console,
) -> None:
    """Add sketches of one operator: the result is that of all their rows together, to the last bit.

    \b
    Examples:
      qckm merge berlin.qckm paris.qckm -o europe.qckm
      qckm merge 'month-*.qckm' -o year.qckm
      qckm merge sketches/ --by shop -o shops.parquet
      qckm merge monday.qckm - < tuesday.qckm > both.qckm
    """
    if by is None:
        found = sketch_files(context, context.command.params[0], sketches)
        sketch_io.fold(found, operator.add, output, console, names)
        return
    if output is None or not output.endswith(".parquet"):
        raise click.UsageError("With --by, -o names a file that ends in .parquet.")
    tables = [name for path in sketches for name in paths_of(path)]
    groups = group_tables.load(tables, by)
    group_tables.save(groups, output)
    rows = int(groups.sums.count.sum())
    console.say(f"{output}: {counted(len(groups), 'group')} by {', '.join(by)}, of {counted(rows, 'row')}")
    console.print_facts({"output": output, "by": list(by), "groups": len(groups), "rows": rows})
