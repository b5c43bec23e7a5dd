"""Arrow batches: of IPC files (Feather) and streams, also from a pipe, and of whatever else hands some over.

Files are read, not mapped: one that is cut short while it is mapped kills the process (SIGBUS).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa

from qckm.errors import SourceError
from qckm.sources.arrow import columns_of, kept_batch, plain_type, require_valid, rows_of
from qckm.sources.arrow_sizes import (
    Batch,
    Messages,
    batch_of,
    blocks_of,
    body_length,
    locate,
    metadata_of,
    read_slices,
    require_modest,
)
from qckm.sources.raw import Peekable
from qckm.sources.table import Chunk, Kept, Selection, Span, Table, evenly, reading

_EXPECTED = "expected Arrow data"
# A batch of more than so many batches of ours is read in parts, where it can be.
_LARGE = 4


class BatchesTable(Table):
    """Arrow record batches: what `open_batches` gives, each time it is called, is (schema, batches, bytes read)."""

    def __init__(
        self,
        label: str,
        open_batches: Callable[[], tuple[pa.Schema, Iterator[pa.RecordBatch], Callable[[], int]]],
        once: bool = False,
        expected: str = _EXPECTED,
    ) -> None:
        self.label, self.once, self._open, self._expected = label, once, open_batches, expected
        # Opened for its schema, and read from there: some connections allow one open result at a time.
        self._waiting = self._opened()
        self.columns = columns_of(self._waiting[0])

    def _opened(self) -> Any:
        with reading(self.label, self._expected):
            return self._open()

    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield rows; those before `first_row` are read and dropped."""
        _, batches, taken = self._waiting or self._opened()
        self._waiting = None
        yield from _chunks(self.label, batches, taken, selection, first_row, batch_rows)

    def keep(self, names: Sequence[str]) -> Kept:
        """Return columns of any kind as they are."""
        schema, batches, _ = self._opened()
        return _kept(self.label, schema, batches, names)


class ArrowFileTable(Table):
    """An Arrow IPC file. Only the columns that are selected are read, and a large batch of plain numbers in parts."""

    def __init__(self, path: str) -> None:
        self.label = self.path = path
        self.n_bytes = os.path.getsize(path)
        with reading(path, _EXPECTED), open(path, "rb") as file:
            self._batches = self._check(file)
            self._read = range(len(self._batches))
            with pa.OSFile(path) as again:
                self.columns = columns_of(pa.ipc.open_file(again).schema)

    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield rows; those before `first_row` are read and dropped."""
        options, done = self._options(selection.names), 0
        with open(self.place, "rb", buffering=0) as file, pa.OSFile(self.place) as again:
            reader, schema = pa.ipc.open_file(again, options=options), pa.ipc.open_file(again).schema

            def each() -> Iterator[pa.RecordBatch]:
                nonlocal done
                for number in self._read:
                    done = (number + 1) * (self.n_bytes or 0) // len(self._batches)
                    parts = self._parts(file, number, schema, selection.names, batch_rows)
                    yield from parts or [reader.get_batch(number)]

            yield from _chunks(self.label, each(), lambda: done, selection, first_row, batch_rows)

    def keep(self, names: Sequence[str]) -> Kept:
        """Return columns of any kind as they are."""

        def each() -> Iterator[pa.RecordBatch]:
            with open(self.place, "rb", buffering=0) as file, pa.OSFile(self.place) as again:
                reader = pa.ipc.open_file(again, options=options)
                for number in self._read:
                    self._check_message(file, *self._batches[number])
                    yield reader.get_batch(number)

        options = self._options(names)
        with pa.OSFile(self.place) as file:
            schema = pa.ipc.open_file(file).schema
        return _kept(self.label, schema, each(), names)

    def spans(self, n_bytes: int) -> list[Span] | None:
        """Cut the file between batches, which the spans count."""
        count = len(self._batches)
        return evenly(range(count), count, (self.n_bytes or 0) / count, n_bytes) if count else None

    def narrow(self, span: Span) -> None:
        """Read these batches only; rows are then counted from the first of them."""
        self._read = range(*span)
        self.label = f"{self.label}, batches {span[0]} to {span[1] - 1}"

    def _options(self, names: Sequence[str]) -> pa.ipc.IpcReadOptions:
        """Return what has these columns read, and no others; of several of one name, the first."""
        places = {column.name: place for place, column in reversed(list(enumerate(self.columns)))}
        return pa.ipc.IpcReadOptions(included_fields=[places[name] for name in names])

    def _parts(
        self, file: BinaryIO, number: int, schema: pa.Schema, names: Sequence[str], batch_rows: int
    ) -> Iterator[pa.RecordBatch] | None:
        """Check a batch; return it in parts where it is large and can be read so."""
        start, length = self._batches[number]
        batch = self._check_message(file, start, length)
        if batch is None or batch.rows <= _LARGE * batch_rows:
            return None
        columns = locate(batch, schema, names)
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
        batch = batch_of(metadata)
        require_modest(batch, size, lambda offset, many: self._bytes(file, body + offset, many), self.label)
        return batch

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

    def batches() -> tuple[pa.Schema, Iterator[pa.RecordBatch], Callable[[], int]]:
        stream = open_stream()
        messages = Messages(stream, label)
        try:
            reader = pa.ipc.open_stream(pa.PythonFile(messages, mode="r"))
        except BaseException:
            stream.close()
            raise

        def each() -> Iterator[pa.RecordBatch]:
            with messages:
                yield from reader

        return reader.schema, each(), lambda: stream.taken

    table = BatchesTable(label, batches, once=path is None)
    table.path, table.n_bytes = path, os.path.getsize(path) if path else None
    return table


def _kept(label: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch], names: Sequence[str]) -> Kept:
    wanted = pa.schema([pa.field(name, plain_type(schema.field(name).type)) for name in names])

    def checked() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            require_valid(batch, names, label)
            yield kept_batch(batch, wanted)

    return wanted, checked()


def _chunks(
    label: str,
    batches: Iterator[pa.RecordBatch],
    taken: Callable[[], int],
    selection: Selection,
    first_row: int,
    batch_rows: int,
) -> Iterator[Chunk]:
    """Yield the rows of batches that are checked, from one row on, so many at a time."""
    row = 0
    with reading(label, "cannot be read on"):
        for batch in batches:
            require_valid(batch, selection.names, label)
            start = min(batch.num_rows, max(0, first_row - row))
            row += batch.num_rows
            for at in range(start, batch.num_rows, batch_rows):
                yield rows_of(batch.slice(at, batch_rows), selection), taken()


_BATCH_ROWS = 1 << 16


def open_frame(frame: Any) -> BatchesTable:
    """Return the table of a frame; nothing of its library is imported that is not there already.

    What it hands over is checked batch by batch (`arrow.require_valid`): lengths, offsets, dictionaries. The addresses
    of a C stream are not: nobody can, and its library is trusted with them.
    """
    label = f"{type(frame).__module__.split('.')[0]} {type(frame).__name__}"

    def batches() -> tuple[pa.Schema, Iterator[pa.RecordBatch], Callable[[], int]]:
        reader = read_frame(frame)
        return reader.schema, iter(reader), lambda: 0

    # A reader is used up by reading it; frames and relations give a new one each time.
    used_up = isinstance(frame, pa.RecordBatchReader)
    # Columns of mixed objects cannot.
    table = BatchesTable(label, batches, used_up, "cannot be turned into Arrow columns; select some first")
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
