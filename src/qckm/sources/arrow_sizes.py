"""What Arrow IPC data say of their own sizes, read before pyarrow allocates what they ask for.

A body that is compressed says of each buffer how large it will be, and a file where its messages lie. Of the metadata
(FlatBuffers: tables of offsets) as much is read here as tells these numbers; pyarrow reads the rest.
"""

from __future__ import annotations

import io
import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import types

from qckm.errors import SourceError
from qckm.sources.arrow import require_modest_size
from qckm.sources.raw import Peekable
from qckm.sources.table import reading

_CONTINUATION = b"\xff\xff\xff\xff"
_DICTIONARY, _RECORDS = 2, 3


class _Table:
    """A FlatBuffers table: numbers and offsets, found by the number of their field."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - self._number("<i", at)

    @classmethod
    def root(cls, data: bytes) -> _Table:
        """Return the table that the data are."""
        (at,) = struct.unpack_from("<I", data, 0)
        return cls(data, at)

    def _number(self, kind: str, at: int) -> int:
        if at < 0:
            raise struct.error("an offset points before the data")
        return int(struct.unpack_from(kind, self._data, at)[0])

    def _place(self, field: int) -> int:
        """Return where a field is; 0 if it is not there."""
        at = 4 + 2 * field
        if at >= self._number("<H", self._fields):
            return 0
        offset = self._number("<H", self._fields + at)
        return self._at + offset if offset else 0

    def number(self, field: int, kind: str) -> int:
        """Return a number; 0 if it is not there."""
        place = self._place(field)
        return self._number(kind, place) if place else 0

    def table(self, field: int) -> _Table | None:
        """Return a table inside this one."""
        place = self._place(field)
        return _Table(self._data, place + self._number("<I", place)) if place else None

    def structs(self, field: int, kind: str) -> Iterator[tuple[int, ...]]:
        """Yield the members of a vector of structs."""
        place = self._place(field)
        if not place:
            return
        start = place + self._number("<I", place)
        count = self._number("<I", start)
        for number in range(count):
            yield struct.unpack_from(kind, self._data, start + 4 + number * struct.calcsize(kind))


def blocks_of(footer: bytes) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return (offset, length of the metadata) of a file's dictionaries, and of its record batches."""
    table = _Table.root(footer)
    dictionaries, batches = (
        [(offset, length) for offset, length, _ in table.structs(field, "<qi4xq")] for field in (2, 3)
    )
    return dictionaries, batches


def body_length(metadata: bytes) -> int:
    """Return how long the body of a message says it is."""
    length = _Table.root(metadata).number(3, "<q")
    if length < 0:
        raise SourceError(f"expected a body, got {length} bytes of it")
    return length


@dataclass(frozen=True)
class Batch:
    """What a message says of its record batch: rows, (values, nulls) of arrays, (offset, length) of buffers."""

    rows: int
    arrays: list[tuple[int, ...]]
    buffers: list[tuple[int, ...]]
    compressed: bool


def batch_of(metadata: bytes, body: int, read: Callable[[int, int], bytes], label: str) -> Batch | None:
    """Return the batch, or the dictionary, of a message; None of one that has none.

    It is refused if its buffers are not in its body, of so many bytes, or would unpack to far more than it is.
    `read(offset, size)` gives bytes of the body.
    """
    message = _Table.root(metadata)
    kind, records = message.number(1, "<B"), message.table(2)
    if kind == _DICTIONARY and records is not None:
        records = records.table(1)
    if kind not in (_DICTIONARY, _RECORDS) or records is None:
        return None
    nodes, buffers = list(records.structs(1, "<qq")), list(records.structs(2, "<qq"))
    compressed, unpacked = records.table(3) is not None, 0
    for offset, length in buffers:
        if not 0 <= offset <= offset + length <= body:
            raise SourceError(f"{label}: expected buffers in {body} bytes, got one of {length} at {offset}.")
        if compressed and length >= 8:
            (size,) = struct.unpack("<q", read(offset, 8))
            if size < -1:
                raise SourceError(f"{label}: expected the size of a buffer, got {size}.")
            unpacked += length - 8 if size == -1 else size
    require_modest_size(body, unpacked, "batches", label)
    return Batch(records.number(0, "<q"), nodes, buffers, compressed)


def metadata_of(prefixed: bytes) -> bytes:
    """Return the metadata of a message without what precedes them: a mark and their length, or, of old, the length."""
    return prefixed[8:] if prefixed.startswith(_CONTINUATION) else prefixed[4:]


# A read asks for no more than this at a time: a length that is wrong must not be allocated.
_PIECE = 1 << 24
_LONGEST_METADATA = 1 << 28


class Messages(io.RawIOBase):
    """The bytes of a stream, message by message. Reads wait until they are full, as pyarrow expects."""

    def __init__(self, stream: Peekable, label: str) -> None:
        self._stream, self._label = stream, label
        self._ready: deque[bytes] = deque()
        self._ended = False

    def readable(self) -> bool:
        """Say yes: pyarrow asks."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """Return so many bytes, or what is left."""
        wanted, found = float("inf") if size is None or size < 0 else size, []
        while wanted > 0 and (self._ready or self._next()):
            piece = self._ready.popleft()
            if len(piece) > wanted:
                self._ready.appendleft(piece[int(wanted) :])
                piece = piece[: int(wanted)]
            found.append(piece)
            wanted -= len(piece)
        return found[0] if len(found) == 1 else b"".join(found)

    def _next(self) -> bool:
        """Take a message from the stream; return whether there was one."""
        if self._ended:
            return False
        start = self._exactly(4)
        length = start
        if start == b"\xff\xff\xff\xff":
            length = self._exactly(4)
        with reading(self._label, "expected an Arrow stream"):
            (size,) = struct.unpack("<i", length) if length else (0,)
            if not 0 <= size <= _LONGEST_METADATA:
                raise SourceError(f"{self._label}: expected the metadata of a message, got {size} bytes of them.")
            self._ready.append(start + length if start is not length else start)
            self._ended = not size
            if size:
                metadata = self._exactly(size)
                body = self._exactly(body_length(metadata))
                batch_of(metadata, len(body), lambda offset, many: body[offset : offset + many], self._label)
                self._ready.extend(part for part in (metadata, body) if part)
        return True

    def _exactly(self, size: int) -> bytes:
        """Return so many bytes; fewer where the stream ends."""
        parts: list[bytes] = []
        while size > 0 and (part := self._stream.read(min(size, _PIECE))):
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Close what is below, too."""
        if not self.closed:
            self._stream.close()
        super().close()


# Some rows of a large batch in a file: its columns lie there one after the other, and can be read in parts, where they
# are plain numbers and not compressed. Others are read with their batch.

# Bits of a column's nulls are read in whole bytes.
_ROWS_PER_BYTE = 8


@dataclass(frozen=True)
class Column:
    """How many nulls a column has, and where their bits and its numbers lie in a batch: (offset, length)."""

    name: str
    kind: pa.DataType
    n_nulls: int
    nulls: tuple[int, ...]
    numbers: tuple[int, ...]


def locate(batch: Batch, schema: pa.Schema, names: Sequence[str]) -> list[Column] | None:
    """Return where columns lie; None where they cannot be read in parts."""
    if batch.compressed:
        return None
    found, node, buffer = {}, 0, 0
    for field in schema:
        size = _footprint(field.type)
        if size is None:
            return None
        if field.name in names:
            kind = field.type
            if not (types.is_integer(kind) or types.is_floating(kind)):
                return None
            length, n_nulls = batch.arrays[node]
            column = Column(field.name, kind, n_nulls, *batch.buffers[buffer : buffer + 2])
            if length != batch.rows or not _fits(column, batch.rows):
                return None  # pyarrow will say what is wrong
            found[field.name] = column
        node, buffer = node + size[0], buffer + size[1]
    return [found[name] for name in names]


def read_slices(
    columns: Sequence[Column], n_rows: int, height: int, read: Callable[[int, int], bytes]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a batch, about `height` at a time; `read(offset, size)` gives bytes of its body."""
    height = max(_ROWS_PER_BYTE, height - height % _ROWS_PER_BYTE)
    left = [column.n_nulls for column in columns]
    for start in range(0, n_rows, height):
        rows = min(height, n_rows - start)
        arrays = [_slice(column, start, rows, read) for column in columns]
        left = [before - array.null_count for before, array in zip(left, arrays, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])
    for column, wrong in zip(columns, left, strict=True):
        if wrong:
            raise ValueError(f"expected {column.n_nulls} nulls in column {column.name!r}, got {column.n_nulls - wrong}")


def _slice(column: Column, start: int, rows: int, read: Callable[[int, int], bytes]) -> pa.Array:
    width = column.kind.bit_width // 8
    numbers = pa.py_buffer(read(column.numbers[0] + start * width, rows * width))
    nulls = None
    if column.n_nulls:  # without any, whatever bits there are mean nothing, as to pyarrow
        nulls = pa.py_buffer(read(column.nulls[0] + start // _ROWS_PER_BYTE, -(-rows // _ROWS_PER_BYTE)))
    return pa.Array.from_buffers(column.kind, rows, [nulls, numbers])


def _fits(column: Column, rows: int) -> bool:
    enough = column.n_nulls == 0 or (column.n_nulls > 0 and column.nulls[1] >= -(-rows // _ROWS_PER_BYTE))
    return (
        enough and column.numbers[1] >= rows * (column.kind.bit_width // 8) and min(*column.nulls, *column.numbers) >= 0
    )


def _footprint(kind: pa.DataType) -> tuple[int, int] | None:
    """Return how many arrays and buffers a column is made of; None of what is too special."""
    if types.is_dictionary(kind) or types.is_primitive(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        return 1, 2
    if types.is_null(kind):
        return 1, 0
    if types.is_fixed_size_binary(kind):
        return 1, 2
    if any(test(kind) for test in (types.is_string, types.is_binary, types.is_large_string, types.is_large_binary)):
        return 1, 3
    return None
