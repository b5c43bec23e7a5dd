"""Outputs: none takes the place of what is read, or of another, and what cannot be written is said before the work."""

import os

import pytest

import qckm


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def work(folder, facts):
    """The folder with an operator, a sketch, a model and links to the data."""
    facts("fit", "rows.csv", "-k", 3, "-o", "model.json", "--sketch", "s.qckm")
    facts("operator", "--like", "s.qckm", "-o", "op.qckm")
    os.symlink("rows.csv", "link.csv")
    os.makedirs("data")
    os.rename("part0.parquet", "data/part0.parquet")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "fit rows.csv -k 3 -o rows.csv",
        "fit rows.csv -k 3 -o ./rows.csv",
        "fit rows.csv -k 3 -o link.csv",
        "fit link.csv -k 3 -o rows.csv",
        "fit data -k 3 -o data/part0.parquet",
        "fit data/*.parquet -k 3 -o data/part0.parquet",
        "fit rows.csv -k 3 --sketch rows.csv",
        "fit rows.csv -k 3 --report rows.csv",
        "fit rows.csv -k 3 --operator op.qckm --sketch op.qckm",
        "fit rows.csv -k 3 -o new.json --sketch new.json",
        "fit rows.csv -k 3 -o new.json --report ./new.json",
        "fit rows.csv -k 3 --sketch new --report new",
        "fit rows.csv -k 3 -o new.json --sketch new.json.checkpoint",
        "sketch rows.csv -k 3 -o rows.csv",
        "sketch rows.csv --like op.qckm -o op.qckm",
        "sketch data/*.parquet --like op.qckm --engine dask -o data/part0.parquet",
        "operator rows.csv -k 3 -o rows.csv",
        "operator --like s.qckm -o s.qckm",
        "decode link.csv -k 3 -o rows.csv",
        "predict rows.csv -m model.json -o rows.csv",
        "encode rows.csv --operator op.qckm -o rows.csv",
        "encode rows.csv --operator op.qckm -o op.qckm",
        "pool rows.csv --operator op.qckm -o rows.csv",
        "pool rows.csv --like s.qckm -o s.qckm",
        "export-c op.qckm -o op.qckm",
        "report model.json -o model.json",
        "report model.json --data rows.csv -o rows.csv",
    ],
)
def test_no_output_takes_the_place_of_another_file(work, qckm_, words):
    before = contents(work)
    code, out, err = qckm_(*words.split())
    assert (code, out) == (2, b"")
    assert "Error: Expected" in err
    assert contents(work) == before


@pytest.mark.parametrize(
    "words",
    [
        "fit rows.csv -k 3 --report -",
        "fit rows.csv -k 3 -o - --sketch -",
        "fit rows.csv -k 3 -o new.json --sketch - --report -",
        "fit rows.csv -k 3 -o new.json --report - --json",
        "decode s.qckm -k 3 -o - --json",
        "merge s.qckm --json",
    ],
)
def test_one_thing_goes_to_stdout(work, qckm_, words):
    before = contents(work)
    code, out, err = qckm_(*words.split())
    assert (code, out) == (2, b"")
    assert "stdout" in err
    assert contents(work) == before


def test_a_name_that_is_all_ending_is_refused_before_the_work(work, qckm_):
    code, _, err = qckm_("fit", "rows.csv", "-k", 3, "-o", ".json")
    assert code == 2
    assert "expected a name that ends in .json" in err


def test_sums_are_updated_in_place(work, facts):
    assert facts("merge", "s.qckm", "s.qckm", "-o", "s.qckm")["rows"] == 6000
    facts("sketch", "rows.csv", "--like", "s.qckm", "-o", "one.qckm")
    assert facts("subtract", "s.qckm", "one.qckm", "-o", "s.qckm")["rows"] == 3000


def test_streams_are_like_no_other_file(work, qckm_):
    assert qckm_("fit", "rows.csv", "-k", 3, "--sketch", "/dev/null", "--report", "/dev/null")[0] == 0
    assert qckm_("merge", "s.qckm", "/dev/null", "-o", "/dev/null")[0] == 1  # of what it reads, not of its name
    assert qckm_("report", "model.json", "--data", "data", "-o", "-")[0] == 0


def test_a_folder_may_hold_outputs_that_are_no_data(work, qckm_):
    for _ in range(2):
        assert qckm_("fit", "data", "-k", 3, "-o", "data/model.json", "--sketch", "data/s.qckm")[0] == 0


@pytest.mark.parametrize("option", ["-o", "--sketch", "--report"])
def test_an_output_that_cannot_be_written_is_refused_before_the_data_are_read(folder, qckm_, monkeypatch, option):
    monkeypatch.setattr("qckm.cli.data_to_sketch.sketch_data", lambda *_, **__: pytest.fail("data were read"))
    os.makedirs("taken.json")
    code, _, err = qckm_("fit", "rows.csv", "-k", 3, option, "taken.json")
    assert code == 1
    assert "taken.json: Expected a file to write to, got a folder" in err

    long = "x" * 245 + ".json"  # a temporary file beside it is refused; a read-only folder would not stop root
    code, _, err = qckm_("fit", "rows.csv", "-k", 3, option, long)
    assert (code, err) == (1, f"qckm: {long}: File name too long\n")


def test_a_report_that_fails_does_not_cost_the_model(folder, qckm_, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("qckm.cli.commands.report_command.render", fail)
    code, _, err = qckm_("fit", "rows.csv", "-k", 3, "-o", "m.json", "--sketch", "s.qckm", "--report", "r.html")
    assert code == 1
    assert "No space left" in err
    assert len(qckm.load_model("m.json").centers) == 3
    assert qckm.load("s.qckm").count == 3000
