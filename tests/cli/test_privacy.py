"""`qckm operator --ranges`, `privatize`, `pool --local`, and what `info` says of it."""

import json

import numpy as np
import pytest

import qckm
from qckm.cli import run

ROWS = np.random.default_rng(0).normal(size=(500, 2)).clip(-5, 5)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ranges.json").write_text('{"a": [-5, 5], "b": [-6, 6]}')
    lines = "\n".join(",".join(map(repr, row)) for row in ROWS.tolist())
    (tmp_path / "rows.csv").write_text(f"a,b\n{lines}\n")
    assert run(["operator", "--ranges", "ranges.json", "-k", "2", "--frequencies", "20", "-o", "op.qckm", "-q"]) == 0
    assert run(["sketch", "rows.csv", "--operator", "op.qckm", "-o", "secret.qckm", "-q"]) == 0
    return tmp_path


def test_from_ranges_to_a_public_sketch(folder, capsys):
    operator = qckm.load("op.qckm").operator
    assert operator.feature_names == ("a", "b")
    assert np.array_equal(operator.ranges, [[-5, -6], [5, 6]])
    assert run(["privatize", "secret.qckm", "--epsilon", "1", "--delta", "1e-6", "-o", "public.qckm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["neighbours"] == "add-remove"
    assert qckm.load("public.qckm").private
    assert run(["info", "public.qckm"]) == 0
    assert "private: ε = 1 at δ = 1e-06 (ρ = 0.02436) for one row added or removed" in capsys.readouterr().out


def test_what_was_spent_before_is_counted(folder):
    budget = ["--epsilon", "1", "--delta", "1e-6", "-q"]
    assert run(["privatize", "secret.qckm", *budget, "-o", "one.qckm"]) == 0
    assert run(["privatize", "secret.qckm", *budget, "--after", "one.qckm", "-o", "two.qckm"]) == 0
    assert qckm.load("two.qckm").ledger.rho == pytest.approx(2 * qckm.load("one.qckm").ledger.rho)


def test_a_private_sketch_does_not_merge_with_an_exact_one(folder, capsys):
    assert run(["privatize", "secret.qckm", "--rho", "0.1", "-o", "public.qckm", "-q"]) == 0
    assert run(["merge", "public.qckm", "secret.qckm", "-o", "both.qckm"]) == 1
    assert "Cannot add a private sketch and one that is not" in capsys.readouterr().err


def test_an_operator_from_rows_is_refused_with_a_hint(folder, capsys):
    assert run(["sketch", "rows.csv", "-k", "2", "-o", "own.qckm", "-q"]) == 0
    assert run(["privatize", "own.qckm", "--rho", "0.1", "-o", "public.qckm"]) == 1
    assert "--operator-is-public" in capsys.readouterr().err
    assert run(["privatize", "own.qckm", "--rho", "0.1", "--operator-is-public", "-o", "public.qckm", "-q"]) == 0


def test_reports_are_pooled(folder):
    op = qckm.load("op.qckm").operator
    sent = [qckm.privacy.LocalReporter(op, 1.0, device=i).report(row) for i, row in enumerate(ROWS[:20])]
    (folder / "reports.bin").write_bytes(b"".join(sent))
    assert run(["pool", "reports.bin", "--local", "--operator", "op.qckm", "-o", "local.qckm", "-q"]) == 0
    assert qckm.load("local.qckm").count == 20
    assert run(["pool", "reports.bin", "--messages", "--operator", "op.qckm", "-o", "x.qckm", "-q"]) == 1


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "[[1]]", "[[1, 1]]", "[[2, 1]]", '{"a": [0, 1], "a": [0, 2]}', "[[0, NaN]]", '[["0", "1"]]'],
)
def test_ranges_that_may_be_misread_are_refused(folder, text, capsys):
    (folder / "wrong.json").write_text(text)
    assert run(["operator", "--ranges", "wrong.json", "-k", "2", "-o", "x.qckm"]) == 1
    assert "expected ranges as JSON" in capsys.readouterr().err


def test_ranges_need_k_and_no_scale(folder):
    assert run(["operator", "--ranges", "ranges.json", "-o", "x.qckm"]) == 2
    assert run(["operator", "rows.csv", "--private", "-k", "2", "-o", "x.qckm"]) == 2
    assert run(["operator", "--ranges", "ranges.json", "-k", "2", "--scale", "1", "-o", "x.qckm"]) == 2
    assert run(["operator", "rows.csv", "--ranges", "ranges.json", "-k", "2", "-o", "x.qckm"]) == 2
