"""Completion, through the protocol by which bash, zsh and fish ask for it."""

import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from qckm.cli import VERBS, cli

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@pytest.fixture
def proposed(folder, monkeypatch):
    """Return the values that a shell is told for a line; the last word is the one that is typed."""
    (folder / "people.csv").write_text("name,height,weight\nAda,1,2\n")
    pq.write_table(pa.table({"id": ["x"], "age": [1], "income": [2.0]}), "people.parquet")

    def ask(line, shell="bash"):
        words = line.split(" ")
        monkeypatch.setenv("COMP_WORDS", " ".join(words))
        monkeypatch.setenv("COMP_CWORD", words[-1] if shell == "fish" else str(len(words) - 1))
        lines = SHELLS[shell](cli, {}, "qckm", "_QCKM_COMPLETE").complete().split("\n")
        if shell == "zsh":
            return lines[1::3]
        return [line.split(",", 1)[1].split("\t")[0] for line in lines if "," in line]

    return ask


@pytest.mark.parametrize("shell", SHELLS)
def test_verbs_values_and_columns(proposed, shell):
    assert proposed("qckm de", shell) == ["decode", "demo"]
    assert proposed("qckm fit people.csv --signature o", shell) == ["one-bit"]
    assert proposed("qckm fit people.csv --decoder ", shell) == ["auto", "matched", "clompr"]
    assert proposed("qckm fit people.csv --columns ", shell) == ["height", "weight"]


def test_every_verb_is_proposed_and_none_is_imported(proposed, monkeypatch):
    monkeypatch.setattr("importlib.import_module", lambda name: pytest.fail(name))
    assert proposed("qckm ") == list(VERBS)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("qckm fit people.parquet -k 3 -c ", ["age", "income"]),
        ("qckm sketch people.csv --columns height,", ["height,weight"]),
        ("qckm sketch people.csv --columns height -c ", ["weight"]),
        ("qckm predict people.csv -m m.json --keep n", ["name"]),
        ("qckm predict people.parquet -m m.json --keep id,a", ["id,age"]),
        ("qckm operator people.csv --columns w", ["weight"]),
        ("qckm calibrate s.qckm people.csv --columns w", ["weight"]),
        ("qckm report m.json --data people.csv --columns w", ["weight"]),
        ("qckm choose-k people.csv -c w", ["weight"]),
        ("qckm fit --columns ", []),
        ("qckm fit nowhere.csv --columns ", []),
        ("qckm fit https://nowhere/rows.csv --columns ", []),
        ("qckm sketch people.csv --device c", ["cpu", "cuda"]),
        ("qckm sketch people.csv --delimiter t", ["tab"]),
        ("qckm drift a.qckm b.qckm --statistic w", ["whitened"]),
    ],
)
def test_what_fits_the_words_before(proposed, line, expected):
    assert proposed(line) == expected


@pytest.mark.parametrize(
    "line", ["merge ", "subtract all", "info ", "fit ", "decode ", "predict x.csv -m ", "fit x -o "]
)
def test_files_are_left_to_the_shell(proposed, monkeypatch, line):
    proposed(f"qckm {line}")
    assert BashComplete(cli, {}, "qckm", "_QCKM_COMPLETE").complete().startswith("file,")


def test_a_pipe_is_not_waited_for(proposed):
    os.mkfifo("pipe.csv")
    assert proposed("qckm fit pipe.csv --columns ") == []


def test_the_program_answers_a_shell(folder):
    told = {"_QCKM_COMPLETE": "bash_complete", "COMP_WORDS": "qckm fit rows.csv -c ", "COMP_CWORD": "4"}
    code = "import sys; sys.argv = ['qckm']; import qckm.cli; qckm.cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | told, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("plain,a\nplain,b\n", "")
