"""What is said of a CSV reaches the reader from every verb, and JSON lines need nothing said."""

import json

import numpy as np
import pytest


@pytest.fixture
def german(folder):
    rows = np.load("rows.npy")
    lines = [f"{a:.6f};{b:.6f}".replace(".", ",") for a, b in rows]
    (folder / "german.csv").write_text("\n".join(["# Stand: heute", "a;b", *lines]))
    (folder / "plain.csv").write_text("\n".join(["a,b", *(f"{a:.6f},{b:.6f}" for a, b in rows)]))
    (folder / "rows.jsonl").write_text(
        "\n".join(
            json.dumps({"id": f"n{place}", "a": round(a, 6), "b": round(b, 6)}) for place, (a, b) in enumerate(rows)
        )
    )
    return folder


SAID = ("--comment", "#", "--decimal", ",", "--delimiter", ";")
PLAN = ("--scale", 2, "--frequencies", 50, "--seed", 1)


def test_all_formats_give_the_same_sketch(german, qckm_):
    assert qckm_("sketch", "plain.csv", *PLAN, "-o", "plain.qckm")[0] == 0
    assert qckm_("sketch", "german.csv", *PLAN, *SAID, "-o", "german.qckm")[0] == 0
    assert qckm_("sketch", "rows.jsonl", *PLAN, "--columns", "a,b", "-o", "json.qckm")[0] == 0
    assert (german / "plain.qckm").read_bytes() == (german / "german.qckm").read_bytes()
    assert (german / "plain.qckm").read_bytes() == (german / "json.qckm").read_bytes()


def test_every_verb_that_reads_rows_takes_them(german, qckm_):
    assert qckm_("fit", "german.csv", "-k", 3, *SAID, "-o", "m.json")[0] == 0
    assert qckm_("predict", "german.csv", "-m", "m.json", *SAID, "-o", "labels.csv")[0] == 0
    assert qckm_("report", "m.json", "--data", "german.csv", *SAID, "-o", "r.html")[0] == 0
    assert qckm_("operator", "german.csv", "-k", 3, *SAID, "-o", "op.qckm")[0] == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--comment '#'"),
        (("--comment", "#"), "--decimal ,"),
        (("--comment", "##"), "one ASCII character"),
        (("--delimiter", ",", "--decimal", ","), "other than the decimal mark"),
    ],
)
def test_what_was_not_said_is_proposed(german, qckm_, options, said):
    code, _, err = qckm_("fit", "german.csv", "-k", 3, *options, "-o", "m.json")
    assert code in (1, 2)
    assert said in err


def test_a_resumed_run_must_read_in_the_same_way(german, qckm_):
    from qckm.cli.data_to_sketch import SketchTask, _options
    from qckm.cli.options import Reading
    from qckm.planning.plan import Plan
    from qckm.sources.text import TextFormat

    task = SketchTask((), Reading(text=TextFormat(decimal=",")), Plan())
    assert _options(task, None)["decimal"] == ","
