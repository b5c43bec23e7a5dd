"""Signed messages: golden bytes, and everything that must not pass for one."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qckm
from golden.make_wire_v2 import KEY, messages
from qckm.errors import MessageError
from qckm.sensor import signed, wire

GOLDEN = Path(__file__).parents[1] / "golden" / "wire-v2.txt"
op = qckm.SketchOperator.draw(2, 6, scale=1.0, dither="single", random_state=0)
ROWS = np.random.default_rng(0).normal(size=(10, 2))
MESSAGE = replace(wire.bits_message(op, op.encode(ROWS), device=3, sequence=17), boot=5, time=1000)
DATA = signed.dumps(MESSAGE, KEY)


@pytest.mark.parametrize("line", GOLDEN.read_text().splitlines(), ids=lambda line: line.split()[0])
def test_golden_messages_of_version_2_are_read_and_written_alike(line):
    name, text = line.split()
    assert signed.loads(bytes.fromhex(text), KEY) == messages()[name]
    assert signed.dumps(messages()[name], KEY).hex() == text


def test_the_mac_is_the_published_one():
    """The first and the last of the test vectors for keyed BLAKE2s that its authors publish (key 00 01 … 1f)."""
    key = bytes(range(32))
    first = "48a8997da407876b3d79c0d92325ad3b89cbb754d86ab71aee047ad345fd2c49"
    assert hashlib.blake2s(b"", key=key).hexdigest() == first
    last = "3fb735061abc519dfe979e54c1ee5bfad0a9d858b3315bad34bde999efd724dd"
    assert hashlib.blake2s(bytes(range(255)), key=key).hexdigest() == last
    assert signed.mac(b"abc", KEY) == hashlib.blake2s(b"abc", key=KEY, digest_size=16).digest()


@settings(max_examples=200)
@given(at=st.integers(0, len(DATA) - 1), flip=st.integers(1, 255))
def test_a_changed_byte_is_noticed(at, flip):
    data = bytearray(DATA)
    data[at] ^= flip
    with pytest.raises(MessageError):
        signed.loads(bytes(data), KEY)


@given(size=st.integers(0, len(DATA) - 1))
def test_a_message_that_is_cut_short_is_refused(size):
    with pytest.raises(MessageError):
        signed.loads(DATA[:size], KEY)


def test_another_key_and_bytes_behind_it_are_refused():
    with pytest.raises(MessageError, match="MAC does not match"):
        signed.loads(DATA, bytes(16))
    with pytest.raises(MessageError, match="more than one message"):
        signed.loads(DATA + b"\0", KEY)
    with pytest.raises(MessageError, match="key of 16 bytes"):
        signed.dumps(MESSAGE, b"short")


def test_versions_are_told_apart():
    with pytest.raises(MessageError, match="not signed"):
        signed.loads(wire.dumps(MESSAGE), KEY)
    with pytest.raises(MessageError, match="for a collector"):
        wire.loads(DATA)
