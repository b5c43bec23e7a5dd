"""What commands read beside sketches and data: samples of rows whose bad ones are looked for, and public ranges."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Self

import numpy as np

from qckm.cli.console import Console
from qckm.cli.options import Reading
from qckm.cli.sketches import counted
from qckm.common.arrays import Floats
from qckm.common.foreign_files import each_once
from qckm.errors import OperatorError, RowsError, SourceError
from qckm.operator.request import as_ranges
from qckm.planning.held_rows import draw_pilot
from qckm.planning.pilot import Pilot
from qckm.sketch import SketchOperator
from qckm.sources.rows import OnBad
from qckm.sources.source import BATCH_BYTES, Batch, Position, Source

# Rows that a decoder looks at: of more it takes some.
_MOST = 50_000
_MOST_BYTES = 1 << 24  # of a file of ranges


@dataclass(frozen=True, eq=False)
class Looked(Source):
    """A source whose bad rows are looked for as it is read: the first is an error, or they are counted.

    Samples are drawn of good rows only, so that nobody else would notice.
    """

    on_bad: OnBad = "error"
    bad: list[int] = field(default_factory=list)  # how many there were in each batch

    @classmethod
    def at(cls, source: Source, on_bad: OnBad) -> Self:
        """Look at the batches of a source."""
        return cls(**{one.name: getattr(source, one.name) for one in fields(source) if one.init}, on_bad=on_bad)

    def _read(self, begin: Position, batch_bytes: int = BATCH_BYTES) -> Iterator[Batch]:
        for batch in super()._read(begin, batch_bytes):
            self.bad.append(int((~batch.finite()).sum()))
            if self.bad[-1] and self.on_bad == "error":
                batch.require_finite()
            yield batch

    @property
    def skipped(self) -> int:
        """How many bad rows there were among those that were read."""
        return sum(self.bad)

    def say_skipped(self, console: Console) -> None:
        """Say how many bad rows there were among those that were read."""
        if self.skipped:
            where = self.tables[0].label if len(self.tables) == 1 else counted(len(self.tables), "file")
            console.say(f"{where}: skipped {counted(self.skipped, 'bad row')}")


def open_looked(reading: Reading, data: Sequence[str], console: Console, usual: Sequence[str] | None = None) -> Looked:
    """Open files here, and look for bad rows in all that is read of them."""
    return Looked.at(reading.open(data, console, usual), reading.on_bad)


def read_some(
    path: str, operator: SketchOperator, seed: int, console: Console, on_bad: OnBad, most: int = _MOST
) -> Pilot:
    """Read the rows of a file, or as many, drawn from all of them, as a decoder needs; equal ones come once."""
    source = open_sample(path, operator, console, Reading(on_bad=on_bad))
    pilot = draw_pilot(source, np.random.default_rng(seed), most)
    source.say_skipped(console)
    return pilot


def open_sample(path: str, operator: SketchOperator, console: Console, reading: Reading) -> Looked:
    """Open a file of rows like those that an operator measures."""
    source = open_looked(reading, [path], console, operator.feature_names)
    if source.n_features != operator.n_features:
        raise RowsError(f"{path}: expected {operator.n_features} columns, as the sketch has, got {source.n_features}.")
    return source


def read_ranges(path: str) -> tuple[tuple[Floats, Floats], tuple[str, ...] | None]:
    """Read lower and upper (n,), and the columns' names where the file has them; refuse one that may be misread."""
    with open(path, "rb") as file:
        data = file.read(_MOST_BYTES + 1)
    try:
        found = json.loads(data[:_MOST_BYTES].decode(), object_pairs_hook=each_once)
        pairs = list(found.values()) if isinstance(found, dict) else found
        if not isinstance(pairs, list) or not pairs:
            raise ValueError("no ranges")
        for pair in pairs:
            if (
                not isinstance(pair, list)
                or len(pair) != 2
                or not all(isinstance(end, (int, float)) and not isinstance(end, bool) for end in pair)
            ):
                raise ValueError(f"{pair!r:.80} is no [lower, upper]")
        bounds = as_ranges([float(low) for low, _ in pairs], [float(high) for _, high in pairs], len(pairs))
    except (ValueError, RecursionError, OverflowError, OperatorError) as error:
        raise SourceError(
            f'{path}: expected ranges as JSON, such as {{"age": [0, 120], "income": [0, 1e6]}}: {error}'
        ) from error
    return bounds, tuple(found) if isinstance(found, dict) else None
