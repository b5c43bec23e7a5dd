"""Thrift's compact protocol, as far as Parquet needs it here: to find some fields, and to pass over the rest.

Every page has such a header: this is plain code, for speed. Nothing is made that is larger than the bytes it is made
of. Data that end too early raise IndexError, and whatever else is wrong with them ValueError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
