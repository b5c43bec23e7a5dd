"""What the end of a Parquet file says of it, read by ourselves and believed by nobody.

pyarrow has functions for that, but some of them end the process where a file is damaged in certain ways; and we have to
know codecs and sizes before it reads anything. The footer is a structure in Thrift's compact protocol: numbered fields,
of which those that matter here are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qckm.errors import FileError

MAGIC = b"PAR1"
_DEEPEST = 12


@dataclass(frozen=True)
class Chunk:
    """A column in a group of rows: its type and codec, by their numbers in Parquet's own definition."""

    kind: int
    codec: int


@dataclass(frozen=True)
class Footer:
    """What matters of it: for each group its rows and chunks, the fields of the schema that repeat, and the notes."""

    rows: tuple[int, ...]
    chunks: tuple[tuple[Chunk, ...], ...]
    nested: bool
    notes: dict[bytes, bytes]


def read_footer(data: bytes) -> Footer:
    """Return the footer of a file's bytes."""
    size = int.from_bytes(data[-8:-4], "little")
    if not (data.startswith(MAGIC) and data.endswith(MAGIC)) or size > len(data) - 12:
        raise FileError("expected a whole Parquet file")
    top = _Reader(data[-8 - size : -8]).structure()
    groups = [_group(group) for group in _list(top, 4)]
    fields = _list(top, 2)[1:]
    return Footer(
        rows=tuple(rows for rows, _ in groups),
        chunks=tuple(chunks for _, chunks in groups),
        nested=any(field.get(3) == 2 or field.get(5) for field in fields),  # repeated, or with children
        notes={_of(bytes, note, 1): _of(bytes, note, 2) for note in _list(top, 5) if 2 in note},
    )


def _group(group: dict[int, Any]) -> tuple[int, tuple[Chunk, ...]]:
    notes = [_of(dict, chunk, 3) for chunk in _list(group, 1)]
    return _of(int, group, 3), tuple(Chunk(_of(int, note, 1), _of(int, note, 4)) for note in notes)


def _list(structure: dict[int, Any], field: int) -> list[dict[int, Any]]:
    found = structure.get(field, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise FileError("expected a Parquet footer")
    return found


def _of(kind: type, structure: dict[int, Any], field: int) -> Any:
    found = structure.get(field)
    if not isinstance(found, kind):
        raise FileError("expected a Parquet footer")
    return found


class _Reader:
    """Reads Thrift's compact protocol. Nothing is made that is larger than the bytes it is made of."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def structure(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a structure by their numbers."""
        if depth > _DEEPEST:
            raise FileError("expected a Parquet footer")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            if number in fields:  # readers do not agree on which of them counts
                raise FileError("expected a Parquet footer, got a field twice")
            fields[number] = self._value(head & 15, depth, of_field=True)
        return fields

    def _value(self, kind: int, depth: int, of_field: bool = False) -> Any:
        if kind in (1, 2):  # a field's truth is in its type, an element's in a byte
            return kind == 1 if of_field else self._byte() == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._unsigned())
        if kind in (9, 10):
            return self._elements(depth)
        if kind == 12:
            return self.structure(depth + 1)
        raise FileError("expected a Parquet footer")  # maps, which it has none of, too

    def _elements(self, depth: int) -> list[Any]:
        if depth > _DEEPEST:
            raise FileError("expected a Parquet footer")
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._unsigned()
        if size > len(self._data) - self._at:
            raise FileError("expected a Parquet footer")
        return [self._value(head & 15, depth + 1) for _ in range(size)]

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise FileError("expected a Parquet footer, got less of it")
        self._at += size
        return self._data[self._at - size : self._at]

    def _unsigned(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise FileError("expected a Parquet footer")

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
