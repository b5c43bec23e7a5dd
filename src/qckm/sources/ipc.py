"""Arrow IPC: files (Feather), which hold their batches in any order, and streams, also from a pipe."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from qckm.errors import SourceError
from qckm.sources.arrow import columns_of, rows_of
from qckm.sources.raw import Peekable
from qckm.sources.table import Chunk, Column, Selection, Table


class BatchesTable(Table):
    """Arrow record batches: what `open_batches` gives, each time it is called, is (schema, batches, bytes read)."""

    def __init__(
        self,
        label: str,
        open_batches: Callable[[], tuple[pa.Schema, Iterator[Any], Callable[[], int]]],
        once: bool = False,
    ) -> None:
        self.label, self.once, self._open = label, once, open_batches
        # Opened for its schema, and read from there: some connections allow one open result at a time.
        self._waiting = self._opened()
        self._schema = self._waiting[0]

    def _opened(self) -> Any:
        try:
            return self._open()
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"{self.label}: expected Arrow data: {error}") from error

    def columns(self) -> list[Column]:
        """List the columns."""
        return columns_of(self._schema)

    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield rows; those before `first_row` are read and dropped."""
        _, batches, taken = self._waiting or self._opened()
        self._waiting = None
        row = 0
        try:
            for batch in batches:
                start = min(batch.num_rows, max(0, first_row - row))
                row += batch.num_rows
                for at in range(start, batch.num_rows, batch_rows):
                    yield rows_of(batch.slice(at, batch_rows), selection), taken()
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"{self.label}: cannot be read on: {error}") from error


def open_arrow_file(path: str) -> BatchesTable:
    """Open an Arrow IPC file, mapped."""
    size = os.path.getsize(path)

    def batches() -> tuple[pa.Schema, Iterator[Any], Callable[[], int]]:
        reader = pa.ipc.open_file(pa.memory_map(path))
        done = 0

        def each() -> Iterator[Any]:
            nonlocal done
            for number in range(reader.num_record_batches):
                done = (number + 1) * size // reader.num_record_batches
                yield reader.get_batch(number)

        return reader.schema, each(), lambda: done

    table = BatchesTable(path, batches)
    table.path, table.n_bytes = path, size
    return table


def open_arrow_stream(open_stream: Callable[[], Peekable], label: str, path: str | None = None) -> BatchesTable:
    """Open an Arrow IPC stream: a file that can be read again, or, without a path, a pipe that cannot."""

    def batches() -> tuple[pa.Schema, Iterator[Any], Callable[[], int]]:
        stream = open_stream()
        try:
            reader = pa.ipc.open_stream(pa.PythonFile(stream, mode="r"))
        except BaseException:
            stream.close()
            raise

        def each() -> Iterator[Any]:
            with stream:
                yield from reader

        return reader.schema, each(), lambda: stream.taken

    table = BatchesTable(label, batches, once=path is None)
    table.path, table.n_bytes = path, os.path.getsize(path) if path else None
    return table
