"""`qckm pool`: add up bits to a sketch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from qckm.cli import options, sketches
from qckm.cli.arguments import Input, Number
from qckm.cli.console import Console
from qckm.errors import MessageError, RowsError
from qckm.privacy import LocalPool
from qckm.sensor import Pool, wire
from qckm.sketch import Sketch, SketchOperator
from qckm.sources.opening import require_files_once
from qckm.sources.raw import Peekable, open_file, open_stdin

_BLOCK = 1 << 24
_MOST_COMPLAINTS = 20


@click.command()
@click.argument("bits", type=Input(), nargs=-1, required=True, metavar="BITS...")
@options.operator_option(required=True)
@click.option("--messages", is_flag=True, help="The files hold messages of sensors. [default: if one is a folder]")
@click.option("--local", is_flag=True, help="The files hold private reports of devices, all of one ε.")
@click.option(
    "--epsilon",
    type=Number(min=0, min_open=True),
    help="What the devices were set to spend on a report. [default: what most reports have spent]",
)
@options.sketch_output_option
@options.console_options
def command(
    bits: tuple[str, ...],
    operator_file: str,
    messages: bool,
    local: bool,
    epsilon: float | None,
    output: str | None,
    console: Console,
) -> None:
    """Add up the bits of rows, as `qckm encode` or a sensor sends them, to the sketch that the rows would give.

    \b
    Examples:
      qckm pool messages/ --operator fleet.qckm -o all.qckm
      cat station*.log | qckm pool - --messages --operator fleet.qckm -o all.qckm
      qckm encode rows.csv --operator fleet.qckm | qckm pool - --operator fleet.qckm > sum.qckm
      qckm pool reports/ --local --operator fleet.qckm -o private.qckm

    Messages (docs/wire-format.md) say who sent them: repeated ones are dropped, damaged ones and those of another
    operator refused, missing ones reported, device by device. Private reports (--local) make a private sketch.
    """
    if epsilon is not None and not local:
        raise click.UsageError("Only private reports spend an --epsilon: use it with --local.")
    target = sketches.sketch_output(output)
    operator = sketches.load_operator(operator_file)
    if not (messages or local):  # those say who sent them, and are dropped when they come again
        require_files_once([path for path in bits if not os.path.isdir(path)])
    facts: dict[str, Any] = {}
    if local:
        total, facts = _pool_reports(bits, LocalPool(operator, epsilon), console)
    elif messages or any(os.path.isdir(path) for path in bits):
        pool = _pool_messages(bits, operator, console)
        total, facts = pool.sketch, {"unreadable": pool.unreadable, "devices": pool.report()}
    else:
        total = _pool_rows(bits, operator)
    size = sketches.write_sketch(total, target)
    console.say(sketches.summary(total, size))
    console.print_facts({"output": target, "rows": total.count, "sketch_bytes": size, **facts})


def _pool_messages(paths: tuple[str, ...], operator: SketchOperator, console: Console) -> Pool:
    pool = Pool(operator)
    refused = _add_all(paths, pool, console)
    if not any(device.messages for device in pool.devices.values()):
        raise MessageError(f"Expected messages of this operator, got none ({refused} refused).")
    for told in pool.report():
        gaps = ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in told["gaps"][:5])
        notes = [
            f"{told['repeated']} repeated" * (told["repeated"] > 0),
            f"{told['refused']} refused" * (told["refused"] > 0),
            f"{told['missing']} missing ({gaps}{', …' * (len(told['gaps']) > 5)})" * (told["missing"] > 0),
            f"{told['saturated']} rows clipped" * (told["saturated"] > 0),
        ]
        if any(notes):
            words = ", ".join(filter(None, notes))
            console.say(f"device {told['device']}: {told['rows']:,} rows in {told['messages']} messages; {words}")
    return pool


def _pool_reports(paths: tuple[str, ...], pool: LocalPool, console: Console) -> tuple[Sketch, dict[str, Any]]:
    refused = _add_all(paths, pool, console)
    if not pool.count:
        raise MessageError(f"Expected private reports of this operator, got none ({refused} refused).")
    sketch = pool.sketch
    assert sketch.ledger is not None
    notes = {"repeated": pool.repeated, "refused": refused, "of another ε, left out": pool.left_out}
    words = "".join(f"; {count} {what}" for what, count in notes.items() if count)
    console.say(f"{sketches.counted(pool.count, 'report')} counted{words}. {sketch.ledger.in_words()}")
    counts = {"reports": pool.count, "repeated": pool.repeated, "refused": refused, "left_out": pool.left_out}
    return sketch, counts


def _add_all(paths: tuple[str, ...], pool: Pool | LocalPool, console: Console) -> int:
    """Add all messages of some files; say what is wrong with those that cannot be, and return how many these are."""
    refused = 0
    for path, data in _contents(paths):
        for error in pool.add_stream(data):
            refused += 1
            if refused <= _MOST_COMPLAINTS:
                console.say(f"{path}: {error}")
    if refused > _MOST_COMPLAINTS:
        console.say(f"… and {refused - _MOST_COMPLAINTS} more")
    return refused


def _contents(paths: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes of files, of all files below folders in the order of their names, and of standard input."""
    for path in paths:
        if path == "-":
            with open_stdin() as stream:
                yield "standard input", stream.readall()
        elif os.path.isdir(path):
            for folder, below, names in os.walk(path):
                below.sort()
                for name in sorted(names):
                    yield from _contents((os.path.join(folder, name),))
        else:
            with open(path, "rb") as file:
                yield path, file.read()


def _pool_rows(paths: tuple[str, ...], operator: SketchOperator) -> Sketch:
    width = -(-operator.n_measurements // 8)
    total = operator.empty()
    for path in paths:
        with open_stdin() if path == "-" else open_file(path) as stream:
            _refuse_messages(stream, operator, path)
            rest = b""
            while data := _fill(stream, _BLOCK):
                data = rest + data
                whole = len(data) // width * width
                total += operator.pool(np.frombuffer(data, np.uint8, whole).reshape(-1, width))
                rest = data[whole:]
        if rest:
            raise RowsError(f"{path}: expected whole rows of {width} bytes, got {len(rest)} bytes too many.")
    return total


def _refuse_messages(stream: Peekable, operator: SketchOperator, path: str) -> None:
    """Refuse messages that are not said to be: their headers would be counted as bits."""
    start = stream.peek(wire.HEADER.size)
    if start[:3] == wire.MAGIC + bytes([wire.VERSION]) and start[4:12] == operator.short_fingerprint:
        raise RowsError(f"{path}: these are messages of sensors, not bare bits: use --messages.")


def _fill(stream: Peekable, size: int) -> bytes:
    """Read a block from a pipe that gives little at a time."""
    parts, left = [], size
    while left and (part := stream.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
