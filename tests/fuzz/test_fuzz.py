"""A short `make fuzz` with a seed that is new every time, and whether fuzzing would find anything at all."""

import csv
import importlib
import os
from collections import Counter

import pytest

pytest.importorskip("resource", reason="the children's limits are those of Unix")

from fuzz.__main__ import COLUMNS, ROOT, record, summary
from fuzz.child import input_of
from fuzz.harness import fuzz
from fuzz.limits import FINDINGS, SHARES, Limits
from fuzz.planted import KINDS


def test_nothing_is_found_in_a_few_inputs_of_every_target(fuzz_seed, tmp_path):
    turns = 30
    found = fuzz(list(SHARES), fuzz_seed, turns * sum(SHARES.values()), jobs=1, kept=tmp_path)
    assert not found.findings, f"seed {fuzz_seed}: " + "\n".join(map(str, found.findings))
    assert {name: counts.total() for name, counts in found.counts.items()} == {
        name: turns * share for name, share in SHARES.items()
    }


def test_faults_that_were_planted_are_found_each_under_its_number(tmp_path, capsys):
    seed, count = 879, 14  # in these few there is one of each
    planted = {number: KINDS[input_of("planted", seed, number)] for number in range(count)}
    assert {input_of("planted", seed, number) for number in range(count)} == set(KINDS)
    limits = Limits(computing=1.5, waiting=4, megabytes=100)
    report = fuzz(["planted"], seed, count, jobs=1, kept=tmp_path, limits=limits)
    assert {finding.number: finding.kind for finding in report.findings} == {
        number: kind for number, kind in planted.items() if kind in FINDINGS
    }
    assert report.counts["planted"] == Counter(planted.values())
    first = report.findings[0]
    assert first.path.read_bytes() == input_of("planted", seed, first.number)
    assert f"ONLY=planted SEED={seed} NUMBER={first.number}" in capsys.readouterr().out


def test_a_fuzzer_that_fails_itself_is_no_finding(tmp_path):
    with pytest.raises(RuntimeError, match="fuzzers themselves fail"):
        fuzz(["no_such_target"], 1, 10, jobs=1, kept=tmp_path)


@pytest.mark.parametrize("target", ["numpy_files", "parquet_files", "arrow_files"])
def test_what_is_so_damaged_that_it_is_text_is_not_compared_with_what_it_was(target, tmp_path):
    assert importlib.import_module(f"fuzz.{target}").check(b"f", tmp_path) == "text"


def test_counts_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("fuzz.__main__.ROOT", tmp_path)
    report = fuzz(["numpy_files"], 1, 20, jobs=1, kept=tmp_path)
    for seed in (1, 2):
        record(report, seed, tmp_path / "fuzz.csv")
    assert summary(tmp_path / "fuzz.csv")[0].startswith("recorded so far, in fuzz.csv: 40 inputs: ")
    with open(tmp_path / "fuzz.csv", newline="") as file:
        assert [row["seed"] for row in csv.DictReader(file)] == ["1", "2"]


def test_the_counts_that_were_recorded_add_up():
    path = ROOT / "experiments" / "results" / "fuzz.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    for row in rows:
        assert sum(int(row[name]) for name in COLUMNS[5:]) == int(row["inputs"])
        assert int(row["loaded"]) > int(row["inputs"]) / 50, "what is always refused tests little"
    last = {row["target"]: row for row in rows}
    assert set(last) == set(SHARES)
    assert not any(int(row[kind]) for row in last.values() for kind in FINDINGS), "what was found is to be closed"


@pytest.fixture
def fuzz_seed():
    return int(os.environ["QCKM_FUZZ_SEED"])
