"""Killed at any moment and resumed, a sketch is the same to the last byte; what changed in between is noticed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import qckm
from qckm.sketch import checkpoints, files
from qckm.sketch.checkpoints import Checkpoint
from qckm.sketch.sketch import State
from qckm.sources.opening import open_source

WORDS = ["sketch", "part*.npy", "--scale", "2", "--frequencies", "200", "--seed", "1", "--resume"]


@pytest.fixture
def parts(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for part in range(3):
        np.save(tmp_path / f"part{part}.npy", rng.normal(size=(400_000, 4)).astype(np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def start(*words):
    # Small batches of time: a checkpoint after every batch.
    words = [sys.executable, "-m", "qckm", *words, "--checkpoint-every", "0.000001", "--quiet"]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL)


def test_killed_runs_resume_to_the_same_bytes():
    """A few kills; `make kills` does 200."""
    script = Path(__file__).parents[2] / "experiments" / "kills.py"
    done = subprocess.run([sys.executable, script, "--kills", "8"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kills (SIGKILL)" in done.stdout


def test_ctrl_c_leaves_a_checkpoint_and_says_how_to_go_on(parts):
    program = [sys.executable, "-m", "qckm", *WORDS[:-1], "-o", "out.qckm", "--checkpoint-every", "0.000001"]
    run = subprocess.Popen(program, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not os.path.exists("out.qckm.checkpoint") and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate()
    if run.returncode == 0:
        pytest.skip("the run was faster than the signal")
    assert run.returncode == 1
    assert "continue with: qckm sketch 'part*.npy' --scale 2" in err
    assert "--resume" in err
    assert "Traceback" not in err
    assert start(*WORDS, "-o", "out.qckm").wait() == 0
    assert start(*WORDS, "-o", "whole.qckm").wait() == 0
    assert (parts / "out.qckm").read_bytes() == (parts / "whole.qckm").read_bytes()


@pytest.fixture
def halfway(parts, qckm_):
    """A checkpoint after the first file, as a killed run leaves it."""
    assert qckm_(*WORDS, "-o", "out.qckm")[0] == 0
    done = (parts / "out.qckm").read_bytes()
    op = qckm.load("out.qckm").operator
    source = open_source("part*.npy")
    first = next(iter(source.batches()))
    state = State(op.sketch(first.rows), first.after, first.bytes_done)
    options = {
        "columns": None, "dtype": "auto", "on_bad": "error", "operator": None, "n_clusters": None,
        "n_frequencies": 200, "scale": 2.0, "octaves": 1, "law": "auto", "signature": "one-bit", "dither": "paired",
        "standardize": False, "seed": 1,
    }  # fmt: skip
    checkpoints.save(Checkpoint(state, source.stamps, options), "out.qckm.checkpoint")
    return done


def test_resuming_reads_only_the_rest(halfway, parts, qckm_):
    code, _, err = qckm_(*WORDS, "-o", "out.qckm")
    assert code == 0
    assert "resuming after 400,000 rows" in err
    assert (parts / "out.qckm").read_bytes() == halfway
    assert not (parts / "out.qckm.checkpoint").exists()


def test_without_resume_a_checkpoint_is_mentioned_but_not_used(halfway, parts, qckm_):
    code, _, err = qckm_(*WORDS[:-1], "-o", "out.qckm")
    assert code == 0
    assert "starting over" in err
    assert (parts / "out.qckm").read_bytes() == halfway


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda parts: os.utime(parts / "part2.npy", ns=(1, 1)), "part2.npy has changed"),
        (lambda parts: (parts / "part1.npy").unlink(), "part1.npy has vanished"),
        (lambda parts: np.save(parts / "part9.npy", np.zeros((1, 4))), "part9.npy was not there before"),
        (lambda parts: (parts / "out.qckm.checkpoint").write_bytes(b"qckm checkpoint 1\nxx"), "damaged"),
    ],
)
def test_what_changed_since_is_an_error_and_the_old_output_stays(halfway, parts, qckm_, change, said):
    change(parts)
    code, _, err = qckm_(*WORDS, "-o", "out.qckm")
    assert code == 1
    assert said in err
    assert "to start again" in err
    assert (parts / "out.qckm").read_bytes() == halfway


def test_other_options_are_an_error(halfway, parts, qckm_):
    code, _, err = qckm_(*WORDS, "--signature", "exponential", "-o", "out.qckm")
    assert code == 1
    assert "signature was 'one-bit', now it is 'exponential'" in err


def test_a_full_disk_is_an_error_and_the_old_output_stays(halfway, parts, qckm_, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    code, _, err = qckm_(*WORDS, "-o", "out.qckm")
    assert code == 1
    assert "No space left on device" in err
    assert (parts / "out.qckm").read_bytes() == halfway
    assert sorted(name for name in os.listdir(parts) if name.startswith(".")) == []


def test_a_pipe_cannot_be_resumed(parts, qckm_):
    # An operator of a file, so that nothing but the pipe is wrong.
    qckm_(*WORDS, "-o", "out.qckm")
    done = subprocess.run(
        [sys.executable, "-m", "qckm", "sketch", "-", "--operator", "out.qckm", "-o", "p.qckm", "--resume"],
        input=b"a,b,c,d\n1,2,3,4\n",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"--resume needs files" in done.stderr
