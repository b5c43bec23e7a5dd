"""Messages: golden bytes, round trips, and everything a message may have wrong."""

import shutil
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qckm
from golden.make_wire_v1 import READINGS, messages
from qckm.errors import MessageError, QckmError
from qckm.sensor import Pool, wire

GOLDEN = Path(__file__).parents[1] / "golden"
op = qckm.SketchOperator.draw(2, 6, scale=1.0, dither="single", random_state=0)
ROWS = np.random.default_rng(0).normal(size=(10, 2))
MESSAGE = wire.bits_message(op, op.encode(ROWS), device=3, sequence=17)


def golden_bytes():
    return {
        name: bytes.fromhex(data) for name, data in map(str.split, (GOLDEN / "wire-v1.txt").read_text().splitlines())
    }


def sketch_of(message, operator):
    """Return the sketch of a message's rows."""
    pool = Pool(operator)
    pool.add(wire.dumps(message))
    return pool.sketch


@pytest.mark.parametrize("name", messages())
def test_golden_messages_of_version_1_are_read_and_written_alike(name):
    data, message = golden_bytes()[name], messages()[name]
    assert wire.dumps(message) == data
    assert wire.loads(data) == message


def test_golden_messages_say_what_the_golden_file_says():
    operator = qckm.load(GOLDEN / "v1-one-bit.qckm").operator
    parts = [sketch_of(wire.loads(data), operator) for data in golden_bytes().values()]
    assert parts[0] == parts[1] == parts[2]
    assert (parts[0].count, parts[3].count) == (4, 0)
    assert parts[0].saturated == parts[1].saturated == 1


def test_bits_and_counters_give_the_sketch_of_the_rows():
    assert sketch_of(MESSAGE, op) == op.sketch(ROWS)
    for bits in (16, 32):
        assert sketch_of(wire.counters_message(op.sketch(ROWS), 3, 18, bits), op) == op.sketch(ROWS)


def test_long_messages_give_the_sketch_too():
    rows = np.random.default_rng(1).normal(size=(50_000, 2))
    message = wire.bits_message(op, op.encode(rows), 0, 0)
    assert len(message.payload) > 2**14
    assert sketch_of(message, op) == op.sketch(rows)


@settings(max_examples=200)
@given(at=st.integers(0, len(wire.dumps(MESSAGE)) - 1), flip=st.integers(1, 255))
def test_a_changed_byte_is_noticed(at, flip):
    data = bytearray(wire.dumps(MESSAGE))
    data[at] ^= flip
    with pytest.raises(MessageError):
        wire.loads(bytes(data))


@given(size=st.integers(0, len(wire.dumps(MESSAGE)) - 1))
def test_a_message_that_is_cut_short_is_refused(size):
    with pytest.raises(MessageError, match=r"cut short|do not start"):
        wire.loads(wire.dumps(MESSAGE)[:size])


@given(data=st.binary(max_size=80), start=st.sampled_from([b"", b"Qk\x01\x01", wire.dumps(MESSAGE)[:32]]))
def test_any_bytes_are_a_message_or_refused(data, start):
    with pytest.raises(MessageError):
        wire.loads(start + data[:40])


def test_what_is_too_long_names_its_sender():
    with pytest.raises(MessageError, match=r"device 3, sequence 17.*more than one"):
        wire.loads(wire.dumps(MESSAGE) + b"x")


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"fingerprint": bytes(8)}, "another operator"),
        ({"rows": 11}, "expected 11 bytes of bits, got 10"),
        ({"saturated": 11}, "clipped rows"),
        ({"payload": bytes([0x40] * 10)}, "beyond the last"),
        ({"kind": wire.COUNTERS_16}, "expected 12 bytes of counters"),
        ({"kind": wire.COUNTERS_16, "payload": np.full(6, 11, "<u2").tobytes()}, "a counter of 11 in 10 rows"),
        ({"kind": wire.COUNTERS_32, "payload": np.full(6, 2**32 - 1, "<u4").tobytes()}, "a counter of 4294967295"),
    ],
)
def test_what_cannot_be_true_is_refused_though_its_crc_is_right(changes, words):
    message = wire.loads(wire.dumps(replace(MESSAGE, **changes)))
    with pytest.raises(MessageError, match=f"device 3, sequence 17: .*{words}"):
        sketch_of(message, op)


@pytest.mark.parametrize("at, byte, words", [(2, 2, "version 1, got 2"), (3, 5, "kind 1 to 4"), (31, 1, "at most")])
def test_headers_of_another_format_are_refused(at, byte, words):
    body = bytearray(wire.dumps(MESSAGE)[:-4])
    body[at] = byte
    with pytest.raises(MessageError, match=words):
        wire.loads(bytes(body) + zlib.crc32(body).to_bytes(4, "little"))


def test_counters_that_do_not_fit_are_refused():
    many = op.sketch(np.zeros((70_000, 2)))
    with pytest.raises(MessageError, match="wider counters"):
        wire.counters_message(many, 0, 0)
    assert sketch_of(wire.counters_message(many, 0, 0, 32), op) == many


@pytest.mark.parametrize(
    "sketch",
    [
        op.sketch(ROWS, np.full(10, 0.5)),
        qckm.SketchOperator.draw(2, 6, 1.0, signature="triangle", random_state=0).sketch(ROWS),
    ],
)
def test_only_whole_one_bit_sketches_are_counters(sketch):
    with pytest.raises(QckmError, match="one-bit"):
        wire.counters_message(sketch, 0, 0)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed: `make test` installs it where it may")
@pytest.mark.parametrize("counter_bits", [16, 32])
def test_the_header_makes_the_golden_messages(counter_bits, tmp_path):
    operator = qckm.load(GOLDEN / "v1-one-bit.qckm").operator
    operator.export_c(tmp_path / "encoder.h", counter_bits=counter_bits)
    rows = ", ".join(f"{{{a}, {b}}}" for a, b in READINGS.tolist())
    device, sequence = (7, 1) if counter_bits == 16 else (0xFFFFFFFF, 258)
    (tmp_path / "main.c").write_text(f"""
#include "encoder.h"
#include <stdio.h>
static void out(uint8_t byte, void *context) {{ (void)context; putchar(byte); }}
int main(void) {{
    static const int16_t rows[4][2] = {{{rows}}};
    static qckm_counters counters;
    uint8_t message[QCKM_BATCH_BYTES(4)];
    qckm_batch batch;
    int i;
    qckm_batch_start(&batch, message, 4);
    for (i = 0; i < 4; i++) {{ qckm_batch_add(&batch, rows[i]); qckm_counters_add(&counters, rows[i]); }}
    fwrite(message, 1, qckm_batch_finish(&batch, 7, 0), stdout);
    qckm_counters_send(&counters, {device}u, {sequence}, out, NULL);
    fwrite(message, 1, qckm_batch_finish(&batch, 0, 0), stdout);
    return 0;
}}
""")
    subprocess.run(["gcc", "-std=c99", "-o", "main", "main.c"], cwd=tmp_path, check=True)
    found = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True).stdout
    golden = golden_bytes()
    assert found == golden["bits"] + golden[f"counters-{counter_bits}"] + golden["no-rows"]
