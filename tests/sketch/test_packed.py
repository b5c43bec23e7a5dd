"""Whole numbers in as few bits as they need: round trips, one way to write them, sizes, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qckm.errors import FileError
from qckm.sketch import packed
from qckm.sketch.packed import Cursor


@given(st.lists(st.integers(-(2**95), 2**95), max_size=30))
def test_numbers_of_any_size_come_back(numbers):
    data = packed.signed(packed.as_array(numbers))
    cursor = Cursor(data)
    assert cursor.signed(len(numbers)).tolist() == numbers
    cursor.end()


@pytest.mark.parametrize("count", [1, 511, 512, 513, 2000])
@pytest.mark.parametrize("deviation", [0.0, 0.4, 3.0, 1e4, 1e12, 5e17])
def test_sums_come_back_as_int64(count, deviation):
    sums = np.rint(deviation * np.random.default_rng(0).normal(size=count)).astype(np.int64)
    found = Cursor(packed.signed(sums)).signed(count)
    assert found.dtype == np.int64
    assert np.array_equal(found, sums)


def test_the_greatest_int64s_do_not_wrap():
    ends = np.array([2**63 - 1, -(2**63) + 1, 0])
    assert Cursor(packed.signed(ends)).signed(3).tolist() == ends.tolist()


def test_gaussian_sums_take_one_per_cent_more_than_their_entropy():
    sums = np.rint(13_000 * np.random.default_rng(0).normal(size=100_000)).astype(np.int64)
    entropy = np.log2(13_000 * np.sqrt(2 * np.pi * np.e))
    assert 8 * len(packed.signed(sums)) / len(sums) < 1.01 * entropy


def test_bits_take_a_bit_and_zeros_take_none():
    assert len(packed.whole(np.arange(512) % 2)) == 1 + 512 // 8
    assert packed.whole(np.zeros(1024, np.int64)) == b"\0\0"


def by_the_letter(numbers):
    """Write a block as docs/file-format.md says, bit by bit."""
    count, width = len(numbers), max(numbers).bit_length()
    k = next(k for k in range(200) if sum((u >> k) + 1 >> 1 for u in numbers) <= count)
    rice = "".join(f"{u & (1 << k) - 1:0{k}b}"[::-1] if k else "" for u in numbers) + "".join(
        "0" * (u >> k) + "1" for u in numbers
    )
    fixed = "".join(f"{u:0{width}b}"[::-1] if width else "" for u in numbers)
    kind, bits = (width, fixed) if len(fixed) <= len(rice) else (128 + k, rice)
    return bytes([kind, *(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))])


@given(st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2000), st.integers(0, 2**70)), min_size=1, max_size=60))
def test_the_bytes_are_those_of_the_format(numbers):
    assert packed.whole(packed.as_array(numbers)) == by_the_letter(numbers)


@given(st.integers(0, 2**63 - 1))
def test_varints_come_back_and_are_as_short_as_can_be(number):
    data = packed.varint(number)
    assert Cursor(data).varint() == number
    assert len(data) == max(1, -(-number.bit_length() // 7))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80\x00", b"\xff" * 9 + b"\x01", b"\xff" * 100])
def test_a_varint_that_is_none_is_refused(data):
    with pytest.raises(FileError):
        Cursor(data).varint()


def test_names_of_any_characters_come_back():
    for name in ("", "größe", "a\ud800b", "x" * 300):
        assert Cursor(packed.text(name)).text() == name
    with pytest.raises(FileError, match="UTF-8"):
        Cursor(b"\x01\xff").text()


def test_words_that_are_known_are_a_number():
    known = ["one-bit", "gaussian"]
    for name in ("gaussian", "one-bit", "seeded 7", "", "x" * 300):
        cursor = Cursor(packed.word(name, known))
        assert cursor.word(known) == name
        cursor.end()
    assert len(packed.word("gaussian", known)) == 1
    with pytest.raises(FileError, match="2 words that are known"):
        Cursor(b"\x04").word(known)


@pytest.mark.parametrize(
    "data, count",
    [
        (b"", 1),
        (b"\x08", 1),  # a number of 8 bits, and none there
        (bytes([127]) + bytes(16), 1),  # numbers of 127 bits
        (bytes([128]) + bytes(100), 1),  # a quotient without an end
        (bytes([128 + 126]) + bytes(15) + b"\x80", 1),  # a number of 127 bits
        (b"\x00", 2**40),  # more numbers than bytes could hold
        (bytes(2**15), 2**15 * 512),  # as many zeros as blocks could, which nobody writes
    ],
)
def test_forged_numbers_are_refused_before_anything_is_allocated(data, count):
    with pytest.raises(FileError):
        Cursor(data).whole(count)


def test_no_bytes_are_left_over():
    with pytest.raises(FileError, match="no more bytes"):
        Cursor(b"x").end()
