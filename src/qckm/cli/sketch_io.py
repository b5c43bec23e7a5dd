"""Sketches from files and pipes, and to them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import click

from qckm.cli.console import Console
from qckm.cli.output_files import updating, write_bytes
from qckm.cli.summaries import summary
from qckm.common import foreign_files
from qckm.errors import QckmError
from qckm.sketch import Sketch, SketchOperator, files
from qckm.sketch.sections import VERSION


def load_operator(path: str) -> SketchOperator:
    """Return the operator of a .qckm file."""
    return read_sketch(path).operator


def read_sketch(path: str) -> Sketch:
    """Read a sketch file, what a collector answers to a URL, or standard input for "-"."""
    return parse_sketch(read_data(path), "standard input" if path == "-" else path)


def read_data(path: str) -> bytes:
    """Return the bytes of such a sketch."""
    if is_collector_url(path):
        from qckm.collector import client  # what speaks HTTP takes its time to import

        return client.fetch(path)
    return sys.stdin.buffer.read() if path == "-" else files.read_bytes(path)


def is_collector_url(path: str) -> bool:
    """Whether a sketch is to be asked for rather than read."""
    return path.startswith(("http://", "https://"))


def parse_sketch(data: bytes, label: str) -> Sketch:
    """Read a sketch from bytes; errors say whose they are."""
    with foreign_files.reading(label):
        return files.loads(data)


def write_sketch(sketch: Sketch, output: str) -> int:
    """Write a sketch to a file or, for "-", to stdout; return its size."""
    data = files.dumps(sketch)
    write_bytes(output, data)
    return len(data)


def sketch_output(output: str | None) -> str:
    """Return where a sketch goes: the file asked for, or stdout unless that is a terminal."""
    if output is None and sys.stdout.isatty():
        raise click.UsageError("A sketch is no text for a terminal: give it a name with -o.")
    return output or "-"


def fold(
    paths: Sequence[str], operation: Callable[[Sketch, Sketch], Sketch], output: str | None, console: Console
) -> None:
    """Fold sketches from the left, and write the result; it may take the place of one of them, whose lock is held."""
    target = sketch_output(output)
    if paths.count("-") > 1:
        raise click.UsageError("Standard input can be read only once: give - once.")
    piped = sys.stdin.buffer.read() if "-" in paths else b""  # first: a pipe may take its time, others need the lock

    older: list[str] = []

    def read(path: str) -> Sketch:
        data, label = (piped, "standard input") if path == "-" else (read_data(path), path)
        sketch = parse_sketch(data, label)
        if files.version_of(data) < VERSION:
            older.append(label)
        return sketch

    with updating(target, console) as write:
        total = read(paths[0])
        for path in paths[1:]:
            part = read(path)
            try:
                total = operation(total, part)
            except QckmError as error:
                raise error.within(path) from error
        data = files.dumps(total)
        write(data)
    if older:
        console.say(
            f"{older[0]} is of an older file version; {'the output' if target == '-' else target} is of version "
            f"{VERSION}, which older qckm cannot read"
        )
    console.say(f"{target if target != '-' else 'sketch'}: {summary(total, len(data), None)}")
    console.print_facts({"output": target, "rows": total.count, "skipped": total.skipped, "sketch_bytes": len(data)})
