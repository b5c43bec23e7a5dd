"""`qckm export-c` and `qckm pool` of messages, as one would type them."""

import json
import subprocess
import sys

import numpy as np
import pytest

import qckm
from qckm.sensor import render_c, wire

op = qckm.SketchOperator.from_seed(2, 30, scale=900.0, seed=5, steps=1.0)
ROWS = np.random.default_rng(0).integers(-3000, 3000, (8, 5, 2)).astype(np.int16)


def message(sequence, device=4):
    return wire.dumps(wire.bits_message(op, op.encode(ROWS[sequence]), device, sequence))


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    op.empty().save(tmp_path / "fleet.qckm")
    (tmp_path / "messages" / "later").mkdir(parents=True)
    for sequence in (0, 1, 3, 5):
        (tmp_path / "messages" / f"{sequence}.bin").write_bytes(message(sequence))
    (tmp_path / "messages" / "later" / "both.bin").write_bytes(message(6) + message(1))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def expected(*sequences):
    return op.sketch(np.concatenate([ROWS[sequence] for sequence in sequences]))


def test_a_folder_of_messages(fleet, facts):
    told = facts("pool", "messages", "--operator", "fleet.qckm", "-o", "all.qckm")
    assert qckm.load("all.qckm") == expected(0, 1, 3, 5, 6)
    assert told["rows"] == 25
    (device,) = told["devices"]
    assert (device["device"], device["repeated"], device["missing"]) == (4, 1, 2)
    assert device["gaps"] == [[2, 2], [4, 4]]


def test_messages_on_standard_input(fleet):
    broken = bytearray(message(2))
    broken[50] ^= 1
    data = message(0) + bytes(broken) + b"noise" + message(3)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "qckm",
            "pool",
            "-",
            "--messages",
            "--operator",
            "fleet.qckm",
            "-o",
            "all.qckm",
            "--json",
        ],
        input=data,
        capture_output=True,
        check=True,
    )
    assert qckm.load("all.qckm") == expected(0, 3)
    assert json.loads(done.stdout)["devices"][0]["refused"] == 1
    assert b"device 4, sequence 2: the CRC does not match" in done.stderr
    assert b"device 4: 10 rows in 2 messages; 1 refused, 2 missing (1 to 2)" in done.stderr


def test_messages_of_another_operator_leave_no_file(fleet, qckm_):
    other = qckm.SketchOperator.from_seed(2, 30, scale=900.0, seed=6, steps=1.0)
    (fleet / "one.bin").write_bytes(wire.dumps(wire.bits_message(other, other.encode(ROWS[0]), 9, 3)))
    code, _, err = qckm_("pool", "one.bin", "--messages", "--operator", "fleet.qckm", "-o", "all.qckm")
    assert code == 1
    assert "device 9, sequence 3: of another operator" in err
    assert "got none (1 refused)" in err
    assert not (fleet / "all.qckm").exists()


def test_messages_that_are_not_said_to_be_are_not_counted_as_bits(fleet, qckm_):
    code, _, err = qckm_("pool", "messages/0.bin", "--operator", "fleet.qckm", "-o", "all.qckm")
    assert (code, (fleet / "all.qckm").exists()) == (1, False)
    assert "use --messages" in err


def test_many_complaints_are_cut_short(fleet, qckm_):
    (fleet / "bad.bin").write_bytes(b"".join(message(0)[:-1] + message(1) for _ in range(30)))
    code, _, err = qckm_("pool", "bad.bin", "--messages", "--operator", "fleet.qckm", "-o", "all.qckm")
    assert code == 0
    assert err.count("bad.bin:") == 20
    assert "and 10 more" in err


def test_export_c(fleet, facts, qckm_):
    told = facts("export-c", "fleet.qckm", "-o", "encoder.h", "--prefix", "gait", "--regenerate", "--counters", 32)
    assert (fleet / "encoder.h").read_text() == render_c(op, "gait", regenerate=True, counter_bits=32)
    assert told["bytes_a_row"] == 8
    assert qckm_("export-c", "fleet.qckm")[1].decode() == render_c(op)


def test_an_operator_that_cannot_be_exported(fleet, qckm_):
    code, _, err = qckm_("export-c", "fleet.qckm", "-o", "encoder.h", "--prefix", "1")
    assert (code, (fleet / "encoder.h").exists()) == (1, False)
    assert "Expected a prefix" in err


def test_an_operator_for_sensors_from_a_pilot(folder, facts):
    facts("operator", "rows.csv", "-k", 3, "--law", "seeded", "-o", "fleet.qckm")
    facts("export-c", "fleet.qckm", "--regenerate", "-o", "encoder.h")
    assert "made from a seed" in (folder / "encoder.h").read_text()
