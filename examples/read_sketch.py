"""Read a .qckm file of version 3 with nothing but Python's standard library, by the letter of docs/file-format.md.

    python examples/read_sketch.py night.qckm

It prints what the file says of its rows as JSON. The frequencies are left as they are: whoever decodes needs them too.
"""

import hashlib
import json
import struct
import sys


def varint(data, at):
    """Return a number and where it ends: 7 bits a byte, the lowest first, the eighth bit set where more follow."""
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


WORDS = [
    "custom",
    "one-bit",
    "exponential",
    "2-bit",
    "3-bit",
    "4-bit",
    "triangle",
    "modulo",
    "gaussian",
    "folded-gaussian",
]
WORDS += ["adapted-radius", "concentrated-radius", "balanced-radius"]
WORDS += ["integer-gaussian", "integer-concentrated", "integer-balanced"]


def word(data, at):
    """Return a word and where it ends: one of the list, or a text."""
    number, at = varint(data, at)
    if number % 2 == 0:
        return WORDS[number // 2], at
    return data[at : at + number // 2].decode("utf-8", "surrogatepass"), at + number // 2


def whole(data, at, count):
    """Return so many numbers >= 0, and where they end."""
    numbers = []
    while len(numbers) < count:
        here, width = min(512, count - len(numbers)), data[at] & 127
        rice, bits, place = data[at] >= 128, int.from_bytes(data[at + 1 :], "little"), here * width
        block = [bits >> i * width & (1 << width) - 1 for i in range(here)]
        for i in range(here if rice else 0):
            while not bits >> place & 1:
                block[i] += 1 << width
                place += 1
            place += 1
        numbers, at = numbers + block, at + 1 + (place + 7) // 8
    return numbers, at


def signed(data, at, count):
    """Return so many numbers of either sign, and where they end."""
    numbers, at = whole(data, at, count)
    return [-(number // 2) - 1 if number & 1 else number // 2 for number in numbers], at


def read(data):
    """Return what a file says."""
    magic, version = struct.unpack_from("<8sI", data)
    assert (magic, version) == (b"\x89QCKM\r\n\x1a", 3), "not a file of version 3"
    assert hashlib.sha256(data[:-16]).digest()[:16] == data[-16:], "damaged"
    sections, at = {}, 12
    while at < len(data) - 16:
        letter, (size, start) = chr(data[at]), varint(data, at + 1)
        sections[letter], at = data[start : start + size], start + size
    assert all(letter in "ILORS" for letter in sections if letter.isupper()), "a section that must be understood"

    operator, at = sections["O"], 8
    n, at = varint(operator, at)
    m, at = varint(operator, at)
    paired, at = varint(operator, at)
    signature, at = word(operator, at)
    own_table, at = varint(operator, at)
    at += 8192 * own_table
    law, at = word(operator, at)
    (scale,), at = struct.unpack_from("<d", operator, at), at + 8
    exponents, at = signed(operator, at, n)
    steps = [2.0**exponent for exponent in exponents]
    far, at = varint(operator, at)
    if far:
        origin, at = list(struct.unpack_from(f"<{n}d", operator, at)), at + 8 * n
    else:
        origin, at = signed(operator, at, n)
        origin = [number * step for number, step in zip(origin, steps, strict=True)]
    found = {"fingerprint": operator[:8].hex(), "n": n, "m": m, "signature": signature, "law": law}
    found |= {"scale": scale or None, "steps": steps, "origin": origin}

    sums, measurements = sections["S"], 2 * m if paired else m
    real, at = varint(sums, 0)
    found["skipped"], at = varint(sums, at)
    names = ("count", "saturated", "weighted")
    if real:
        found |= dict(zip(names, struct.unpack_from("<3d", sums, at), strict=True))
        found["sums"] = list(struct.unpack_from(f"<{measurements}d", sums, at + 24))
    else:
        for name in names:
            found[name], at = varint(sums, at)
        found["sums"], at = signed(sums, at, measurements) if found["count"] else ([0] * measurements, at)
        if signature == "one-bit" and not own_table and "L" not in sections:
            found["sums"] = [2 * number + found["count"] % 2 for number in found["sums"]]
    if "c" in sections:
        found["column_sums"], at = signed(sections["c"], 0, n)
        found["column_squares"], at = whole(sections["c"], at, n)
    if "x" in sections:
        found["column_products"], at = signed(sections["x"], 0, n * (n - 1) // 2)
    if "p" in sections:
        found["parts"] = list(struct.unpack(f"<{len(sections['p']) // 8}Q", sections["p"]))
    if "b" in sections:
        size = (2 * n + 7) // 8
        known = int.from_bytes(sections["b"][:size], "little")
        numbers = iter(signed(sections["b"], size, known.bit_count())[0])
        bounds = [next(numbers) if known >> i & 1 else None for i in range(2 * n)]
        # Below, a number of −2**60 stands for −∞, above, one of 2**60 for +∞: infinitely far out, or nearly so.
        found["bounds"] = [
            None if number is None else origin[i % n] + steps[i % n] / 256 * number for i, number in enumerate(bounds)
        ]
    return found


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        print(json.dumps(read(file.read()), indent=1))
