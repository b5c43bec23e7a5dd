"""`qckm merge` and `qckm subtract`: add sketches, forget rows, or cut a window out of cumulative sketches."""

from __future__ import annotations

import contextlib
import functools
import operator
import sys
from collections.abc import Callable, Iterator, Sequence

import click

from qckm.cli import options
from qckm.cli.arguments import COLUMNS, Output, propose_files, sketch_files
from qckm.cli.console import Console, write_bytes
from qckm.cli.sketches import counted, label_of, parse_sketch, read_data, sketch_output, summary
from qckm.common import atomic
from qckm.common.arrays import sha256
from qckm.errors import QckmError
from qckm.sketch import Sketch, files, group_tables
from qckm.sketch.sections import VERSION
from qckm.sources.opening import paths_of

_NAMES = "Rows that are named (`qckm sketch --part`) are refused the second time."

_parts_option = click.option(
    "--parts/--no-parts",
    "names",
    default=True,
    show_default=True,
    help="Refuse a part (`qckm sketch --part`) that would count twice, or is not there; keep their names.",
)


@click.command()
@click.argument("sketches", nargs=-1, required=True, metavar="SKETCH...", shell_complete=propose_files)
@click.option("--output", "-o", type=Output(), help="The .qckm file, with --by a .parquet file. [default: stdout]")
@click.option(
    "--by",
    type=COLUMNS,
    help="Merge tables of sketches (`qckm sketch --by`): the groups of these columns, such as shop.",
)
@_parts_option
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
        _fold(found, operator.add, output, console, names)
        return
    if output is None or not output.endswith(".parquet"):
        raise click.UsageError("With --by, -o names a file that ends in .parquet.")
    tables = [name for path in sketches for name in paths_of(path)]
    groups = group_tables.load(tables, by)
    group_tables.save(groups, output)
    rows = int(groups.sums.count.sum())
    console.say(f"{output}: {counted(len(groups), 'group')} by {', '.join(by)}, of {counted(rows, 'row')}")
    console.print_facts({"output": output, "by": list(by), "groups": len(groups), "rows": rows})


@click.command()
@click.argument("whole", shell_complete=propose_files)
@click.argument(
    "parts", nargs=-1, required=True, metavar="PART...", shell_complete=propose_files, callback=sketch_files
)
@options.sketch_output_option
@_parts_option
@options.console_options
def subtract(whole: str, parts: tuple[str, ...], output: str | None, names: bool, console: Console) -> None:
    """Take the rows of each PART out of WHOLE, exactly.

    \b
    Examples:
      qckm subtract all.qckm withdrawn.qckm -o rest.qckm
      qckm subtract 14h.qckm 13h.qckm -o last-hour.qckm     # of snapshots: sketch --every
    """
    _fold((whole, *parts), operator.sub, output, console, names)


def _fold(
    paths: Sequence[str],
    operation: Callable[[Sketch, Sketch], Sketch],
    output: str | None,
    console: Console,
    names: bool = True,
) -> None:
    """Fold sketches from the left, and write the result; it may take the place of one of them, whose lock is held.

    Without `names`, those of parts are neither checked nor kept.
    """
    target = sketch_output(output)
    if paths.count("-") > 1:
        raise click.UsageError("Standard input can be read only once: give - once.")
    piped = sys.stdin.buffer.read() if "-" in paths else b""  # first: a pipe may take its time, others need the lock
    total: Sketch | None = None
    older: list[str] = []
    seen: dict[bytes, str] = {}
    repeated: list[tuple[str, str]] = []
    with _updating(target, console) as write:
        for path in paths:
            data, label = (piped if path == "-" else read_data(path)), label_of(path)
            part = parse_sketch(data, label)
            if files.version_of(data) < VERSION:
                older.append(label)
            # Of what is taken from a whole, the parts are compared with each other: all of it may be taken.
            if part.count and not part.parts and (total is not None or operation is operator.add):
                content = sha256(part.total.tobytes() + str(part.count).encode()).digest()
                if content in seen:
                    repeated.append((seen[content], label))
                seen.setdefault(content, label)
            part = part if names else part.without_parts()
            try:
                total = part if total is None else operation(total, part)
            except QckmError as error:
                raise error.within(label) from error
        assert total is not None, "click asks for one sketch at least"
        data = files.dumps(total)
        write(data)
    for first, second in repeated:
        console.warn(f"{first} and {second} have the same content: were the same rows counted twice? {_NAMES}")
    if older:
        console.say(
            f"{older[0]} is of an older file version; {'the output' if target == '-' else target} is of version "
            f"{VERSION}, which older qckm cannot read"
        )
    console.say(f"{target if target != '-' else 'sketch'}: {summary(total, len(data))}")
    facts = {"output": target, "rows": total.count, "skipped": total.skipped, "parts": len(total.parts)}
    console.print_facts({**facts, "sketch_bytes": len(data)})


@contextlib.contextmanager
def _updating(target: str, console: Console) -> Iterator[Callable[[bytes], None]]:
    """Give a function that writes to stdout for "-", else replaces a file that nobody else replaces meanwhile."""
    if target == "-" or atomic.is_device(target):
        yield functools.partial(write_bytes, target)
        return
    waiting = functools.partial(console.say, f"waiting for another process that is at work on {target}")
    with files.updating(target, waiting) as replace:
        yield replace
