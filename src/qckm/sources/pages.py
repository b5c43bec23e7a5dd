"""How large the pages of a Parquet file say they are, read before pyarrow allocates what they ask for.

Values are unpacked a page at a time. A page's header says how large it will be, up to 2 GB; what the footer says of it
binds nobody. The footer is read here, too: pyarrow's own view of it aborts the process where a compression is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from qckm.errors import SourceError
from qckm.sources.claims import require_modest_size
from qckm.sources.thrift import STRUCT, read_list, read_struct, skip

# Numbers of fields, from parquet.thrift.
_ROW_GROUPS, _COLUMNS, _METADATA = 4, 1, 3
_CODEC, _SIZE, _DATA_START, _DICTIONARY_START = 4, 7, 9, 11
_UNPACKED, _PACKED = 2, 3
# No compression, and Snappy: they cannot unpack to more than a few dozen times what they are.
_HARMLESS = (0, 1)
_LOOK, _LONGEST_HEADER = 1 << 12, 1 << 24


@dataclass(frozen=True)
class Chunk:
    """Where the pages of a column are, in one row group."""

    start: int
    size: int
    codec: int


def read_chunks(file: Any, size: int, columns: set[int]) -> list[list[Chunk]]:
    """Return the chunks of some columns, by their number, of each row group.

    Parameters
    ----------
    file : binary file
    size : int
        Its bytes.
    columns : set of int
    """
    file.seek(size - 8)
    length = int.from_bytes(file.read(4), "little")
    if not 0 < length <= size - 12:
        raise ValueError("the footer is longer than the file")
    file.seek(size - 8 - length)
    footer = file.read(length)

    def group(data: bytes, at: int) -> tuple[int, list[Chunk]]:
        at, count = read_list(data, at)
        found = []
        for number in range(count):
            if number in columns:
                at, chunk = read_struct(data, at, {_METADATA: read_struct})
                found.append(_chunk(chunk.get(_METADATA, {})))
            else:
                at = skip(data, at, STRUCT)
        return at, found

    def groups(data: bytes, at: int) -> tuple[int, list[list[Chunk]]]:
        at, count = read_list(data, at)
        found = []
        for _ in range(count):
            at, fields = read_struct(data, at, {_COLUMNS: group})
            found.append(fields.get(_COLUMNS, []))
        return at, found

    found: list[list[Chunk]] = read_struct(footer, 0, {_ROW_GROUPS: groups})[1].get(_ROW_GROUPS, [])
    return found


def _chunk(fields: dict[int, int]) -> Chunk:
    # Some writers say 0 where there is no dictionary.
    start = min(fields.get(_DATA_START, 0), fields.get(_DICTIONARY_START) or fields.get(_DATA_START, 0))
    return Chunk(start, fields.get(_SIZE, 0), fields.get(_CODEC, 0))


def require_modest_pages(file: Any, size: int, chunks: list[Chunk], label: str) -> None:
    """Refuse columns of a row group whose largest pages together unpack to far more than they are."""
    packed = unpacked = 0
    for chunk in chunks:
        if chunk.codec not in _HARMLESS:
            if not 0 < chunk.start <= chunk.start + chunk.size <= size:
                raise SourceError(f"{label}: expected pages within {size} bytes, got {chunk.size} at {chunk.start}.")
            packed += chunk.size
            unpacked += max(_sizes(file, chunk), default=0)
    require_modest_size(min(packed, size), unpacked, "row groups with pages", label)


def _sizes(file: Any, chunk: Chunk) -> Iterator[int]:
    """Yield how large the pages of a chunk will be."""
    at, end = chunk.start, chunk.start + chunk.size
    while at < end:
        length, fields = _header(file, at, end)
        unpacked, packed = fields.get(_UNPACKED, -1), fields.get(_PACKED, -1)
        if unpacked < 0 or packed < 0:
            raise ValueError(f"expected sizes of pages, got {unpacked} and {packed}")
        yield unpacked
        at += length + packed


def _header(file: Any, at: int, end: int) -> tuple[int, dict[int, int]]:
    look = _LOOK
    while True:
        file.seek(at)
        try:
            return read_struct(file.read(min(look, end - at)), 0)
        except IndexError:  # it goes on
            if look >= min(_LONGEST_HEADER, end - at):
                raise ValueError("the header of a page has no end") from None
            look *= 16
