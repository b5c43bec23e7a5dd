"""Source: tables one after the other, with the same columns selected of each, read in batches bounded by bytes."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Rows
from qckm.errors import RowsError, SourceError
from qckm.sources.table import Selection, Table, reading

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
                f"{self.label}: {self.faults.get(self.first_row + row, words)}. Fix the data, or skip "
                "and count such rows with on_bad='skip'.",
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
    """

    tables: Sequence[Table]
    selection: Selection
    stamps: tuple[Stamp, ...] = field(init=False)
    _ahead: _Ahead = field(default_factory=lambda: _Ahead())

    def __post_init__(self) -> None:
        # Of the tables that are files, in order, as they are now.
        stamps = tuple(Stamp.of(table.path) for table in self.tables if table.path is not None)
        object.__setattr__(self, "stamps", stamps)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.selection.names)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns, where they have names."""
        return self.selection.names if self.tables[0].named else None

    @property
    def labels(self) -> list[str]:
        """What the tables are called."""
        return [table.label for table in self.tables]

    @property
    def once(self) -> bool:
        """Whether the rows can be read only once: some come from a pipe."""
        return any(table.once for table in self.tables)

    @property
    def copied(self) -> bool:
        """Whether some rows lie elsewhere, and were copied: another run will have other copies."""
        return any(table.url is not None for table in self.tables)

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
            said.append(f"{self.tables[0].label}: {listed}, the index of a pandas frame, is not read; {hint}")
        if "" in self.selection.names:
            said.append(f"{self.tables[0].label}: a column without a name, perhaps an index, is read like the others")
        return tuple(said)

    def batches(self, start: Position | None = None, batch_bytes: int = BATCH_BYTES) -> Iterator[Batch]:
        """Yield the rows from a position on. How they are cut into batches changes nothing of a sketch."""
        first = start or Position()
        if self.once:
            while self._ahead.held:
                yield self._ahead.held.pop(0)
            yield from self._ahead.reading(self)
            return
        held, self._ahead.held = self._ahead.held, []  # a reading that is given up leaves nothing behind
        if held and first == Position():
            while held:
                yield held.pop(0)
        else:
            yield from self._read(first, batch_bytes)

    def peek(self, size: int) -> list[Rows]:
        """Return the first rows of a pipe, at least `size` if it has so many; `batches` gives them again."""
        reading, held = self._ahead.reading(self), self._ahead.held
        while sum(len(batch.rows) for batch in held) < size and (batch := next(reading, None)) is not None:
            held.append(batch)
        return [batch.rows for batch in held]

    def look(self, most_bytes: int) -> Iterator[Rows]:
        """Yield all rows. If they are no more than so many bytes, `batches` gives them again, and nothing is read."""
        held: list[Batch] = []
        size = 0
        for batch in self._read(Position()):
            held.append(batch)
            size += batch.rows.nbytes
            if size > most_bytes:
                held.clear()
            yield batch.rows
        self._ahead.held = held if size <= most_bytes else []

    def _read(self, begin: Position, batch_bytes: int = BATCH_BYTES) -> Iterator[Batch]:
        batch_rows = max(1, batch_bytes // (8 * self.n_features))
        before = sum(table.n_bytes or 0 for table in self.tables[: begin.table])
        for number in range(begin.table, len(self.tables)):
            table = self.tables[number]
            first, stop = table.row_span or (0, None)
            row = max(first, begin.row if number == begin.table else 0)
            # Nothing of ours runs in here but the table: what our consumer raises does not pass through a generator.
            with reading(table.label):
                for found, taken in table.read(self.selection, row, batch_rows):
                    rows = found if stop is None else found[: stop - row]
                    after = Position(number, row + len(rows))
                    yield Batch(rows, table.label, row, self.selection.names, after, before + taken, table.faults)
                    row += len(rows)
                    if row == stop:
                        break
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


def is_read_in_batches(data: object) -> bool:
    """Whether rows are given by where they are, or by who hands them over, and not as rows in memory.

    That is paths, sources, lazy frames of polars, relations of DuckDB, datasets and readers of Arrow.

    Examples
    --------
    >>> is_read_in_batches("rows.csv"), is_read_in_batches(["a.csv", "b.csv"]), is_read_in_batches([[1.0], [2.0]])
    (True, True, False)
    """
    if isinstance(data, (list, tuple)):
        return bool(data) and all(isinstance(one, (str, os.PathLike)) for one in data)
    if isinstance(data, (str, os.PathLike, Source)):
        return True
    lazy = hasattr(data, "collect_schema") and hasattr(data, "collect")
    handed = hasattr(data, "fetchall") or hasattr(data, "read_next_batch")
    return lazy or handed or (hasattr(data, "to_batches") and not hasattr(data, "num_rows"))


class _Ahead:
    """Batches that were looked at before they are asked for, and the only reading of a pipe."""

    def __init__(self) -> None:
        self.held: list[Batch] = []
        self._reading: Iterator[Batch] | None = None

    def reading(self, source: Source) -> Iterator[Batch]:
        if self._reading is None:
            self._reading = source._read(Position())
        return self._reading


Item = TypeVar("Item")
_SECONDS_TO_END = 2.0


def prefetch(items: Iterator[Item], depth: int = 2, tick: float | None = None) -> Generator[Item | None]:
    """Yield the items of an iterator that runs in a thread, at most `depth` ahead.

    With `tick`, None is yielded when nothing came for so many seconds: a pipe may be silent while a clock runs.
    """
    # An item, an error on its way from one thread to the other, or, after the last item, None.
    ready: queue.Queue[tuple[Item] | BaseException | None] = queue.Queue(depth)
    stop = threading.Event()

    def put(item: tuple[Item] | BaseException | None) -> bool:
        while not stop.is_set():
            try:
                ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for item in items:
                if not put((item,)):
                    return
        except BaseException as error:
            put(error)
        else:
            put(None)

    # A daemon: it may wait for a pipe that never ends when the program is told to.
    thread = threading.Thread(target=work, name="qckm-reader", daemon=True)
    thread.start()
    try:
        while True:
            try:
                found = ready.get(timeout=tick)
            except queue.Empty:
                yield None
                continue
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            yield found[0]
    finally:
        stop.set()
        # Python aborts if it ends while a thread is inside pyarrow. One that reads a file is done soon.
        thread.join(_SECONDS_TO_END)
