"""Errors of the library with what to do about them on the command line."""

import typing

import numpy as np
import pytest

import qckm
from qckm.cli.error_hints import HINTS
from qckm.common import locks
from qckm.errors import Topic

OPERATOR = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)


def test_every_topic_has_a_hint():
    assert set(HINTS) == set(typing.get_args(Topic))


@pytest.fixture
def wrong_files(folder):
    """Beside the usual files: a column of text, a bad row, sketches of two operators, a checkpoint."""
    (folder / "text.csv").write_text("name,x\nAda,1\n")
    (folder / "bad.csv").write_text("a,b\n1,\n")
    (folder / "run.checkpoint").write_bytes(b"qckm checkpoint 1\n")
    OPERATOR.sketch(np.eye(2)).save("one.qckm")
    qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=1).empty().save("other.qckm")
    return folder


@pytest.mark.parametrize(
    "topic, words",
    [
        ("bad rows", "sketch bad.csv --operator one.qckm -o out.qckm"),
        ("checkpoint", "predict rows.csv -m run.checkpoint"),
        ("columns", "fit text.csv -k 2 -o model.json"),
        ("columns", "encode text.csv --operator one.qckm --columns x -o out.bits"),
        ("model", "report rows.csv -o page.html"),
        ("operator", "merge one.qckm other.qckm -o out.qckm"),
        ("sketch", "fit one.qckm -k 2 -o model.json"),
        ("sketch", "predict rows.csv -m one.qckm"),
    ],
)
def test_an_error_comes_with_its_hint(wrong_files, qckm_, topic, words):
    code, _, err = qckm_(*words.split())
    assert code == 1
    assert err.endswith(f" On the command line: {HINTS[topic]}.\n")


def test_too_little_memory_comes_with_its_hint(folder, qckm_, monkeypatch):
    monkeypatch.setenv("QCKM_MEMORY", "1M")
    np.save("wide.npy", np.zeros((10, 1000)))
    code, _, err = qckm_("fit", "wide.npy", "-k", "2", "--frequencies", "20000", "-o", "model.json")
    assert code == 1
    assert err.endswith(f"QCKM_MEMORY=1G. On the command line: {HINTS['frequencies']}.\n")


def test_a_busy_output_comes_with_its_hint(folder, qckm_):
    with locks.locked("out.qckm", kind="run"):
        code, _, err = qckm_("sketch", "rows.csv", "--scale", 1, "--frequencies", 9, "-o", "out.qckm")
    assert code == 1
    assert err.endswith(f" On the command line: {HINTS['output']}.\n")


def test_an_error_without_a_topic_is_left_as_it_is(folder, qckm_):
    code, _, err = qckm_("fit", "rows.csv", "-k", 2, "--columns", "z", "-o", "model.json")
    assert (code, err) == (1, "qckm: rows.csv: expected the column 'z', got a, b.\n")
