"""How inputs are damaged: bytes, and trees of JSON."""

import json
import random
import struct

NUMBERS = (-1, 0, 1, 2, 127, 255, 2**15, 2**16, 2**31 - 1, -(2**31), 2**32, 2**40, 2**62, 2**63 - 1, -(2**63))
ODD_VALUES = (
    None, True, False, 0, -1, 1, 2, 3.5, -0.0, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 10**30, 1e-320, 1e300, -1e308, "",
    "a", "x" * 300, "\x1b[31m", "\ud800", "é", "NaN", "1", "int64", "float64", "paired", "single", "one-bit",
    "exponential",
    [], {}, [1], [[[[[[[[]]]]]]]], {"a": {"b": [1, 2]}}, ["a", "a"],
)  # fmt: skip


def mutate_bytes(data: bytes, rng: random.Random, begin: int = 0) -> bytes:
    """Return bytes with one to three changes behind `begin`."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = data[:begin] + rng.choice(_CHANGES)(bytearray(data[begin:]), rng)
    return data


def mutate_in_place(data: bytes, rng: random.Random) -> bytes:
    """Return bytes with one to three changes that keep their number, so that what else there is stays in its place."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice((_overwrite, _put_number, _put_number, _put_number, _nudge_number))(bytearray(data), rng)
    return data


def _cut(data: bytearray, rng: random.Random) -> bytes:
    return bytes(data[: rng.randrange(len(data) + 1)])


def _overwrite(data: bytearray, rng: random.Random) -> bytes:
    for _ in range(rng.randint(1, 6) if data else 0):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def _put_number(data: bytearray, rng: random.Random) -> bytes:
    """Put a number where a number may be: sizes, counts and offsets are mostly on multiples of their own size."""
    if len(data) >= 8:
        width, at = rng.choice((1, 2, 4, 8)), rng.randrange(len(data) - 7)
        if rng.random() < 0.7:
            at -= at % width
        number = rng.choice(NUMBERS) if rng.random() < 0.7 else rng.randrange(10**4)
        data[at : at + width] = (number % 2**64).to_bytes(8, "little")[:width]
    return bytes(data)


def _nudge_number(data: bytearray, rng: random.Random) -> bytes:
    if len(data) >= 8:
        at = rng.randrange(len(data) - 7)
        (number,) = struct.unpack_from("<I", data, at)
        struct.pack_into("<I", data, at, (number + rng.choice((-8, -1, 1, 8, 64))) % 2**32)
    return bytes(data)


def _remove(data: bytearray, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    del data[at : at + rng.randint(1, 100)]
    return bytes(data)


def _repeat(data: bytearray, rng: random.Random) -> bytes:
    at, start = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
    data[at:at] = data[start : start + rng.randint(1, 64)]
    return bytes(data)


_CHANGES = (_overwrite, _overwrite, _put_number, _put_number, _put_number, _nudge_number, _cut, _remove, _repeat)


def mutate_json(tree: object, rng: random.Random) -> object:
    """Return a copy of a tree of JSON with one place changed: a value, a key, an element."""
    tree = json.loads(json.dumps(tree))
    holders = [node for node in _nodes(tree) if isinstance(node, (dict, list))]
    full = [holder for holder in holders if holder]
    if not full or rng.random() < 0.05:
        return rng.choice(ODD_VALUES)
    holder = rng.choice(full)
    place = rng.choice(sorted(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    kind = rng.random()
    if kind < 0.6:
        holder[place] = _changed(holder[place], rng)
    elif kind < 0.75:
        del holder[place]
    elif isinstance(holder, dict):
        holder[rng.choice(("new", "", place.upper(), place + " "))] = rng.choice(ODD_VALUES)
    else:
        holder.insert(place, rng.choice((holder[place], rng.choice(ODD_VALUES))))
    return tree


def _changed(value: object, rng: random.Random) -> object:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and rng.random() < 0.5:
        return rng.choice((value + 1, value - 1, -value, value * 2, value / 2, float(value)))
    if isinstance(value, str) and rng.random() < 0.5:
        return rng.choice((value + "x", value[:-1], value.upper(), value * 2))
    return rng.choice(ODD_VALUES)


def _nodes(tree: object) -> list[object]:
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return [tree, *(node for child in inner for node in _nodes(child))]
