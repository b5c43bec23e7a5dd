"""A doubtful result can fail a job: warnings survive --quiet, and --strict exits with 3."""

import json

import numpy as np
import pytest

import qckm
from qckm.cli import run
from qckm.cli.console import DOUBTFUL


@pytest.fixture
def doubtful(folder):
    """A sketch that does not say where ten clusters are: as many rows, and few frequencies."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(5000, 6))
    np.save("doubtful.npy", rows)
    op = qckm.SketchOperator.draw(n_features=6, n_frequencies=25, scale=0.05, random_state=0)
    op.sketch(rows).save("doubtful.qckm")
    return folder


def test_a_doubtful_model_is_written_with_a_warning_however_quiet(doubtful, qckm_):
    code, out, err = qckm_("decode", "doubtful.qckm", "-k", 10, "-o", "m.json", "-q")
    assert (code, out) == (0, b"")
    assert err.startswith("warning: ")
    assert not qckm.load_model("m.json").facts["converged"]


def test_strict_exits_with_3_and_writes_all_the_same(doubtful, qckm_, monkeypatch):
    words = ["decode", "doubtful.qckm", "-k", 10, "-o", "m.json", "-q"]
    assert qckm_(*words, "--strict")[0] == DOUBTFUL == 3
    assert len(qckm.load_model("m.json").centers) == 10
    monkeypatch.setenv("QCKM_STRICT", "1")
    assert qckm_(*words)[0] == 3
    monkeypatch.setenv("QCKM_STRICT", "0")
    assert qckm_(*words)[0] == 0


def test_a_decoder_without_a_verdict_is_not_reliable_either(folder, facts, qckm_):
    facts("fit", "rows.csv", "-k", 3, "-o", "m.json", "--sketch", "s.qckm", "--strict")  # reliable: 0
    assert qckm_("decode", "s.qckm", "-k", 3, "--decoder", "clompr", "-o", "c.json", "--strict")[0] == 3


def test_a_sample_that_lacks_some_rows_is_doubtful(folder, facts, qckm_):
    facts("operator", "rows.csv", "-k", 3, "-o", "op.qckm")
    facts("sketch", "rows.csv", "--operator", "op.qckm", "-o", "s.qckm")
    rows = np.load("rows.npy")
    np.save("near.npy", rows[rows[:, 0] < 3])
    code, _, err = qckm_("calibrate", "s.qckm", "near.npy", "-o", "w.csv", "--strict", "-q")
    assert code == 3
    assert err.startswith("warning: the sample cannot reproduce the sketch")
    assert qckm_("calibrate", "s.qckm", "rows.npy", "-o", "w.csv", "--strict")[0] == 0


def test_a_report_is_graded_by_its_verdict(folder, facts, qckm_):
    facts("fit", "rows.csv", "-k", 3, "-o", "m.json")
    assert qckm_("report", "m.json", "--data", "rows.csv", "-o", "r.html", "--strict")[0] == 0
    model = json.loads((folder / "m.json").read_text())
    model["facts"]["converged"] = False
    (folder / "m.json").write_text(json.dumps(model))
    assert facts("report", "m.json", "-o", "r.html")["grade"] == "poor"
    assert qckm_("report", "m.json", "-o", "r.html", "--strict")[0] == 3


def test_every_exit_code_is_in_the_help(capsys):
    assert run(["-h"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {code}  " in shown for code in range(4))
    for verb in ("fit", "decode", "choose-k", "calibrate", "report"):
        assert run([verb, "--help"]) == 0
        assert "--strict" in capsys.readouterr().out
