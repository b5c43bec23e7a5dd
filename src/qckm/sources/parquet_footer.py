"""What the end of a Parquet file says of it, read by ourselves and believed by nobody.

pyarrow has functions for that, but some of them end the process where a file is damaged in certain ways; and we have to
know codecs and sizes before it reads anything.
"""

from __future__ import annotations

import os
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, BinaryIO

from qckm.sources.thrift import BINARY, INT32, INT64, Fields, read_bytes, read_struct, read_whole, struct_of, structs_of

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
_CHUNK: Fields = {
    _KIND: _INT,
    _CODEC: _INT,
    _VALUES: _LONG,
    _SIZE: _LONG,
    _DATA_START: _LONG,
    _DICTIONARY_START: _LONG,
}
_NOTE: Fields = {_KEY: _TEXT, _VALUE: _TEXT}


@dataclass(frozen=True)
class Chunk:
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
    chunks: tuple[tuple[Chunk, ...], ...]
    nested: bool
    notes: dict[bytes, bytes]

    def require_as_many_values(self) -> None:
        """Refuse columns of more or fewer values than their group has rows: readers make different things of them."""
        for rows, chunks in zip(self.rows, self.chunks, strict=True):
            wrong = [chunk.values for chunk in chunks if chunk.values != rows]
            if wrong:
                raise ValueError(f"expected {rows} values in each column of a row group, got {wrong[0]}")


def read_footer(file: BinaryIO, columns: Container[int] | None = None) -> Footer:
    """Return the footer of a file, with the chunks of all columns, or of those with some numbers."""
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
        return Footer(
            rows=tuple(group[_ROWS] for group in groups),
            chunks=tuple(tuple(_chunk(column[_METADATA]) for column in group[_COLUMNS]) for group in groups),
            nested=any(field.get(_REPETITION) == _REPEATED or field.get(_CHILDREN) for field in top[_SCHEMA][1:]),
            notes={note[_KEY]: note[_VALUE] for note in top.get(_NOTES, []) if _VALUE in note},
        )
    except (IndexError, KeyError) as error:
        raise ValueError("expected a Parquet footer, got less of it") from error


def _top(columns: Container[int] | None) -> Fields:
    chunks = structs_of({_METADATA: struct_of(_CHUNK)}, None if columns is None else columns.__contains__)
    return {
        _SCHEMA: structs_of(_FIELD),
        _GROUPS: structs_of({_COLUMNS: chunks, _ROWS: _LONG}),
        _NOTES: structs_of(_NOTE),
    }


def _chunk(fields: dict[int, Any]) -> Chunk:
    # Some writers say 0 where there is no dictionary.
    start = min(fields[_DATA_START], fields.get(_DICTIONARY_START) or fields[_DATA_START])
    return Chunk(fields[_KIND], fields[_CODEC], fields[_VALUES], start, fields[_SIZE])
