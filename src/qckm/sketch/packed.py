"""Numbers in as few bytes as they need: how a file of version 3 writes them, and how they are read (file-format.md).

Whole numbers of an array go in blocks of 512, each block as fixed-width fields or as Rice codes, whichever is shorter.
Sums of a sketch are spread like a Gaussian: Rice codes of them are within one per cent of the entropy. There is one way
only to write an array, and no reader needs more memory than some times the bytes it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from qckm.common.arrays import Array, Floats
from qckm.errors import FileError

_BLOCK = 512
_RICE = 128  # added to the first byte of a block of Rice codes
_MOST_BITS = 126  # of a number: sums of columns have up to 95
_INT64_BITS = 62
# So many numbers may be read of any bytes, however few.
_FEW = 1 << 20


def varint(number: int) -> bytes:
    """Return a whole number ≥ 0 in groups of 7 bits, the lowest first, a set eighth bit meaning that more follow.

    Examples
    --------
    >>> varint(5).hex(), varint(300).hex()
    ('05', 'ac02')
    """
    found = bytearray()
    while number >= 128:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def text(words: str) -> bytes:
    """Return a text: its length in bytes, and UTF-8. Unpaired surrogates, which names may have, pass."""
    data = words.encode("utf-8", "surrogatepass")
    return varint(len(data)) + data


def word(text_or_known: str, known: Sequence[str]) -> bytes:
    """Return a text that may be one of some that are known: twice its number then, else the text, its length odd.

    Examples
    --------
    >>> word("b", ["a", "b"]).hex(), word("c", ["a", "b"]).hex()
    ('02', '0363')
    """
    if text_or_known in known:
        return varint(2 * known.index(text_or_known))
    data = text_or_known.encode("utf-8", "surrogatepass")
    return varint(2 * len(data) + 1) + data


def floats(values: Array) -> bytes:
    """Return float64s, little-endian."""
    return values.astype("<f8").tobytes()


def whole(values: Array) -> bytes:
    """Return whole numbers ≥ 0 of an array, int64 or Python's own.

    Examples
    --------
    >>> import numpy as np
    >>> whole(np.array([1, 0, 1, 1])).hex(), whole(np.array([3, 9, 1, 70])).hex()
    ('010d', '84936187')
    """
    return b"".join(_pack(values[start : start + _BLOCK]) for start in range(0, len(values), _BLOCK))


def signed(values: Array) -> bytes:
    """Return whole numbers of either sign: 0, −1, 1, −2 become 0, 1, 2, 3, and so on."""
    if values.dtype != object and len(values) and max(int(values.max()), -int(values.min())) >> _INT64_BITS - 1:
        values = values.astype(object)  # doubled, they would wrap
    return whole(np.where(values < 0, -2 * values - 1, 2 * values))


def as_array(numbers: Iterable[int]) -> Array:
    """Return Python's whole numbers as an array: of int64 where they fit, with room for a sign and a doubling."""
    held = list(numbers)
    small = all(-1 << _INT64_BITS - 1 < number < 1 << _INT64_BITS - 1 for number in held)
    return np.array(held, np.int64 if small else object)


class Cursor:
    """A place in some bytes, from which numbers are read; whatever is not there as it should be is a `FileError`."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data, self._at = memoryview(data), 0

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._at

    def take(self, size: int) -> memoryview:
        """Return the next bytes."""
        if size > self.left:
            raise FileError(f"Expected {size} more bytes, got {self.left}: the file contradicts itself.")
        self._at += size
        return self._data[self._at - size : self._at]

    def varint(self) -> int:
        """Return a whole number below 2**63."""
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            if number >= 1 << 63 or (shift and not byte):
                raise FileError("Expected a whole number below 2**63 in as few bytes as it needs.")
            if byte < 128:
                return number
            shift += 7

    def text(self) -> str:
        """Return a text."""
        return self._text(self.varint())

    def word(self, known: Sequence[str]) -> str:
        """Return a text, or one that is known."""
        number, is_text = divmod(self.varint(), 2)
        if not is_text and number >= len(known):
            raise FileError(f"Expected one of {len(known)} words that are known, got number {number}.")
        return self._text(number) if is_text else known[number]

    def _text(self, size: int) -> str:
        try:
            return bytes(self.take(size)).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise FileError(f"Expected text as UTF-8: {error}.") from error

    def array(self, kind: str, count: int) -> Array:
        """Return numbers of a fixed width, in this machine's byte order."""
        little = np.frombuffer(self.take(np.dtype(kind).itemsize * count), kind)
        return little.astype(little.dtype.newbyteorder("="))

    def floats(self, count: int) -> Floats:
        """Return float64s."""
        return self.array("<f8", count)

    def whole(self, count: int) -> Array:
        """Return whole numbers ≥ 0: int64, or Python's own where one of them is larger."""
        if count > max(_FEW, 64 * self.left):  # a block of zeros is one byte: little is allocated for a forged count
            raise FileError(f"Expected {count} numbers, got {self.left} bytes: the file contradicts itself.")
        blocks = [self._unpack(min(_BLOCK, count - start)) for start in range(0, count, _BLOCK)]
        return np.concatenate([np.zeros(0, np.int64), *blocks])

    def signed(self, count: int) -> Array:
        """Return whole numbers of either sign."""
        numbers = self.whole(count)
        return np.where(numbers & 1 != 0, -(numbers // 2) - 1, numbers // 2)

    def end(self) -> None:
        """Refuse bytes that nobody has asked for."""
        if self.left:
            raise FileError(f"Expected no more bytes, got {self.left}: the file contradicts itself.")

    def _unpack(self, count: int) -> Array:
        """Return the numbers of a block."""
        kind = self.take(1)[0]
        width = kind & (_RICE - 1)
        if width > _MOST_BITS:
            raise FileError(f"Expected numbers of at most {_MOST_BITS} bits, got {width}.")
        if kind < _RICE:
            bits = np.unpackbits(self.array("u1", -(-count * width // 8)), bitorder="little")
            return _joined(bits, count, width)
        # Of the best width, quotients are at most 2 on average: no more is unpacked.
        size = min(self.left, -(-count * (width + 3) // 8))
        bits = np.unpackbits(np.frombuffer(self._data, "u1", size, self._at), bitorder="little")
        ends = np.flatnonzero(bits[count * width :])[:count]
        if len(ends) < count:
            raise FileError(f"Expected {count} numbers, got {len(ends)}: the file contradicts itself.")
        self.take(-(-(count * width + int(ends[-1]) + 1) // 8))
        quotients = np.diff(ends, prepend=-1) - 1
        low, most_bits = _joined(bits, count, width), width + int(quotients.max()).bit_length()
        if most_bits > _MOST_BITS:
            raise FileError(f"Expected numbers of at most {_MOST_BITS} bits, got {most_bits}.")
        if most_bits > _INT64_BITS:
            low, quotients = low.astype(object), quotients.astype(object)
        numbers: Array = low + quotients * (1 << width)
        return numbers


def _pack(values: Array) -> bytes:
    """Return a block: a byte that says how, and the bits of its numbers, little bit first."""
    count, width = len(values), int(values.max()).bit_length()
    shift = max(0, int(values.mean()).bit_length() - 2)  # with less, quotients are above 2 on average
    while int(((values >> shift) + 1 >> 1).sum()) > count:  # as long as one bit more saves more than it costs
        shift += 1
    quotients = (values >> shift).astype(np.int64)
    in_unary = int(quotients.sum()) + count
    if count * width <= count * shift + in_unary:
        return bytes([width]) + np.packbits(_bits(values, width), bitorder="little").tobytes()
    unary = np.zeros(in_unary, np.uint8)
    unary[np.cumsum(quotients + 1) - 1] = 1
    bits = np.concatenate([_bits(values, shift), unary])
    return bytes([_RICE + shift]) + np.packbits(bits, bitorder="little").tobytes()


def _bits(values: Array, width: int) -> Array:
    """Return the lowest bits of numbers, one number after the other, the lowest bit of each first."""
    if values.dtype == object:
        data, size = b"".join(int(value).to_bytes(16, "little") for value in values), 16
    else:
        data, size = values.astype("<u8").tobytes(), 8
    rows = np.frombuffer(data, np.uint8).reshape(len(values), size)
    bits: Array = np.unpackbits(rows, axis=1, bitorder="little")[:, :width].ravel()
    return bits


def _joined(bits: Array, count: int, width: int) -> Array:
    """Undo `_bits`."""
    wide = width > _INT64_BITS
    rows = np.zeros((count, 128 if wide else 64), np.uint8)
    rows[:, :width] = bits[: count * width].reshape(count, width)
    words = np.packbits(rows, axis=1, bitorder="little").view("<u8")
    numbers: Array = words[:, 0].astype(object if wide else np.int64)
    return numbers + words[:, 1].astype(object) * (1 << 64) if wide else numbers
