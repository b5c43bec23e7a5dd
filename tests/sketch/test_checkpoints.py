"""A checkpoint comes back as it was, whole or not at all."""

import numpy as np
import pytest

import qckm
from qckm.errors import CheckpointError
from qckm.sketch import checkpoints
from qckm.sketch.checkpoints import Checkpoint
from qckm.sketch.runs import State
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
