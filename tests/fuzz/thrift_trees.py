"""Thrift's compact protocol as trees that can be changed and written again: the footer and page headers of Parquet.

A struct is a list of fields [number, kind, value], a list [kind of its values, values, how many it says it has].
"""

import random
from typing import Any

from fuzz.mutations import NUMBERS, mutate_bytes

TRUE, FALSE, BYTE, INT16, INT32, INT64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
_WHOLE = (INT16, INT32, INT64)


def parse(data: bytes, at: int, kind: int = STRUCT) -> tuple[Any, int]:
    """Return the value that begins there, and where it ends."""
    if kind == STRUCT:
        fields, number = [], 0
        while head := data[at]:
            at += 1
            if head >> 4:
                number += head >> 4
            else:
                raw, at = _varint(data, at)
                number = raw >> 1 ^ -(raw & 1)
            value, at = parse(data, at, head & 15)
            fields.append([number, head & 15, value])
        return fields, at + 1
    if kind in (LIST, SET):
        head, at = data[at], at + 1
        count, at = _varint(data, at) if head >> 4 == 15 else (head >> 4, at)
        values = []
        for _ in range(count):
            inner = BYTE if head & 15 in (TRUE, FALSE) else head & 15
            value, at = parse(data, at, inner)
            values.append(value)
        return [head & 15, values, count], at
    if kind in _WHOLE:
        raw, at = _varint(data, at)
        return raw >> 1 ^ -(raw & 1), at
    if kind == BINARY:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    size = {TRUE: 0, FALSE: 0, BYTE: 1, DOUBLE: 8}[kind]
    return data[at : at + size], at + size


def write(value: Any, kind: int = STRUCT) -> bytes:
    """Undo `parse`."""
    if kind == STRUCT:
        out, before = b"", 0
        for number, inner, part in value:
            step = number - before
            head = bytes([step << 4 | inner]) if 0 < step < 16 else bytes([inner]) + _zigzag(number)
            out += head + write(part, inner)
            before = number
        return out + b"\0"
    if kind in (LIST, SET):
        inner, values, count = value
        head = bytes([count << 4 | inner]) if 0 <= count < 15 else bytes([0xF0 | inner]) + _to_varint(count % 2**64)
        return head + b"".join(write(part, BYTE if inner in (TRUE, FALSE) else inner) for part in values)
    if kind in _WHOLE:
        return _zigzag(value)
    return _to_varint(len(value)) + value if kind == BINARY else value


def mutate(tree: Any, rng: random.Random) -> None:
    """Change one value, field or list of a struct, in place."""
    places = list(_places(tree, STRUCT))
    holder, place, kind = rng.choice(places)
    if kind in _WHOLE:
        value = holder[place]
        holder[place] = rng.choice((rng.choice(NUMBERS), rng.randrange(100), value + 1, value - 1, value * 2, -value))
    elif kind == BINARY:
        holder[place] = mutate_bytes(holder[place], rng)
    elif kind == LIST:
        _mutate_list(holder[place], rng)
    elif kind == STRUCT and holder[place]:
        _mutate_struct(holder[place], rng)


def _mutate_list(one: list, rng: random.Random) -> None:
    values, change = one[1], rng.random()
    if change < 0.3:
        one[2] = rng.choice((0, 1, one[2] + 1, 2**31 - 1, 2**31, 2**40))
        return
    if values and change < 0.6:
        values.insert(rng.randrange(len(values)), rng.choice(values))
    elif values:
        del values[rng.randrange(len(values))]
    one[2] = len(values)


def _mutate_struct(fields: list, rng: random.Random) -> None:
    place, change = rng.randrange(len(fields)), rng.random()
    if change < 0.4:
        del fields[place]
    elif change < 0.6:
        fields.insert(place, list(fields[place]))
    elif change < 0.8:
        fields[place] = [rng.randrange(20), *fields[place][1:]]
    else:
        fields[place] = [fields[place][0], *rng.choice(([TRUE, b""], [INT64, 2**40], [BINARY, b"x"], [STRUCT, []]))]


def _places(value: Any, kind: int, holder: Any = None, place: int = 0) -> Any:
    """Yield (holder, place in it, kind) of all values below a value."""
    if holder is not None:
        yield holder, place, kind
    if kind == STRUCT:
        for field in value:
            yield from _places(field[2], field[1], field, 2)
    elif kind == LIST:
        for number, inner in enumerate(value[1]):
            yield from _places(inner, value[0], value[1], number)


def find(fields: list, *numbers: int) -> list:
    """Return the field at a path of numbers; of a list, the last value is taken."""
    for number in numbers:
        (field,) = [one for one in fields if one[0] == number][:1]
        fields = field[2][1][-1] if field[1] == LIST else field[2]
    return field


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) >= 128:
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
    return value | byte << shift, at + 1


def _to_varint(number: int) -> bytes:
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _zigzag(number: int) -> bytes:
    return _to_varint((number << 1 ^ number >> 63) % 2**64)
