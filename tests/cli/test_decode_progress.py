"""Decoding says what it is at, and Ctrl-C gives the best so far."""

import contextlib
import os
import signal

import numpy as np
import pytest

import qckm
from qckm.cli import console


@pytest.fixture
def hard(folder, qckm_):
    """A sketch that no three clusters explain: the search goes on until it has no patience left."""
    rng = np.random.default_rng(1000)
    op = qckm.SketchOperator.draw(2, 60, scale=1.0, random_state=0)
    op.sketch(rng.uniform(-5, 5, size=(20_000, 2))).save("hard.qckm")


def test_lines_say_what_is_done(hard, qckm_, monkeypatch):
    monkeypatch.setattr(console, "_SECONDS_PER_LINE", 0.0)
    monkeypatch.setattr("qckm.decoding.search.attempts.EFFORT", 1e6)
    monkeypatch.setattr("qckm.decoding.search.scales.PATIENCE", 1e7)
    _, _, err = qckm_("decode", "hard.qckm", "-k", 3, "-o", "m.json")
    assert "decoding: searching, " in err
    assert "decoding: clustering, " in err
    _, _, err = qckm_("decode", "hard.qckm", "-k", 3, "-o", "m.json", "--quiet")
    assert err == ""


def test_ctrl_c_writes_the_best_so_far_and_says_so(hard, qckm_, monkeypatch):
    steps = []

    def press(words):
        steps.append(words().split(",")[0])
        if steps.count("searching") == 20:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(console.Console, "showing", lambda *_, **__: contextlib.nullcontext(press))
    before = signal.getsignal(signal.SIGINT)
    code, _, err = qckm_("decode", "hard.qckm", "-k", 3, "-o", "m.json")
    assert code == 1
    assert "stopping: the best so far will be written" in err
    assert "warning: The search was stopped: these are the best centroids so far." in err
    assert "see the warning" in err
    model = qckm.load_model("m.json")
    assert model.centers.shape == (3, 2)
    assert model.facts["remarks"][0].startswith("The search was stopped")
    assert signal.getsignal(signal.SIGINT) == before


def test_ctrl_c_twice_stops_at_once(hard, qckm_, monkeypatch):
    def press(words):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(console.Console, "showing", lambda *_, **__: contextlib.nullcontext(press))
    code, _, err = qckm_("decode", "hard.qckm", "-k", 3, "-o", "m.json")
    assert code == 1
    assert err.endswith("qckm: stopped\n")
    assert not os.path.exists("m.json")
