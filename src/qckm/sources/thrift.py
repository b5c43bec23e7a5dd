"""Thrift's compact protocol, as far as Parquet needs it here: to find some numbers, and to pass over the rest.

Every page has such a header: this is plain code, for speed. Data that end too early raise IndexError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_DEEPEST = 16
# The kinds of values. A boolean is its kind, and has no bytes; but in a list it has one.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_WHOLE = (4, 5, 6)

# What to do with a field that is a struct or a list, by its number: from (data, where it is) to (where it ends, value).
Readers = dict[int, Callable[[bytes, int], tuple[int, Any]]]


def read_struct(data: bytes, at: int, readers: Readers | None = None) -> tuple[int, dict[int, Any]]:
    """Return where a struct ends, its fields that are whole numbers, and those that there are readers for."""
    found: dict[int, Any] = {}
    field = 0
    while head := data[at]:
        kind, step = head & 15, head >> 4
        at += 1
        if step:
            field += step
        else:
            at, field = read_whole(data, at)
        if kind not in _WHOLE and (readers is None or field not in readers):
            at = skip(data, at, kind)
            continue
        if field in found:
            raise ValueError(f"field {field} is there twice")  # other readers might take the other one
        at, found[field] = read_whole(data, at) if kind in _WHOLE else (readers or {})[field](data, at)
    return at + 1, found


def read_list(data: bytes, at: int) -> tuple[int, int]:
    """Return where the first of a list's structs is, and how many there are."""
    head = data[at]
    if head & 15 != STRUCT:
        raise ValueError("expected a list of structs")
    return read_varint(data, at + 1) if head >> 4 == 15 else (at + 1, head >> 4)


def skip(data: bytes, at: int, kind: int, depth: int = 0) -> int:
    """Return where a value ends."""
    if kind == STRUCT:
        if depth > _DEEPEST:
            raise ValueError("structs are nested too deeply")
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
    if kind == _BINARY:
        at, size = read_varint(data, at)
        return at + size
    if kind in _WHOLE:
        return _skip_varint(data, at)
    if kind in (_LIST, _SET):
        head = data[at]
        at, count = read_varint(data, at + 1) if head >> 4 == 15 else (at + 1, head >> 4)
        inner = _BYTE if head & 15 in (_TRUE, _FALSE) else head & 15
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
    at, value = read_varint(data, at)
    return at, (value >> 1) ^ -(value & 1)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
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
