"""Sentences that a user gets for common mistakes: what, where, and what to do."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm


@pytest.fixture
def mistakes(folder):
    lines = ["height,weight", *(f"{n},{n % 7}" for n in range(50))]
    for name, line in {"text": "1.5,heavy", "empty": "1.5,", "inf": "1.5,inf", "far": "1.5,1e300"}.items():
        (folder / f"{name}.csv").write_text("\n".join([*lines[:11], line, *lines[11:]]))
    (folder / "quoted.csv").write_text('a,b\n1,"2\n"\n\n3,"x\ny"\n')
    (folder / "ragged.csv").write_text("a,b\n1,2\n3,x\n4\n")
    (folder / "people.csv").write_text("\n".join(lines))
    pq.write_table(pa.table({"x": [1.0, None]}), "null.parquet")
    qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0).sketch(np.eye(2)).save("s.qckm")
    return folder


WHERE = "in line 12 (row 10, the first is 0), column 'weight'"
PLAN = ("--scale", 1, "--frequencies", 9, "-o", "o.qckm")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sketch", "text.csv", *PLAN), f"text.csv: expected a finite number {WHERE}, got 'heavy'. "),
        (("sketch", "empty.csv", *PLAN), f"empty.csv: expected a finite number {WHERE}, got nothing. "),
        (("sketch", "inf.csv", *PLAN), f"inf.csv: expected a finite number {WHERE}, got 'inf'. "),
        (("sketch", "quoted.csv", "-c", "a,b", *PLAN), "in line 2 (row 0, the first is 0), column 'b', got '2\\n'. "),
        (("sketch", "ragged.csv", *PLAN), "in line 3 (row 1, the first is 0), column 'b', got 'x'. "),
        (("sketch", "null.parquet", *PLAN), "got a missing value (null or NaN) in row 1 (the first is 0), column 'x'"),
        (("fit", "far.csv", "-k", 2), "got up to 1e+300 in column 1 (the first is 0)"),
        (
            ("fit", "people.csv", "-k", 2, "-c", "wieght"),
            "the column 'wieght' (did you mean 'weight'?), got height, weight.",
        ),
        (("fit", "people.csv", "-k", 2, "-c", "Height"), "the column 'Height' (did you mean 'height'?)"),
        (
            ("predict", "people.csv", "-m", "s.qckm"),
            "got a sketch: decode it first, with qckm.decode. On the command line:",
        ),
        (
            ("sketch", "people.csv", "--operator", "fleet.qckm"),
            "fleet.qckm: No such file or directory. `qckm operator people.csv -k 10",
        ),
        (("predict", "peopel.csv", "-m", "s.qckm"), "s.qckm: expected a model"),
        (("fit", "peopel.csv", "-k", 2), "peopel.csv: No such file or directory. Did you mean people.csv?"),
    ],
)
def test_what_where_and_what_to_do(mistakes, qckm_, words, said):
    code, _, err = qckm_(*words)
    assert code == 1
    assert said in err


@pytest.mark.parametrize("number", ["abc", "0", "-3", "1.5", ""])
def test_a_number_of_clusters_that_is_none(mistakes, qckm_, number):
    code, _, err = qckm_("fit", "people.csv", "-k", number)
    assert code == 2
    assert f"expected a whole number of 1 or more, got {number!r}." in err


def test_a_number_that_is_none(mistakes, qckm_):
    assert "expected a number, got 'abc'" in qckm_("drift", "s.qckm", "s.qckm", "--level", "abc")[2]
    assert "expected a number, got 'abc'" in qckm_("sketch", "people.csv", "--scale", "abc")[2]


def test_a_bad_cell_is_an_error_and_no_crash(mistakes):
    """Python aborted here while it ended: the thread that reads was inside pyarrow."""
    command = [sys.executable, "-m", "qckm", "sketch", "text.csv", *map(str, PLAN)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "pandas" not in done.stderr
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
