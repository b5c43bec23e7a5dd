"""Where whole messages start, among damage, in one pass: bytes that claim to be messages cannot make it slower.

A message is known by its CRC. To compute that at every place that looks like a start would take a mebibyte of work for
every few bytes: headers may overlap, and each claim so long a payload. But a CRC is linear. With P(x) that of the first
x bytes, and shift(c, k) what becomes of c when k zero bytes follow,

    CRC(bytes a to b) = P(b) ⊕ shift(P(a), b − a).

So one pass, in which each byte is read once, gives P wherever a message may start or end. The rest is a look-up for
each binary digit of a length, for at most one candidate in four bytes.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

from qckm.errors import MessageError
from qckm.export.as_c import LONGEST_PAYLOAD
from qckm.sensor import wire
from qckm.sensor.wire import CRC, HEADER, KINDS, MAGIC, VERSION

Words = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]

_START = re.compile(re.escape(MAGIC + bytes([VERSION])) + b"[" + re.escape(bytes(KINDS)) + b"]")
_LENGTH_AT = HEADER.size - 4
_DIGITS = (HEADER.size + LONGEST_PAYLOAD).bit_length()


def read_stream(data: bytes) -> Iterator[tuple[int, wire.Message | MessageError]]:
    """Yield all messages of some bytes, one after the other, and what is wrong between them, with where each starts.

    Behind damage the next message starts where the next whole one does: it is one only if its CRC says so. No byte is
    checksummed more than three times, whatever the damage: in the first message that is damaged, when all that are
    whole behind it are looked for, and when such a one is read.
    """
    view, at = memoryview(data), 0
    whole: list[int] | None = None  # where messages start, as soon as there is damage; the nearest last
    while at < len(data):
        try:
            if whole is not None and whole[-1:] != [at]:
                raise wire.damage(view[at:])
            message, size = wire.read(view[at:])
        except MessageError as error:
            if whole is None:
                whole = whole_messages(data, at + 1).tolist()[::-1]
            end = whole[-1] if whole else len(data)
            yield at, MessageError(f"{error} {end - at} bytes from byte {at} on are left out.")
            at = end
            continue
        yield at, message
        at += size
        while whole and whole[-1] < at:  # a message may hold what looks like another
            whole.pop()


def whole_messages(data: bytes, begin: int) -> Places:
    """Return where messages with a right CRC start, from a place on, in order; they may overlap."""
    starts = np.fromiter((found.start() for found in _START.finditer(data, begin)), np.int64)
    starts = starts[starts <= len(data) - HEADER.size - CRC.size]
    lengths = _words_at(data, starts + _LENGTH_AT).astype(np.int64)
    ends = starts + HEADER.size + lengths
    fits = (lengths <= LONGEST_PAYLOAD) & (ends <= len(data) - CRC.size)
    starts, ends = starts[fits], ends[fits]
    places = np.unique(np.concatenate([starts, ends]))
    so_far = _crcs_up_to(data, places)
    before, after = (so_far[np.searchsorted(places, some)] for some in (starts, ends))
    right: Places = starts[after ^ _shifted(before, ends - starts) == _words_at(data, ends)]
    return right


def _words_at(data: bytes, places: Places) -> Words:
    """Return the uint32, little-endian, at each place."""
    four = np.frombuffer(data, np.uint8)[places[:, np.newaxis] + np.arange(4)]
    return np.ascontiguousarray(four).view("<u4")[:, 0].astype(np.uint32)


def _crcs_up_to(data: bytes, places: Places) -> Words:
    """Return the CRC of all bytes from the first place to each of them, which are in order."""
    view, crcs = memoryview(data), np.zeros(len(places), np.uint32)
    for i in range(1, len(places)):
        crcs[i] = zlib.crc32(view[places[i - 1] : places[i]], int(crcs[i - 1]))
    return crcs


def _shifted(crcs: Words, zeros: Places) -> Words:
    """Return what becomes of CRCs when so many zero bytes follow each."""
    for digit, table in enumerate(_tables()):
        moved = table[0][crcs & 255]
        for byte in range(1, 4):
            moved ^= table[byte][crcs >> np.uint32(8 * byte) & np.uint32(255)]
        crcs = np.where(zeros >> digit & 1, moved, crcs)
    return crcs


@cache
def _tables() -> list[Words]:
    """Return for 1, 2, 4, … zero bytes what they make of each byte of a CRC, each (4, 256): the whole is their xor."""
    # One zero byte: as CRCs of two values differ by what their difference becomes, that of 0 is taken away.
    images = np.array([zlib.crc32(b"\0", 1 << bit) ^ zlib.crc32(b"\0", 0) for bit in range(32)], np.uint32)
    tables = []
    for _ in range(_DIGITS):
        table = np.zeros((4, 256), np.uint32)
        for bit in range(32):
            has_bit = np.arange(256) >> bit % 8 & 1
            table[bit // 8] ^= np.where(has_bit, images[bit], 0).astype(np.uint32)
        tables.append(table)
        parts = [table[byte][images >> np.uint32(8 * byte) & np.uint32(255)] for byte in range(4)]
        images = np.bitwise_xor.reduce(parts)  # twice as many zeros
    return tables
