"""Arrow batches: of IPC files (Feather) and streams, also from a pipe, and of whatever else hands some over.

Files are read, not mapped: one that is cut short while it is mapped kills the process (SIGBUS).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa

from qckm.errors import SourceError
from qckm.sources.arrow import BatchesTable
from qckm.sources.arrow_sizes import Batch, Messages, batch_of, blocks_of, body_length, locate, metadata_of, read_slices
from qckm.sources.raw import Peekable
from qckm.sources.table import Span, evenly, reading

_EXPECTED = "expected Arrow data"
# A batch of more than so many batches of ours is read in parts, where it can be.
_LARGE = 4


# What is opened for reading: a schema, and batches of it, each with how many bytes had been read by then.
Opened = tuple[pa.Schema, Iterator[tuple[pa.RecordBatch, int]]]


class HandedTable(BatchesTable):
    """Batches that somebody hands over; `open_batches` opens them anew each time, where they can be had twice."""

    def __init__(
        self, label: str, open_batches: Callable[[], Opened], once: bool = False, expected: str = _EXPECTED
    ) -> None:
        self.label, self.once, self._open, self._expected = label, once, open_batches, expected
        # Opened for its schema, and read from there: some connections allow one open result at a time.
        self._waiting: Opened | None = self._opened()
        self._schema = self._waiting[0]

    def _opened(self) -> Opened:
        with reading(self.label, self._expected):
            return self._open()

    def _batches(
        self, names: Sequence[str], first_row: int, batch_rows: int
    ) -> Iterator[tuple[pa.RecordBatch, int, int]]:
        _, batches = self._waiting or self._opened()
        self._waiting = None
        row = 0
        for batch, taken in batches:
            yield batch, row, taken
            row += batch.num_rows


class ArrowFileTable(BatchesTable):
    """An Arrow IPC file. Only the columns that are selected are read, and a large batch of plain numbers in parts."""

    def __init__(self, path: str) -> None:
        self.label = self.path = path
        self.n_bytes = os.path.getsize(path)
        with reading(path, _EXPECTED), open(path, "rb") as file:
            self._blocks = self._check(file)
            self._read = range(len(self._blocks))
            with pa.OSFile(path) as again:
                self._schema = pa.ipc.open_file(again).schema

    def _batches(
        self, names: Sequence[str], first_row: int, batch_rows: int
    ) -> Iterator[tuple[pa.RecordBatch, int, int]]:
        # Columns that are not asked for are not read; of several of one name, the first is.
        places = {column.name: place for place, column in reversed(list(enumerate(self.columns)))}
        options = pa.ipc.IpcReadOptions(included_fields=[places[name] for name in names])
        with open(self.place, "rb", buffering=0) as file, pa.OSFile(self.place) as again:
            reader, row = pa.ipc.open_file(again, options=options), 0
            for number in self._read:
                done = (number + 1) * (self.n_bytes or 0) // len(self._blocks)
                for part in self._parts(file, number, names, batch_rows) or [reader.get_batch(number)]:
                    yield part, row, done
                    row += part.num_rows

    def spans(self, n_bytes: int) -> list[Span] | None:
        """Cut the file between batches, which the spans count."""
        count = len(self._blocks)
        return evenly(range(count), count, (self.n_bytes or 0) / count, n_bytes) if count else None

    def narrow(self, span: Span) -> None:
        """Read these batches only; rows are then counted from the first of them."""
        self._read = range(*span)
        self.label = f"{self.label}, batches {span[0]} to {span[1] - 1}"

    def _parts(
        self, file: BinaryIO, number: int, names: Sequence[str], batch_rows: int
    ) -> Iterator[pa.RecordBatch] | None:
        """Check a batch; return it in parts where it is large and can be read so."""
        start, length = self._blocks[number]
        batch = self._check_message(file, start, length)
        if batch is None or batch.rows <= _LARGE * batch_rows:
            return None
        columns = locate(batch, self._schema, names)
        if columns is None:
            return None
        body = start + length
        return read_slices(columns, batch.rows, batch_rows, lambda at, size: self._bytes(file, body + at, size))

    def _check(self, file: BinaryIO) -> list[tuple[int, int]]:
        """Return where the batches are; look at the dictionaries, which pyarrow reads with the first one."""
        end = file.seek(0, os.SEEK_END)
        tail = self._bytes(file, max(0, end - 10), 10)
        length = int.from_bytes(tail[:4], "little")
        if not 0 < length <= end - 10:
            raise SourceError(f"{self.label}: expected an Arrow file, got one that is cut short or damaged.")
        dictionaries, batches = blocks_of(self._bytes(file, end - 10 - length, length))
        for block in dictionaries:
            self._check_message(file, *block)
        return batches

    def _check_message(self, file: BinaryIO, start: int, length: int) -> Batch | None:
        """Refuse a message that does not lie in the file, or that unpacks to far more than it is."""
        metadata = metadata_of(self._bytes(file, start, length))
        body, size = start + length, body_length(metadata)
        if body + size > (self.n_bytes or 0):
            raise SourceError(f"{self.label}: expected a batch of {size} bytes, got a file that ends before.")
        return batch_of(metadata, size, lambda offset, many: self._bytes(file, body + offset, many), self.label)

    def _bytes(self, file: BinaryIO, start: int, size: int) -> bytes:
        if not 0 <= start <= start + size <= (self.n_bytes or 0):
            raise SourceError(f"{self.label}: expected {size} bytes at {start}, got a file of {self.n_bytes}.")
        file.seek(start)
        data = bytes(file.read(size))
        if len(data) != size:
            raise SourceError(
                f"{self.label}: expected {size} bytes at {start}, got {len(data)}: the file is cut short."
            )
        return data


def open_arrow_stream(open_stream: Callable[[], Peekable], label: str, path: str | None = None) -> BatchesTable:
    """Open an Arrow IPC stream: a file that can be read again, or, without a path, a pipe that cannot."""

    def batches() -> Opened:
        stream = open_stream()
        messages = Messages(stream, label)
        try:
            reader = pa.ipc.open_stream(pa.PythonFile(messages, mode="r"))
        except BaseException:
            stream.close()
            raise

        def each() -> Iterator[tuple[pa.RecordBatch, int]]:
            with messages:
                for batch in reader:
                    yield batch, stream.taken

        return reader.schema, each()

    table = HandedTable(label, batches, once=path is None)
    table.path, table.n_bytes = path, os.path.getsize(path) if path else None
    return table


_BATCH_ROWS = 1 << 16


def open_frame(frame: Any) -> BatchesTable:
    """Return the table of a frame; nothing of its library is imported that is not there already.

    What it hands over is checked batch by batch (`arrow.require_valid`): lengths, offsets, dictionaries. The addresses
    of a C stream are not: nobody can, and its library is trusted with them.
    """
    label = f"{type(frame).__module__.split('.')[0]} {type(frame).__name__}"

    def batches() -> Opened:
        reader = read_frame(frame)
        return reader.schema, ((batch, 0) for batch in reader)

    # A reader is used up by reading it; frames and relations give a new one each time.
    used_up = isinstance(frame, pa.RecordBatchReader)
    # Columns of mixed objects cannot.
    table = HandedTable(label, batches, used_up, "cannot be turned into Arrow columns; select some first")
    length = getattr(frame, "num_rows", None)
    if length is None and hasattr(frame, "__len__") and not hasattr(frame, "fetchall"):
        length = len(frame)
    table.n_rows = length if isinstance(length, int) else None
    return table


def is_frame(value: object) -> bool:
    """Whether `open_frame` knows what to do with it."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "collect_schema") or hasattr(value, "to_batches")


def read_frame(frame: Any) -> pa.RecordBatchReader:
    """Return a reader of a frame's batches, all columns."""
    if isinstance(frame, pa.RecordBatchReader):
        return frame
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):  # a polars LazyFrame
        return _read_lazily(frame)
    if isinstance(frame, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(frame.schema, [frame])
    if hasattr(frame, "to_arrow_reader"):  # a DuckDB relation
        return frame.to_arrow_reader(_BATCH_ROWS)
    if hasattr(frame, "fetch_arrow_reader"):  # the same, before DuckDB 2: it must be told to begin anew
        return frame.execute().fetch_arrow_reader(_BATCH_ROWS)
    if not hasattr(frame, "to_batches") and hasattr(frame, "to_arrow"):  # a polars frame
        frame = frame.to_arrow()
    if hasattr(frame, "to_batches"):  # an Arrow table or dataset
        return pa.RecordBatchReader.from_batches(frame.schema, frame.to_batches())
    return pa.RecordBatchReader.from_stream(frame)


def _read_lazily(frame: Any) -> pa.RecordBatchReader:
    """Stream a polars lazy frame where this polars can; else collect it."""
    if not hasattr(frame, "collect_batches"):
        return read_frame(frame.collect())
    schema = frame.head(0).collect().to_arrow().schema
    parts = frame.collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True)
    batches = (batch for part in parts for batch in part.to_arrow().to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)
