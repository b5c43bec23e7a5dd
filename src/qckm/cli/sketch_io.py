"""Sketches from files and pipes, and to them."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence

import click

from qckm import models
from qckm.cli.console import Console
from qckm.cli.outputs import updating, write_bytes
from qckm.cli.summaries import summary
from qckm.common import foreign_files
from qckm.common.arrays import sha256
from qckm.common.text import public_name
from qckm.errors import QckmError
from qckm.models import Model, read_model
from qckm.sketch import Sketch, SketchOperator, files
from qckm.sketch.sections import MAGIC, VERSION

parts_option = click.option(
    "--parts/--no-parts",
    "names",
    default=True,
    show_default=True,
    help="Refuse a part (`qckm sketch --part`) that would count twice, or is not there; keep their names.",
)


def load_operator(path: str) -> SketchOperator:
    """Return the operator of a .qckm file."""
    return read_sketch(path).operator


def read_sketch(path: str) -> Sketch:
    """Read a sketch file, what a collector answers to a URL, or standard input for "-"."""
    return parse_sketch(read_data(path), label_of(path))


def load_model(path: str) -> Model:
    """Read a model file, or what a collector answers to a URL."""
    return read_model(read_data(path), label_of(path)) if is_collector_url(path) else models.load_model(path)


def label_of(path: str) -> str:
    """Return how a file is called in messages: of a URL no more than may be seen."""
    return "standard input" if path == "-" else public_name(path)


def read_data(path: str) -> bytes:
    """Return the bytes of such a file."""
    if is_collector_url(path):
        from qckm.collector import client  # what speaks HTTP takes its time to import

        return client.fetch(path)
    return sys.stdin.buffer.read() if path == "-" else files.read_bytes(path)


def is_collector_url(path: str) -> bool:
    """Whether a sketch or a model is to be asked for rather than read."""
    return path.startswith(("http://", "https://"))


def is_sketch(path: str) -> bool:
    """Whether a path is that of a sketch, or of what cannot be anything else here: standard input, a collector's."""
    if path == "-" or is_collector_url(path):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


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
        raise click.UsageError("A sketch is binary, not text for a terminal: name a file with -o.")
    return output or "-"


def fold(
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
    with updating(target, console) as write:
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
                raise error.within(path) from error
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


_NAMES = "Rows that are named (`qckm sketch --part`) are refused the second time."
