"""Errors of the library with what to do about them on the command line."""

import io
import subprocess
import sys
import typing
import zipfile

import numpy as np
import pytest

import qckm
from qckm.cli.console import HINTS
from qckm.common import atomic
from qckm.errors import Topic


def zipped(name):
    """Return a zip archive with one file of a name in it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, "a,b\n1,2\n")
    return out.getvalue()


OPERATOR = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)


def test_every_topic_has_a_hint():
    assert set(HINTS) == set(typing.get_args(Topic))


@pytest.fixture
def wrong_files(folder):
    """Beside the usual files: a column of text, a bad row, sketches of two operators, a checkpoint."""
    (folder / "text.csv").write_text("name,x\nAda,1\n")
    (folder / "texts.csv").write_text("name,x,y\nAda,1,2\n")
    (folder / "bad.csv").write_text("a,b\n1,\n")
    (folder / "run.checkpoint").write_bytes(b"qckm checkpoint 1\n")
    OPERATOR.sketch(np.eye(2)).save("one.qckm")
    named = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0, feature_names=["a", "b"])
    named.empty().save("ab.qckm")
    qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=1).empty().save("other.qckm")
    return folder


@pytest.mark.parametrize(
    "words, hint",
    [
        ("sketch bad.csv --operator one.qckm -o out.qckm", "--on-bad skip"),
        ("operator bad.csv -k 2 -o out.qckm", "--on-bad skip"),
        ("calibrate one.qckm bad.csv", "--on-bad skip"),
        ("decode one.qckm -k 1 --rows bad.csv -o m.json", "--on-bad skip"),
        ("predict rows.csv -m run.checkpoint", "the command of that run, with --resume, finishes it"),
        ("fit text.csv -k 2 -o model.json", "--columns x"),
        ("fit texts.csv -k 2 -o model.json", "--exclude name"),
        ("encode text.csv --operator ab.qckm --columns x -o out.bits", "--columns a,b"),
        ("report rows.csv -o page.html", "`qckm fit rows.csv -k 10 -o model.json` makes a model"),
        ("merge one.qckm other.qckm -o out.qckm", "`qckm operator DATA -k 10 -o operator.qckm` draws one"),
        ("fit one.qckm -k 2 -o model.json", "`qckm decode one.qckm -k 2 -o model.json` makes a model of it"),
        ("predict rows.csv -m one.qckm", "`qckm decode one.qckm -k 10 -o model.json` makes a model of it"),
        ("decode rows.csv --k 4 -o model.json", "`qckm sketch rows.csv -k 4 -o rows.qckm` makes a sketch"),
        ("decode part0.parquet -k 4 -o m.json", "`qckm sketch part0.parquet -k 4 -o part0.qckm` makes a sketch"),
    ],
)
def test_an_error_comes_with_a_remedy_to_paste(wrong_files, qckm_, words, hint):
    code, _, err = qckm_(*words.split())
    assert code == 1
    assert f" On the command line: {hint}" in err


@pytest.mark.parametrize(
    "name, content, said",
    [
        (
            "book.xlsx",
            zipped("[Content_Types].xml"),
            "an Excel workbook: export them as Parquet or CSV. On the command",
        ),
        (
            "rows.zip",
            zipped("rows.csv"),
            "a zip archive: export them as Parquet or CSV. On the command line: `unzip rows",
        ),
        ("rows.csv.xz", b"\xfd7zXZ\0\0\4\xe6\xd6", "`xz --decompress --keep rows.csv.xz`"),
        (
            "rows.duckdb",
            bytes(8) + b"DUCK" + bytes(64),
            "`duckdb rows.duckdb \"EXPORT DATABASE 'rows' (FORMAT parquet)\"`",
        ),
        ("rows.db", b"SQLite format 3\0" + bytes(84), "got an SQLite database"),
        ("utf16.csv", "a,b\n1,2\n".encode("utf-16"), "`iconv -f UTF-16 -t UTF-8 utf16.csv > utf16-utf8.csv`"),
        ("no-mark.csv", "a,b\n1,2\n".encode("utf-16-be"), "got text in UTF-16"),
        ("rows.orc", b"ORC" + bytes(99), "import pyarrow.orc"),
        ("login.csv", b"\n<!DOCTYPE html><html>", "got a web page: export them as Parquet or CSV."),
        (
            "rows.json",
            b'[{"a": 1}, {"a": 2}]',
            "Write its objects one per line. On the command line: `jq -c '.[]' rows",
        ),
        ("rows.h5", b"\x89HDF\r\n\x1a\n" + bytes(64), "got an HDF5 file: export them as Parquet or CSV.\n"),
        ("model.json", b'{"format": "qckm-model/1"}', "expected rows, got a model: qckm.load_model reads it."),
    ],
)
@pytest.mark.parametrize("verb", ["fit", "predict"])
def test_a_file_that_is_not_read_is_known_by_its_first_bytes(folder, qckm_, facts, verb, name, content, said):
    (folder / name).write_bytes(content)
    if verb == "predict":
        facts("fit", "rows.csv", "-k", 3, "-o", "m.json")
    code, _, err = qckm_(*(("fit", name, "-k", 2) if verb == "fit" else ("predict", name, "-m", "m.json")))
    assert code == 1
    assert said in err


@pytest.mark.parametrize("words", [("info", "book.xlsx"), ("predict", "rows.csv", "-m", "book.xlsx")])
def test_a_workbook_is_not_taken_for_a_model(folder, qckm_, words):
    (folder / "book.xlsx").write_bytes(zipped("[Content_Types].xml"))
    code, _, err = qckm_(*words)
    assert code == 1
    assert "book.xlsx: expected a model file: got an Excel workbook. On the command line: `python -c" in err


def test_separators_of_thousands_are_not_taken_for_decimal_commas(folder, qckm_):
    (folder / "thousands.csv").write_text('a,b\n1,"1,866"\n2,"12,075.5"\n')
    (folder / "decimals.csv").write_text("a;b\n1;1,86\n2;1,5\n")
    assert "If these commas separate thousands, remove them" in qckm_("fit", "thousands.csv", "-k", 2)[2]
    assert "thousands" not in qckm_("fit", "decimals.csv", "-k", 2)[2]


def test_a_pipe_is_known_by_its_first_bytes_too(folder):
    done = subprocess.run(
        [sys.executable, "-m", "qckm", "fit", "-", "-k", "2"],
        input=zipped("rows.csv"),
        capture_output=True,
    )
    assert done.returncode == 1
    assert b"standard input: expected rows, got a zip archive: export them as Parquet or CSV.\n" in done.stderr


def test_too_little_memory_comes_with_its_hint(folder, qckm_, monkeypatch):
    monkeypatch.setenv("QCKM_MEMORY", "1M")
    np.save("wide.npy", np.zeros((10, 1000)))
    code, _, err = qckm_("fit", "wide.npy", "-k", "2", "--frequencies", "20000", "-o", "model.json")
    assert code == 1
    assert err.endswith(f"QCKM_MEMORY=1G. On the command line: {HINTS['frequencies']}.\n")


def test_a_busy_output_comes_with_its_hint(folder, qckm_):
    with atomic.locked("out.qckm", kind="run"):
        code, _, err = qckm_("sketch", "rows.csv", "--scale", 1, "--frequencies", 9, "-o", "out.qckm")
    assert code == 1
    assert err.endswith(f" On the command line: {HINTS['output']}.\n")


def test_an_error_without_a_topic_is_left_as_it_is(folder, qckm_):
    code, _, err = qckm_("fit", "rows.csv", "-k", 2, "--columns", "z", "-o", "model.json")
    assert (code, err) == (1, "qckm: rows.csv: expected the column 'z', got a, b.\n")
