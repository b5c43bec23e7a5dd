"""Sketches, operators and models: read from files, pipes and collectors, written, and put in words and facts."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
import numpy as np

from qckm import models
from qckm.cli.console import Console, with_remedy, write_bytes
from qckm.cli.options import assumption_in_words
from qckm.common import foreign_files
from qckm.common.text import format_bytes, public_name
from qckm.models import Model, read_model
from qckm.operator.structured import StructuredCodes
from qckm.planning.column_checks import names_of
from qckm.planning.pilot import Pilot
from qckm.sketch import Sketch, SketchOperator, files
from qckm.sketch.sections import MAGIC
from qckm.sources.source import Source

if TYPE_CHECKING:
    from qckm.engines.files import FileRows

_MOST_NAMES = 8  # of columns
# More columns than this take minutes to decode from a sketch alone, and centroids come out far off (64 columns of
# digits: 2.75 times the SSE of k-means, with the decoder of that time).
_MANY_COLUMNS = 32


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


def counted(count: float, what: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> counted(1, "row"), counted(3000, "row")
    ('1 row', '3,000 rows')
    """
    return f"{count:,} {what}{'s' * (count != 1)}"


def columns_in_words(operator: SketchOperator) -> str:
    """Return which columns were used: columns age, income; or how many, where they have no names."""
    names, n = operator.feature_names, operator.n_features
    if not names:
        return counted(n, "column")
    more = f", … ({n})" if n > _MOST_NAMES else ""
    return f"column{'s' * (n != 1)} {', '.join(names[:_MOST_NAMES])}{more}"


def operator_facts(operator: SketchOperator) -> dict[str, object]:
    """Return what is worth knowing of an operator."""
    return {
        "features": operator.n_features,
        "feature_names": operator.feature_names,
        "frequencies": operator.n_frequencies,
        "measurements": operator.n_measurements,
        "signature": operator.signature.name,
        "dither": operator.dither,
        "law": operator.law,
        "scale": operator.scale,
        "octaves": operator.octaves,
        "standardized": bool((operator.units != 1).any()),
        "fingerprint": operator.fingerprint,
    }


def data_bytes(rows: float, operator: SketchOperator) -> float:
    """Return the size of the numbers that were sketched, as float64: whatever else their files hold."""
    return 8 * rows * operator.n_features


@dataclass(frozen=True, eq=False)
class Sketched:
    """A sketch, the source it is of, what the pilot tells a decoder if there was one, and the seconds of each part.

    `remarks` say what may be wrong with the columns, as the pilot sees them.
    """

    sketch: Sketch
    source: Source | FileRows
    hints: Pilot | None
    seconds: dict[str, float]
    remarks: tuple[str, ...] = ()

    @property
    def rereadable(self) -> Source | None:
        """The source, if its rows are here and can be read again."""
        found = self.source if isinstance(self.source, Source) else self.source.source
        return None if found is None or found.once else found

    def facts(self, n_bytes: int | None) -> dict[str, object]:
        """Return what is worth knowing of it, of so many bytes where they are known."""
        sketch, source = self.sketch, self.source
        said = [*map(with_remedy, self.remarks), *map(assumption_in_words, source.assumptions)]
        return {
            "rows": sketch.count,
            "skipped": sketch.skipped,
            "saturated": sketch.saturated,
            "inputs": source.labels[:100],
            "n_inputs": len(source.labels),
            "file_bytes": source.n_bytes,
            "data_bytes": data_bytes(sketch.count, sketch.operator),
            **({} if n_bytes is None else {"sketch_bytes": n_bytes}),
            **operator_facts(sketch.operator),
            "seconds": self.seconds,
            **({"remarks": said} if said else {}),
        }


def summary(sketch: Sketch, n_bytes: int | None = None) -> str:
    """Return one line about a sketch, with its size where it was written."""
    words = f"{counted(sketch.count, 'row')}, {columns_in_words(sketch.operator)}"
    if n_bytes is None:
        return words
    times = data_bytes(sketch.count, sketch.operator) / n_bytes
    shrunk = f", {times:,.0f} times less than these columns as float64" if times >= 2 else ""
    return f"{words}, in {format_bytes(n_bytes)}{shrunk}"


def remark(sketch: Sketch, console: Console, earlier: bool = False) -> None:
    """Say what the user should know of a sketch, made now or earlier: rows that were left out or clipped."""
    if sketch.skipped:
        console.say(f"skipped {counted(sketch.skipped, 'bad row')}" + " when the rows were sketched" * earlier)
    if sketch.saturated:
        console.warn(_clipped(sketch))


def _clipped(sketch: Sketch) -> str:
    share = sketch.saturated / sketch.count
    per_cent = f"{share:.2%}" if share >= 1e-4 else "less than 0.01%"
    lie = "lies" if sketch.saturated == 1 else "lie"
    return (
        f"{counted(sketch.saturated, 'row')} ({per_cent}) {lie} too far from the others to be coded, and "
        f"count{'s' * (sketch.saturated == 1)} as if at the edge{_furthest(sketch)}. Remove such rows if they are "
        "mistakes; if they matter, take the logarithm of columns with long tails, or give a larger --scale."
    )


def _furthest(sketch: Sketch) -> str:
    """Return which column reaches furthest beyond what is coded, where the sketch knows."""
    (least, greatest), (lower, upper) = sketch.operator.reach, sketch.bounds
    with np.errstate(over="ignore"):
        below, above = ((least - lower) / (greatest - least), (upper - greatest) / (greatest - least))
    furthest = np.fmax(below, above)
    if not (furthest > 0).any():  # or it is not known
        return ""
    column = int(np.nanargmax(furthest))
    name, value = names_of(sketch)[column], (lower if below[column] == furthest[column] else upper)[column]
    return f": column {name!r} reaches {value:.4g}, and {least[column]:.4g} to {greatest[column]:.4g} is coded"


def say_of_size(operator: SketchOperator, source: Source, with_rows: bool, console: Console) -> None:
    """Say, before the work, if a sketch will be no smaller than the data, or too wide to be decoded alone."""
    if source.n_rows is not None:
        # Frequencies of 2 bytes, unless they are made of a recipe or a transform, and sums of 1 byte or more.
        dense = (
            0 if operator.codes.recipe or isinstance(operator.frequency_codes, StructuredCodes) else operator.n_features
        )
        size = 2 * dense * (operator.n_frequencies // operator.octaves) + operator.n_measurements
        rows = data_bytes(source.n_rows, operator)
        least = min(rows, source.n_bytes or rows)
        if size >= least:
            console.say(
                f"the sketch will take {format_bytes(size)} or more, and the data take {format_bytes(least)}: the "
                f"sketch saves nothing; {_projecting(source)}"
            )
            return
    if not with_rows:
        warn_of_columns(operator, source, console)


def warn_of_columns(operator: SketchOperator, source: Source, console: Console) -> None:
    """Warn of an operator whose sketches will be too wide to be decoded alone."""
    if operator.n_features > _MANY_COLUMNS:
        console.warn(
            f"{operator.n_features} columns are many to decode from a sketch alone: that takes minutes, and centroids "
            f"may be far off; {_projecting(source)}, or give `qckm decode` some --rows"
        )


def _projecting(source: Source) -> str:
    data = shlex.quote(source.tables[0].label)
    return f"a few principal components are smaller and decode better: `qckm project {data} -n 10 -o narrow.parquet`"
