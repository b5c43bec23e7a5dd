"""Small files that ask for much memory or time (issue 14, number 18): answered with little of both."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qckm
from qckm.errors import MessageError
from qckm.sensor import Pool, wire
from qckm.sensor.resync import whole_messages

OPERATOR = qckm.SketchOperator.draw(2, 20, scale=1.0, random_state=0)


# --- messages ---


def message(sequence, rows=0):
    bits = OPERATOR.encode(np.random.default_rng(sequence).normal(size=(rows, 2)))
    return wire.dumps(wire.bits_message(OPERATOR, bits, device=1, sequence=sequence))


def header(length, kind=wire.BITS):
    return wire.HEADER.pack(wire.MAGIC, wire.VERSION, kind, wire.fingerprint_of(OPERATOR), 1, 0, 4, 0, length)


def forged(size, period):
    """Headers that overlap, each of which claims a payload of almost a mebibyte."""
    one = header(wire.LONGEST_PAYLOAD - 64)
    if period < wire.HEADER.size:
        one = one[:4] + one[28:32] + bytes(period - 8)
    return (one * (size // len(one)))[:size]


def between(size):
    """Whole messages, each followed by a header that claims a mebibyte."""
    fingerprint = wire.fingerprint_of(OPERATOR)
    empty = (wire.Message(wire.BITS, fingerprint, 1, number, 0, 0, b"") for number in range(size // 68))
    pairs = (wire.dumps(one) + header(wire.LONGEST_PAYLOAD) for one in empty)
    return b"".join(pairs) + bytes(wire.LONGEST_PAYLOAD)


@pytest.fixture
def checksummed(monkeypatch):
    """How many bytes were checksummed."""
    count, crc32 = [0], zlib.crc32

    def counting(data, *start):
        count[0] += len(data)
        return crc32(data, *start)

    monkeypatch.setattr(zlib, "crc32", counting)
    return count


@pytest.mark.parametrize(
    "make", [lambda size: forged(size, 32), lambda size: forged(size, 8), lambda size: forged(size, 12), between]
)
def test_18_no_byte_of_a_stream_is_checksummed_more_than_four_times(checksummed, make):
    data = make(1 << 21)
    checksummed[0] = 0
    pool = Pool(OPERATOR)
    errors = list(pool.add_stream(data))
    assert checksummed[0] <= 4 * len(data)
    assert errors
    if make is between:
        assert pool.devices[1].messages == (1 << 21) // 68


def naive(data, begin):
    found = []
    for at in range(begin, len(data)):
        try:
            wire.read(memoryview(data)[at:])
            found.append(at)
        except MessageError:
            pass
    return found


PIECES = st.one_of(
    st.builds(message, st.integers(0, 9), st.integers(0, 5)),
    st.builds(header, st.integers(0, 80), st.sampled_from([0, *wire.KINDS, 4])),
    st.binary(max_size=20),
    st.sampled_from([b"Q", b"Qk", b"Qk\x01", b"Qk\x01\x01"]),
    # A message within a message.
    st.builds(lambda n: wire.dumps(wire.Message(1, bytes(8), 1, 0, 0, 0, message(n))), st.integers(0, 9)),
)


@settings(max_examples=200)
@given(pieces=st.lists(PIECES, max_size=12), cut=st.integers(0, 50), begin=st.integers(0, 40))
def test_18_all_whole_messages_are_found_and_nothing_else(pieces, cut, begin):
    data = b"".join(pieces)[: -cut or None]
    assert whole_messages(data, begin).tolist() == naive(data, begin)


def test_18_a_message_behind_a_mebibyte_of_forged_headers_is_found():
    pool = Pool(OPERATOR)
    (error,) = pool.add_stream(forged(1 << 20, 32) + message(3, 5))
    assert "1048576 bytes from byte 0 on are left out" in str(error)
    assert pool.count == 5
