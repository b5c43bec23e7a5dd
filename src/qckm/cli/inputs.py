"""What commands read beside sketches: data, samples of rows, and public ranges of columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from qckm.cli.console import Console, say_assumptions
from qckm.cli.summaries import counted
from qckm.common.arrays import Floats
from qckm.common.foreign_files import each_once
from qckm.errors import OperatorError, RowsError, SourceError
from qckm.operator.request import as_ranges
from qckm.planning.pilot import Pilot
from qckm.planning.sampling import draw_pilot
from qckm.sketch import SketchOperator
from qckm.sources.opening import open_source
from qckm.sources.rows import OnBad
from qckm.sources.source import BATCH_BYTES, Batch, Position, Source
from qckm.sources.text import UNKNOWN, TextFormat

if TYPE_CHECKING:
    from qckm.engines import Cluster
    from qckm.engines.files import FileRows

# Rows that a decoder looks at: of more it takes some.
_MOST = 50_000


@dataclass(frozen=True)
class Reading:
    """How data are read: which columns, what is known of a CSV, as what numbers, and what happens to bad rows."""

    columns: tuple[str, ...] | None = None
    text: TextFormat = UNKNOWN
    dtype: str = "auto"
    on_bad: OnBad = "error"

    def open(self, data: Sequence[str], console: Console, usual: Sequence[str] | None = None) -> Source:
        """Open files here, whose columns are the usual ones if no others were asked for; say what was assumed."""
        source = open_source(list(data), self.columns, self.dtype, usual, **asdict(self.text))
        say_assumptions(source, console)
        return source

    def open_looked(self, data: Sequence[str], console: Console, usual: Sequence[str] | None = None) -> Looked:
        """Open files here, and look for bad rows in all that is read of them."""
        return Looked.at(self.open(data, console, usual), self.on_bad)

    def open_on(
        self, cluster: Cluster, data: Sequence[str], console: Console, usual: Sequence[str] | None = None
    ) -> FileRows:
        """Open files that the workers of a cluster read."""
        from qckm.engines.files import FileRows

        rows = FileRows(cluster, data, self.columns, self.dtype, usual, self.text)
        say_assumptions(rows, console)
        return rows


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


def read_all(source: Source) -> Floats:
    """Read every row of a file, in its order, bad ones, too."""
    found = [np.asarray(batch.rows, np.float64) for batch in source.batches()]
    source.require_unchanged()
    if not found:
        raise RowsError(f"{source.tables[0].label}: expected rows, found none.")
    return np.concatenate(found)


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
    source = reading.open_looked([path], console, operator.feature_names)
    if source.n_features != operator.n_features:
        raise RowsError(f"{path}: expected {operator.n_features} columns, as the sketch has, got {source.n_features}.")
    return source


_MOST_BYTES = 1 << 24


class Ranges(NamedTuple):
    """Lower and upper (n,) each, and the names of the columns where the file has them."""

    bounds: tuple[Floats, Floats]
    names: tuple[str, ...] | None


def read_ranges(path: str) -> Ranges:
    """Read a file of ranges; refuse one that may be misread."""
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
    return Ranges(bounds, tuple(found) if isinstance(found, dict) else None)
