"""What is odd about rows or centroids is said by every verb that sees it, with a remedy, and is in the model."""

import numpy as np
import pytest

import qckm
from qckm.cli.sketch_to_model import _joined
from qckm.errors import Remark


@pytest.fixture
def people(folder):
    rng = np.random.default_rng(1000)
    number = np.arange(600)
    age, income = rng.integers(18, 80, 600), rng.lognormal(10, 0.5, 600).round(2)
    header = "number,age,income"
    rows = np.column_stack([number, age, income])
    np.savetxt(folder / "people.csv", rows, header=header, comments="", delimiter=",", fmt="%.10g")
    np.savetxt(folder / "bare.csv", rows[:, 1:] / [1, 1000], delimiter=",", fmt="%.10g")
    return folder


def report_of(model):
    from qckm.report import render

    return render(qckm.load_model(model))


def test_a_row_number_is_told_by_all_verbs_and_the_report(people, qckm_):
    said = "warning: Column 'number' counts the rows"
    _, _, err = qckm_("operator", "people.csv", "-k", 2, "--columns", "number,age", "-o", "op.qckm")
    assert said in err
    assert "read age alone. On the command line: --columns" in err
    _, _, err = qckm_("sketch", "people.csv", "-k", 2, "--columns", "number,age", "-o", "s.qckm")
    assert said in err
    _, _, err = qckm_("decode", "s.qckm", "-k", 2, "--rows", "people.csv", "-o", "d.json")
    assert said in err
    _, _, err = qckm_("fit", "people.csv", "-k", 2, "--columns", "number,age", "-o", "f.json")
    assert err.count(said) == 1
    for model in ("d.json", "f.json"):
        page = report_of(model)
        assert "counts the rows" in page
        assert "This looks sound." not in page


def test_age_beside_income_is_told_and_standardizing_helps(people, qckm_):
    _, _, err = qckm_("fit", "people.csv", "-k", 2, "--columns", "age,income", "-o", "m.json")
    assert err.count("Column 'income' makes up") == 1
    assert "--standardize" in err
    assert "This looks sound." not in report_of("m.json")
    _, _, err = qckm_("fit", "people.csv", "-k", 2, "--columns", "age,income", "--standardize", "-o", "m.json")
    assert "makes up" not in err
    _, _, err = qckm_("sketch", "people.csv", "-k", 2, "--columns", "age,income", "-o", "s.qckm")
    assert "of the squared distances between rows" in err


def test_a_first_line_of_numbers_is_told_in_the_report(people, qckm_):
    _, _, err = qckm_("fit", "bare.csv", "-k", 2, "-o", "m.json")
    assert "the first line holds numbers only" in err
    assert "the first line holds numbers only" in report_of("m.json")
    qckm_("fit", "bare.csv", "-k", 2, "--no-header", "-o", "m.json")
    assert "the first line" not in report_of("m.json")


def test_rows_that_are_all_the_same_are_told(folder, qckm_):
    np.save("same.npy", np.ones((100, 2)))
    code, _, err = qckm_("fit", "same.npy", "-k", 2, "-o", "m.json")
    assert code == 0
    assert "warning: All rows are the same" in err
    assert "This looks sound." not in report_of("m.json")


def test_one_row_far_away_is_told_with_its_column_and_value(folder, qckm_):
    rows = np.load("rows.npy")
    rows[7, 1] = 1e140
    np.savetxt("far.csv", rows, header="a,b", comments="", delimiter=",")
    _, _, err = qckm_("sketch", "far.csv", "--scale", 2, "--frequencies", 100, "-o", "s.qckm")
    assert "1 row (0.03%) lies too far from the others to be coded" in err
    assert "column 'b' reaches 1e+140" in err
    qckm_("decode", "s.qckm", "-k", 3, "-o", "m.json")
    assert "1 row lies too far" in report_of("m.json")


def test_a_summary_says_what_was_written_where_and_whether_to_believe_it(folder, qckm_):
    _, _, err = qckm_("fit", "rows.csv", "-k", 3, "-o", "m.json", "--sketch", "s.qckm", "--report", "r.html")
    *_, sketch, report, model, verdict = err.splitlines()
    assert (sketch, report) == ("s.qckm: the sketch", "r.html: a report")
    assert model.startswith("m.json: 3 centroids of 3,000 rows, columns a, b, decoded in")
    assert verdict.startswith("verdict: reliable; ")
    assert "sum of squared distances (SSE) " in verdict
    _, _, err = qckm_("merge", "s.qckm", "s.qckm", "-o", "all.qckm")
    assert "all.qckm: 6,000 rows, columns a, b, in " in err


def test_a_column_is_told_of_once_whoever_tells():
    """By its name as a value: another column's remark may begin with the same words."""
    by_sketch = Remark("Column 'a' counts the rows.", code="identifier", column="a")
    by_rows = Remark("Column 'a' is called like an identifier.", code="identifier", column="a")
    other = Remark("Column 'a' 's' is called like an identifier.", code="identifier", column="a' 's")
    assert _joined([by_sketch], [by_rows, other, "Plain words."]) == (by_sketch, other, "Plain words.")
