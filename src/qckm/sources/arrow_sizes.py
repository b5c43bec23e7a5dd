"""What Arrow IPC data say of their own sizes, read before pyarrow allocates what they ask for.

A body that is compressed says of each buffer how large it will be, and a file where its messages lie. Of the metadata
(FlatBuffers: tables of offsets) as much is read here as tells these numbers; pyarrow reads the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from qckm.common.text import format_bytes
from qckm.errors import SourceError

# A file may ask for this much memory at a time, or for so many times its own bytes.
MOST_UNPACKED, _MOST_TIMES = 1 << 29, 64
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
    """What a message says of its record batch: rows, values and nulls of arrays, (offset, length) of buffers."""

    rows: int
    lengths: list[int]
    nulls: list[int]
    buffers: list[tuple[int, int]]
    compressed: bool


def batch_of(metadata: bytes) -> Batch | None:
    """Return the batch, or the dictionary, of a message; None of one that has none."""
    message = _Table.root(metadata)
    kind, records = message.number(1, "<B"), message.table(2)
    if kind == _DICTIONARY and records is not None:
        records = records.table(1)
    if kind not in (_DICTIONARY, _RECORDS) or records is None:
        return None
    nodes = [(length, nulls) for length, nulls in records.structs(1, "<qq")]
    buffers = [(offset, length) for offset, length in records.structs(2, "<qq")]
    lengths, nulls = [length for length, _ in nodes], [many for _, many in nodes]
    return Batch(records.number(0, "<q"), lengths, nulls, buffers, records.table(3) is not None)


def require_modest(batch: Batch | None, body: int, read: Callable[[int, int], bytes], label: str) -> None:
    """Refuse a batch whose buffers are not in its body, of so many bytes, or would unpack to far more than it is.

    `read(offset, size)` gives bytes of the body.
    """
    if batch is None:
        return
    unpacked = 0
    for offset, length in batch.buffers:
        if not 0 <= offset <= offset + length <= body:
            raise SourceError(f"{label}: expected buffers in {body} bytes, got one of {length} at {offset}.")
        if batch.compressed and length >= 8:
            (size,) = struct.unpack("<q", read(offset, 8))
            if size < -1:
                raise SourceError(f"{label}: expected the size of a buffer, got {size}.")
            unpacked += length - 8 if size == -1 else size
    require_modest_size(body, unpacked, "batches", label)


def require_modest_size(packed: int, unpacked: int, what: str, label: str) -> None:
    """Refuse what unpacks to far more bytes than it is, unless it is not much."""
    if unpacked > max(MOST_UNPACKED, _MOST_TIMES * packed):
        raise SourceError(
            f"{label}: expected {what} of at most {format_bytes(MOST_UNPACKED)}, got {format_bytes(packed)} that "
            f"unpack to {format_bytes(unpacked)}. Write smaller ones."
        )


def metadata_of(prefixed: bytes) -> bytes:
    """Return the metadata of a message without what precedes them: a mark and their length, or, of old, the length."""
    return prefixed[8:] if prefixed.startswith(_CONTINUATION) else prefixed[4:]
