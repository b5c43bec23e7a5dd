"""A checkpoint comes back as it was, whole or not at all."""

import hashlib
import json
import os
from dataclasses import replace

import numpy as np
import pytest

import qckm
from qckm.errors import CheckpointError
from qckm.sketch import checkpoints
from qckm.sketch.checkpoints import Checkpoint
from qckm.sketch.sketch import State
from qckm.sources.source import Position, Stamp


@pytest.fixture
def checkpoint():
    op = qckm.SketchOperator.draw(2, 5, scale=1.0, random_state=0)
    state = State(op.sketch(np.eye(2)), Position(3, 700), 12345)
    return Checkpoint(state, (Stamp("/data/a", 1, 2), Stamp("/data/b", 3, 4)), {"seed": 1, "columns": ["a"]})


def test_round_trip(checkpoint, tmp_path):
    path = str(tmp_path / "x.checkpoint")
    assert checkpoints.load(path) is None
    checkpoints.save(checkpoint, path)
    back = checkpoints.load(path)
    assert back.state.sketch == checkpoint.state.sketch
    assert back.state.position == checkpoint.state.position
    assert (back.stamps, back.options) == (checkpoint.stamps, checkpoint.options)
    checkpoints.require_same(back, checkpoint.stamps, checkpoint.options, path)
    checkpoints.remove(path)
    checkpoints.remove(path)
    assert checkpoints.load(path) is None


def test_every_truncation_and_flipped_bit_is_refused(checkpoint, tmp_path):
    path = tmp_path / "x.checkpoint"
    checkpoints.save(checkpoint, str(path))
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(CheckpointError, match="Remove it to start again"):
            checkpoints.load(str(path))
        damaged = bytearray(data)
        damaged[length] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError):
            checkpoints.load(str(path))


def test_another_order_of_inputs_is_refused(checkpoint):
    with pytest.raises(CheckpointError, match="another order"):
        checkpoints.require_same(checkpoint, checkpoint.stamps[::-1], checkpoint.options, "x")


def rewritten(checkpoint, **changes):
    """A checkpoint's bytes with other notes and a right checksum."""
    data = checkpoints.dumps(checkpoint)
    start = len(checkpoints.MAGIC) + 8
    length = int.from_bytes(data[start - 8 : start], "little")
    notes = {**json.loads(data[start : start + length]), **changes}
    text = json.dumps({key: note for key, note in notes.items() if note is not None}).encode()
    body = checkpoints.MAGIC + len(text).to_bytes(8, "little") + text + data[start + length : -32]
    return body + hashlib.sha256(body).digest()


def test_where_it_has_come_to_is_kept(checkpoint):
    back = checkpoints.loads(checkpoints.dumps(checkpoint), "x")
    assert (back.state.position, back.state.bytes_done) == (Position(3, 700), 12345)


def test_the_order_of_options_does_not_change_a_byte(checkpoint):
    backwards = replace(checkpoint, options=dict(reversed(checkpoint.options.items())))
    assert checkpoints.dumps(backwards) == checkpoints.dumps(checkpoint)


@pytest.mark.parametrize(
    "changes",
    [
        {"row": 0, "table": 0, "bytes_done": 0},
        {"row": 2**63 - 1},
        {"inputs": [{"path": "/old", "size": 0, "mtime_ns": -(10**18)}]},  # of 1938
    ],
)
def test_numbers_from_nothing_on_are_taken(checkpoint, changes):
    state = checkpoints.loads(rewritten(checkpoint, **changes), "x").state
    assert state.position.row == changes.get("row", 700)


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"row": -1}, "expected 'row' to be int, and no less than 0, got -1"),
        ({"row": 2**63}, "expected 'row' to be int"),
        ({"row": 7.0}, "expected 'row' to be int"),
        ({"table": True}, "expected 'table' to be int"),
        ({"options": []}, "expected 'options' to be dict"),
        ({"row": None}, "expected the notes table, row, bytes_done, inputs, options"),
        ({"more": 1}, "expected the notes table, row"),
        ({"inputs": [{"path": "/a", "size": -1, "mtime_ns": 0}]}, "expected 'size' to be int"),
        ({"inputs": ["/a"]}, "expected the notes path, size, mtime_ns"),
    ],
)
def test_notes_that_nobody_wrote_are_refused(checkpoint, changes, reason):
    with pytest.raises(CheckpointError) as error:
        checkpoints.loads(rewritten(checkpoint, **changes), "x.checkpoint")
    assert reason in str(error.value)
    assert str(error.value).startswith("x.checkpoint: expected a checkpoint, got a file that is damaged or none: ")


def test_notes_longer_than_the_file_are_refused(checkpoint):
    data = checkpoints.dumps(checkpoint)
    body = checkpoints.MAGIC + (10**6).to_bytes(8, "little") + data[len(checkpoints.MAGIC) + 8 : -32]
    with pytest.raises(CheckpointError, match="notes of 1000000 bytes in a file of"):
        checkpoints.loads(body + hashlib.sha256(body).digest(), "x")


def test_a_checkpoint_is_as_private_as_its_output(checkpoint, tmp_path):
    output = tmp_path / "day.qckm"
    output.touch(0o600)
    path = checkpoints.path_of(str(output))
    checkpoints.save(checkpoint, path)
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_an_endless_device_is_not_read_to_the_end():
    if not os.path.exists("/dev/zero"):
        pytest.skip("this system has no /dev/zero")
    with pytest.raises(CheckpointError, match="/dev/zero: expected a checkpoint"):
        checkpoints.load("/dev/zero")


@pytest.mark.parametrize(
    "options, stamps, reason",
    [
        ({"seed": 2, "columns": ["a"]}, None, "seed was 1, now it is 2"),
        ({"columns": ["a"]}, None, "seed was 1, now it is None"),
        ({"seed": 1, "columns": ["a"], "law": "gaussian"}, None, "law was None, now it is 'gaussian'"),
        (None, (Stamp("/data/a", 1, 2),), "/data/b has vanished"),
        (
            None,
            (Stamp("/data/a", 1, 2), Stamp("/data/b", 3, 4), Stamp("/data/c", 5, 6)),
            "/data/c was not there before",
        ),
        (None, (Stamp("/data/a", 1, 2), Stamp("/data/b", 3, 5)), "/data/b has changed"),
    ],
)
def test_what_has_changed_since_is_named(checkpoint, options, stamps, reason):
    with pytest.raises(CheckpointError) as error:
        checkpoints.require_same(checkpoint, stamps or checkpoint.stamps, options or checkpoint.options, "x.checkpoint")
    assert reason in str(error.value)
    assert str(error.value).endswith("Undo that, or remove x.checkpoint to start again.")
