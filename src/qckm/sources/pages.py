"""How large the pages of a Parquet file say they are, read before pyarrow allocates what they ask for.

Values are unpacked a page at a time. A page's header (Thrift's compact protocol) says how large it will be, up to 2 GB;
what the file's footer says of that binds nobody.
"""

from __future__ import annotations

from typing import Any

from qckm.errors import SourceError
from qckm.sources.claims import require_modest_size

# These cannot unpack to more than a few dozen times what they are.
_HARMLESS = ("UNCOMPRESSED", "SNAPPY")
_LOOK, _LONGEST_HEADER, _DEEPEST = 1 << 12, 1 << 24, 16


def require_modest_pages(file: Any, size: int, group: Any, columns: set[str], label: str) -> None:
    """Refuse a row group of whose columns the largest pages together unpack to far more than they are.

    Parameters
    ----------
    file : binary file
    size : int
        Its bytes.
    group : pyarrow.parquet.RowGroupMetaData
    columns : set of str
        The columns that are read, by the first part of their path.
    label : str
        What errors call the file.
    """
    packed = unpacked = 0
    for number in range(group.num_columns):
        chunk = group.column(number)
        if chunk.path_in_schema.split(".")[0] in columns and chunk.compression not in _HARMLESS:
            packed += chunk.total_compressed_size
            unpacked += _largest_page(file, size, chunk, label)
    require_modest_size(packed, unpacked, "row groups with pages", label)


def _largest_page(file: Any, size: int, chunk: Any, label: str) -> int:
    starts = [chunk.data_page_offset, chunk.dictionary_page_offset if chunk.has_dictionary_page else None]
    at = min(start for start in starts if start)
    end = at + chunk.total_compressed_size
    if not 0 < at <= end <= size:
        raise SourceError(f"{label}: expected pages within the file's {size} bytes, got some from {at} to {end}.")
    largest = 0
    while at < end:
        unpacked, packed, length = _header(file, at, end)
        if unpacked < 0 or packed < 0:
            raise SourceError(f"{label}: expected sizes of pages, got {unpacked} and {packed}.")
        largest = max(largest, unpacked)
        at += length + packed
    return largest


def _header(file: Any, at: int, end: int) -> tuple[int, int, int]:
    """Return how large a page is unpacked, how large it is, and the length of its header."""
    look = _LOOK
    while True:
        file.seek(at)
        data = file.read(min(look, end - at))
        try:
            length, fields = _struct(data, 0)
            return fields.get(2, -1), fields.get(3, -1), length
        except IndexError:  # the header goes on
            if look >= min(_LONGEST_HEADER, end - at):
                raise
            look *= 16


def _struct(data: bytes, at: int, depth: int = 0) -> tuple[int, dict[int, int]]:
    """Pass over a struct; return where it ends, and its fields that are whole numbers.

    This is done for every page, hence the plain code.
    """
    if depth > _DEEPEST:
        raise ValueError("a page's header is nested too deeply")
    found: dict[int, int] = {}
    field = 0
    while head := data[at]:
        kind, step = head & 15, head >> 4
        at += 1
        if step:
            field += step
        else:
            at, field = _whole(data, at)
        if 4 <= kind <= 6:
            at, found[field] = _whole(data, at)
        else:
            at = _skip(data, at, kind, depth)
    return at + 1, found


def _skip(data: bytes, at: int, kind: int, depth: int) -> int:
    """Pass over a value; return where it ends."""
    if kind in (1, 2):  # true, false: their kind is all
        return at
    if kind == 12:
        return _struct(data, at, depth + 1)[0]
    if kind == 8:
        at, size = _varint(data, at)
        return at + size
    if kind in (3, 7):
        return at + (1 if kind == 3 else 8)
    if kind in (4, 5, 6):
        return _varint(data, at)[0]
    if kind in (9, 10):
        head = data[at]
        at, count = _varint(data, at + 1) if head >> 4 == 15 else (at + 1, head >> 4)
        inner = 3 if head & 15 in (1, 2) else head & 15
        for _ in range(count):
            at = _skip(data, at, inner, depth + 1)
            if at > len(data):
                raise IndexError
        return at
    raise ValueError(f"a page's header has a field of the unknown kind {kind}")


def _whole(data: bytes, at: int) -> tuple[int, int]:
    at, value = _varint(data, at)
    return at, (value >> 1) ^ -(value & 1)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) >= 128:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise ValueError("a page's header has a number that is too long")
    return at + 1, value | byte << shift
