"""Source: tables one after the other, with the same columns selected of each, read in batches bounded by bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Rows
from qckm.errors import RowsError, SourceError
from qckm.sources.read_errors import reading
from qckm.sources.table import Selection, Table

# Of one batch: small beside any machine's memory, large beside the cost of handing it on.
BATCH_BYTES = 1 << 24


@dataclass(frozen=True, order=True)
class Position:
    """How far reading has come: all tables before `table`, and `row` rows of that one."""

    table: int = 0
    row: int = 0


@dataclass(frozen=True)
class Stamp:
    """What a file looked like when it was opened; a changed file has another."""

    path: str
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: str) -> Stamp:
        """Look at a file."""
        found = os.stat(path)
        return cls(os.path.abspath(path), found.st_size, found.st_mtime_ns)


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows (rows, n), where they come from, and where reading goes on after them."""

    rows: Rows
    label: str
    first_row: int
    names: tuple[str, ...]
    after: Position
    bytes_done: int
    faults: Mapping[int, str] = field(default_factory=dict)

    def require_finite(self) -> None:
        """Raise an error that names file, row and column of the first value that is not a finite number."""
        bad = np.argwhere(~np.isfinite(self.rows))
        if len(bad):
            row, column = bad[0]
            value = self.rows[row, column]
            found = "a missing value (null or NaN)" if np.isnan(value) else value
            words = f"expected finite numbers, got {found} in {self.place(row, column)}"
            raise RowsError(
                f"{self.label}: {self.faults.get(self.first_row + row, words)}. Mend the data, or leave "
                "such rows out and have them counted with on_bad='skip'.",
                about="bad rows",
            )

    def place(self, row: int, column: int) -> str:
        """Return where a value is, in words."""
        return f"row {self.first_row + row} (the first is 0), column {self.names[column]!r}"

    def finite(self) -> npt.NDArray[np.bool_]:
        """Return which rows are finite throughout, (rows,)."""
        return np.asarray(np.isfinite(self.rows).all(axis=1))

    def finite_rows(self) -> Rows:
        """Return the rows that are finite throughout."""
        return self.rows[self.finite()]


@dataclass(frozen=True, eq=False)
class Source:
    """Rows in files or in memory, in a fixed order.

    Parameters
    ----------
    tables : sequence of Table
    selection : Selection
    stamps : tuple of Stamp
        Of the tables that are files, in order, as they were when opened.
    """

    tables: Sequence[Table]
    selection: Selection
    stamps: tuple[Stamp, ...]
    _pipe: _Pipe = field(default_factory=lambda: _Pipe())

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.selection.names)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns, where they have names."""
        return self.selection.names if self.tables[0].named else None

    @property
    def once(self) -> bool:
        """Whether the rows can be read only once: some come from a pipe."""
        return any(table.once for table in self.tables)

    @property
    def copied(self) -> bool:
        """Whether some rows lie elsewhere, and were copied: another run will have other copies."""
        return any(table.copied for table in self.tables)

    @property
    def n_rows(self) -> int | None:
        """The number of rows, where it is known before reading."""
        counts = [table.n_rows for table in self.tables]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def n_bytes(self) -> int | None:
        """The size of the files, or of the arrays in memory."""
        sizes = [table.n_bytes for table in self.tables]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was taken for granted on opening the data and may be wrong, in words.

        Whether a CSV has a header, and which column of a frame of pandas is its index and no feature.
        """
        found: dict[str, list[str]] = {}
        for table in self.tables:
            if table.assumed is not None:
                found.setdefault(table.assumed, []).append(table.label)
        said = [
            f"{labels[0]}{f' and {len(labels) - 1} more' if len(labels) > 1 else ''}: {words}"
            for words, labels in found.items()
        ]
        if self.selection.left_out:
            listed = ", ".join(map(repr, self.selection.left_out[:5]))
            hint = "name it among the columns to read it"
            said.append(f"{self.tables[0].label}: {listed}, the index of a pandas frame, was left out; {hint}")
        if "" in self.selection.names:
            said.append(f"{self.tables[0].label}: a column without a name, an index perhaps, was read like the others")
        return tuple(said)

    def batches(self, start: Position | None = None, batch_bytes: int = BATCH_BYTES) -> Iterator[Batch]:
        """Yield the rows from a position on. How they are cut into batches changes nothing of a sketch."""
        if self.once:
            yield from self._pipe.batches(self)
        else:
            yield from self._read(start or Position(), batch_bytes)

    def peek(self, size: int) -> list[Rows]:
        """Return the first rows of a pipe, at least `size` if it has so many; `batches` gives them again."""
        return self._pipe.peek(self, size)

    def _read(self, begin: Position, batch_bytes: int = BATCH_BYTES) -> Iterator[Batch]:
        batch_rows = max(1, batch_bytes // (8 * self.n_features))
        before = sum(table.n_bytes or 0 for table in self.tables[: begin.table])
        for number in range(begin.table, len(self.tables)):
            table = self.tables[number]
            row = begin.row if number == begin.table else 0
            # Nothing of ours runs in here but the table: what our consumer raises does not pass through a generator.
            with reading(table.label):
                for rows, taken in table.read(self.selection, row, batch_rows):
                    after = Position(number, row + len(rows))
                    yield Batch(rows, table.label, row, self.selection.names, after, before + taken, table.faults)
                    row += len(rows)
            before += table.n_bytes or 0

    def require_unchanged(self) -> None:
        """Raise an error if a file is not what it was when it was opened: then nobody knows what was read."""
        for stamp in self.stamps:
            try:
                now = Stamp.of(stamp.path)
            except OSError as error:
                raise SourceError(f"{stamp.path} vanished while it was read: {error.strerror}. Start again.") from error
            if now != stamp:
                raise SourceError(f"{stamp.path} changed while it was read. Start again when nobody writes to it.")


class _Pipe:
    """The only reading of a source that can be read once, and the batches that were looked at beforehand."""

    def __init__(self) -> None:
        self._reading: Iterator[Batch] | None = None
        self._held: list[Batch] = []

    def _batches(self, source: Source) -> Iterator[Batch]:
        if self._reading is None:
            self._reading = source._read(Position())
        return self._reading

    def peek(self, source: Source, size: int) -> list[Rows]:
        reading = self._batches(source)
        while sum(len(batch.rows) for batch in self._held) < size:
            batch = next(reading, None)
            if batch is None:
                break
            self._held.append(batch)
        return [batch.rows for batch in self._held]

    def batches(self, source: Source) -> Iterator[Batch]:
        while self._held:
            yield self._held.pop(0)
        yield from self._batches(source)
