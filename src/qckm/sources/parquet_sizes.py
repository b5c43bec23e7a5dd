"""What a Parquet file says of its own sizes in footer and pages (Thrift's compact protocol), believed by nobody.

pyarrow has functions for the footer, but some of them end the process where a file is damaged in certain ways; and we
have to know codecs and sizes before it allocates what pages ask for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from qckm.errors import SourceError
from qckm.sources.arrow import require_modest_size

_DEEPEST = 16
# The kinds of values. A boolean is its kind, and has no bytes; but in a list it has one.
_TRUE, _FALSE, _BYTE, _INT16, INT32, INT64, _DOUBLE, BINARY, LIST, _SET, STRUCT = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12)
_WHOLE = (_INT16, INT32, INT64)

# From (data, where a value is) to (where it ends, the value).
Reader = Callable[[bytes, int], tuple[int, Any]]
# The fields of a struct that are read, by their number: of what kind they must be, and by what they are read.
Fields = dict[int, tuple[int, Reader]]


def read_struct(data: bytes, at: int, fields: Fields) -> tuple[int, dict[int, Any]]:
    """Return where a struct ends, and those of its fields that are wanted and there."""
    found: dict[int, Any] = {}
    field = 0
    while head := data[at]:
        kind, step = head & 15, head >> 4
        at += 1
        if step:
            field += step
        else:
            at, field = read_whole(data, at)
        if field not in fields:
            at = skip(data, at, kind)
            continue
        expected, read = fields[field]
        if field in found or kind != expected:  # other readers might take the other one, or none
            raise ValueError(f"got a field twice, or of another kind: {field}")
        at, found[field] = read(data, at)
    return at + 1, found


def struct_of(fields: Fields) -> tuple[int, Reader]:
    """Return how a struct inside another is read."""
    return STRUCT, lambda data, at: read_struct(data, at, fields)


def structs_of(fields: Fields, wanted: Callable[[int], bool] | None = None) -> tuple[int, Reader]:
    """Return how a list of structs is read: all of them, or those whose number in the list is wanted."""

    def read(data: bytes, at: int) -> tuple[int, list[dict[int, Any]]]:
        at, count, kind = _read_list_head(data, at)
        if kind != STRUCT:
            raise ValueError("expected a list of structs")
        found = []
        for number in range(count):
            if wanted is None or wanted(number):
                at, struct = read_struct(data, at, fields)
                found.append(struct)
            else:
                at = skip(data, at, STRUCT)
        return at, found

    return LIST, read


def skip(data: bytes, at: int, kind: int, depth: int = 0) -> int:
    """Return where a value ends."""
    if depth > _DEEPEST:
        raise ValueError("values are nested too deeply")
    if kind == STRUCT:
        while head := data[at]:
            at += 1
            if head < 16:
                at = _skip_varint(data, at)
            kind = head & 15
            if kind in _WHOLE:
                while data[at] >= 128:
                    at += 1
                at += 1
            elif kind > _FALSE:
                at = skip(data, at, kind, depth + 1)
        return at + 1
    if kind == BINARY:
        at, size = _read_varint(data, at)
        return at + size
    if kind in _WHOLE:
        return _skip_varint(data, at)
    if kind in (LIST, _SET):
        at, count, inner = _read_list_head(data, at)
        if inner in (_TRUE, _FALSE):
            inner = _BYTE
        for _ in range(count):
            at = skip(data, at, inner, depth + 1)
            if at > len(data):
                raise IndexError("a list goes on beyond its end")
        return at
    if kind in (_TRUE, _FALSE):
        return at
    if kind in (_BYTE, _DOUBLE):
        return at + (1 if kind == _BYTE else 8)
    raise ValueError(f"unknown kind {kind} of a value")


def read_whole(data: bytes, at: int) -> tuple[int, int]:
    """Return where a whole number ends, and the number."""
    at, value = _read_varint(data, at)
    return at, (value >> 1) ^ -(value & 1)


def read_bytes(data: bytes, at: int) -> tuple[int, bytes]:
    """Return where a text ends, and its bytes."""
    at, size = _read_varint(data, at)
    if at + size > len(data):
        raise IndexError("a text goes on beyond its end")
    return at + size, data[at : at + size]


def _read_list_head(data: bytes, at: int) -> tuple[int, int, int]:
    """Return where the first of a list's values is, how many there are, and of what kind."""
    head = data[at]
    at, count = _read_varint(data, at + 1) if head >> 4 == 15 else (at + 1, head >> 4)
    return at, count, head & 15


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return where a number without a sign ends, and the number."""
    value = shift = 0
    while (byte := data[at]) >= 128:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise ValueError("a number is too long")
    return at + 1, value | byte << shift


def _skip_varint(data: bytes, at: int) -> int:
    while data[at] >= 128:
        at += 1
    return at + 1


MAGIC = b"PAR1"
_TAIL = 8  # the footer's length, and the magic

# Numbers of fields, from parquet.thrift.
_SCHEMA, _GROUPS, _NOTES = 2, 4, 5
_REPETITION, _CHILDREN = 3, 5
_COLUMNS, _ROWS = 1, 3
_METADATA = 3
_KIND, _CODEC, _VALUES, _SIZE, _DATA_START, _DICTIONARY_START = 1, 4, 5, 7, 9, 11
_KEY, _VALUE = 1, 2
_REPEATED = 2

_INT, _LONG, _TEXT = (INT32, read_whole), (INT64, read_whole), (BINARY, read_bytes)
_FIELD: Fields = {_REPETITION: _INT, _CHILDREN: _INT}
_CHUNK: Fields = {_KIND: _INT, _CODEC: _INT, _VALUES: _LONG, _SIZE: _LONG, _DATA_START: _LONG, _DICTIONARY_START: _LONG}
_NOTE: Fields = {_KEY: _TEXT, _VALUE: _TEXT}


@dataclass(frozen=True)
class PageChunk:
    """A column in a group of rows: type and codec by their numbers in parquet.thrift, values, and where it lies."""

    kind: int
    codec: int
    values: int
    start: int
    size: int


@dataclass(frozen=True)
class Footer:
    """What matters of it: for each group its rows and chunks, whether fields repeat or have children, and the notes."""

    rows: tuple[int, ...]
    chunks: tuple[tuple[PageChunk, ...], ...]
    nested: bool
    notes: tuple[tuple[bytes, bytes], ...]  # a key may be there twice: readers take one or the other

    def require_as_many_values(self) -> None:
        """Refuse columns of more or fewer values than their group has rows: readers make different things of them.

        To be asked of all groups before any is read: the rows of a group move with the values of those before it.
        """
        for rows, chunks in zip(self.rows, self.chunks, strict=True):
            wrong = [chunk.values for chunk in chunks if chunk.values != rows]
            if wrong:
                raise ValueError(f"expected {rows} values in each column of a row group, got {wrong[0]}")

    def require_modest_pages(self, file: BinaryIO, size: int, groups: Iterable[int], label: str) -> None:
        """Refuse groups whose columns' largest pages together unpack to far more than they are, in a file of `size`.

        Refused are also columns whose pages have more values than they should: where several groups are read at once,
        the others would move.
        """
        for group in groups:
            packed = unpacked = 0
            for chunk in self.chunks[group]:
                largest = max(_sizes(file, size, chunk), default=0)
                if chunk.codec not in _HARMLESS:
                    if not 0 < chunk.start <= chunk.start + chunk.size <= size:
                        raise SourceError(
                            f"{label}: expected pages within {size} bytes, got {chunk.size} at {chunk.start}."
                        )
                    packed += chunk.size
                    unpacked += largest
            require_modest_size(min(packed, size), unpacked, "row groups with pages", label)


def read_footer(file: BinaryIO, columns: Container[int] | None = None, rows: Sequence[int] | None = None) -> Footer:
    """Return the footer of a file, with the chunks of all columns, or of those with some numbers.

    With `rows`, those that each group should have, groups of others are refused, and chunks of other numbers of values.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or not 0 < length <= size - _TAIL - len(MAGIC):
        raise ValueError("expected a whole Parquet file")
    file.seek(size - _TAIL - length)
    try:
        _, top = read_struct(file.read(length), 0, _top(columns))
        groups = top.get(_GROUPS, [])
        footer = Footer(
            rows=tuple(group[_ROWS] for group in groups),
            chunks=tuple(tuple(_chunk(column[_METADATA]) for column in group[_COLUMNS]) for group in groups),
            nested=any(field.get(_REPETITION) == _REPEATED or field.get(_CHILDREN) for field in top[_SCHEMA][1:]),
            notes=tuple((note[_KEY], note[_VALUE]) for note in top.get(_NOTES, []) if _VALUE in note),
        )
    except (IndexError, KeyError) as error:
        raise ValueError("expected a Parquet footer, got less of it") from error
    if rows is not None:
        if [*rows] != [*footer.rows]:
            raise ValueError(f"expected row groups of {rows[:9]} rows, got {footer.rows[:9]}")
        footer.require_as_many_values()
    return footer


def _top(columns: Container[int] | None) -> Fields:
    chunks = structs_of({_METADATA: struct_of(_CHUNK)}, None if columns is None else columns.__contains__)
    return {
        _SCHEMA: structs_of(_FIELD),
        _GROUPS: structs_of({_COLUMNS: chunks, _ROWS: _LONG}),
        _NOTES: structs_of(_NOTE),
    }


def _chunk(fields: dict[int, Any]) -> PageChunk:
    # Some writers say 0 where there is no dictionary.
    start = min(fields[_DATA_START], fields.get(_DICTIONARY_START) or fields[_DATA_START])
    return PageChunk(fields[_KIND], fields[_CODEC], fields[_VALUES], start, fields[_SIZE])


# What pages say of themselves is read before pyarrow allocates what they ask for. Values are unpacked a page at a time.
# A page's header says how large it will be, up to 2 GB, and how many values it has; what the footer says of it binds
# nobody. A header takes 10 µs, a tenth of what pyarrow takes for its page.

# Numbers of fields, and of kinds of pages, from parquet.thrift.
_PAGE, _UNPACKED, _PACKED, _DATA, _DICTIONARY, _DATA_2, _COUNT = 1, 2, 3, 5, 7, 8, 1
_VALUES_IN = {0: _DATA, 3: _DATA_2}
_COUNTED = struct_of({_COUNT: _INT})
_HEADER: Fields = {
    _PAGE: _INT,
    _UNPACKED: _INT,
    _PACKED: _INT,
    _DATA: _COUNTED,
    _DICTIONARY: _COUNTED,
    _DATA_2: _COUNTED,
}
# No compression, and Snappy, which unpacks three bytes to 64 at most: twice as much is refused.
_HARMLESS, _MOST_TIMES = (0, 1), 42
# Bytes of an entry of a dictionary, by the kind of its values: numbers, and the length of a text. Others may be short.
_ENTRY = {1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 6: 4}
_LOOK, _LONGEST_HEADER = 1 << 12, 1 << 24


def _sizes(file: BinaryIO, size: int, chunk: PageChunk) -> Iterator[int]:
    """Yield how large the pages of a chunk will be, until all its values are there."""
    at, left = chunk.start, chunk.values
    while left > 0:
        length, fields = _header(file, at, size)
        unpacked, packed = fields.get(_UNPACKED, -1), fields.get(_PACKED, -1)
        # What is written as more than 32 bits, pyarrow takes for another number.
        if not (0 <= unpacked < 2**31 and 0 <= packed < 2**31):
            raise ValueError(f"expected sizes of pages, got {unpacked} and {packed}")
        if chunk.codec in _HARMLESS and unpacked > _MOST_TIMES * packed + _LOOK:
            raise ValueError(f"expected a page of at most {_MOST_TIMES} times its {packed} bytes, got {unpacked}")
        # For a dictionary pyarrow allocates what its entries take before it looks whether they are there.
        entries = fields.get(_DICTIONARY, {}).get(_COUNT, 0)
        if not 0 <= _ENTRY.get(chunk.kind, 1) * entries <= unpacked:
            raise ValueError(f"expected a dictionary in {unpacked} bytes, got one of {entries} entries")
        values = fields.get(_VALUES_IN.get(fields.get(_PAGE, -1), -1), {}).get(_COUNT, 0)
        if not 0 <= values <= left:
            raise ValueError(f"expected a page of at most {left} values, got one of {values}")
        yield unpacked
        left -= values
        at += length + packed


def _header(file: BinaryIO, at: int, end: int) -> tuple[int, dict[int, Any]]:
    look = _LOOK
    if not 0 <= at < end:
        raise ValueError(f"expected a page, got the end of {end} bytes")
    while True:
        file.seek(at)
        try:
            return read_struct(file.read(min(look, end - at)), 0, _HEADER)
        except IndexError:  # it goes on
            if look >= min(_LONGEST_HEADER, end - at):
                raise ValueError("the header of a page has no end") from None
            look *= 16
