"""Holes in texts that are written that attacks found in the second round (issue 33), by their numbers there."""

import csv
import json
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import qckm
from qckm.cli import run
from qckm.common.text import guarded, line
from qckm.errors import FileError
from qckm.models import Model, read_model, to_json

IDS = [
    "plain", "bare\rreturn", "new\nline", "a,b", 'say "x"', "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "＝1",
    "\t=1", "'=quoted", "''=twice", "-5.25", "+4e3", "O'Neill", "", " =1", "ö", "\ufeff=1", "-١",
]  # fmt: skip


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Model(np.array([[0.0], [9.0]]), np.full(2, 0.5), np.zeros(2), np.ones(2 // 2), ("x",)).save("m.json")


# --- 7: kept columns in CSV ---


@pytest.mark.parametrize("name", ["id", "=1+1", "\ufeff=1", 'a "b"', "two\nlines"])
def test_7_every_row_is_one_record_and_every_text_comes_back(model, name):
    pq.write_table(pa.table({name: IDS, "x": np.arange(float(len(IDS)))}), "rows.parquet")
    assert run(["predict", "rows.parquet", "-m", "m.json", "--columns", "x", "--keep", name, "-o", "l.csv", "-q"]) == 0
    with open("l.csv", newline="") as file:
        header, *lines = csv.reader(file, strict=True)
    assert header == [guarded(name), "cluster"]
    assert len(lines) == len(IDS)
    assert [unguarded(cell) for cell, _ in lines] == IDS
    for cell, _ in lines:
        assert cell in ("-5.25", "+4e3") or not cell.lstrip(" \ufeff").startswith(tuple("=+-@＝\t\r\n"))
    # Our own reader finds as many rows, in the file and in a pipe.
    assert (
        run(["predict", "l.csv", "-m", "m.json", "--columns", "cluster", "--keep", "0", "-o", "again.csv", "-q"]) == 0
    )
    with open("again.csv", newline="") as file:
        assert len(list(csv.reader(file))) == len(IDS) + 1


def unguarded(cell):
    """Undo the rule as the docs state it."""
    stem = cell.lstrip("'")
    is_formula = stem.lstrip(" \ufeff").startswith(tuple("=+-@＝＋－＠\t\r\n"))
    return cell[1:] if cell.startswith("'") and is_formula and not is_number(stem) else cell


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and text.strip().lstrip("+-")[:1] in set("0123456789.")


@given(st.lists(st.text(st.sampled_from("'=+-@＝ \t\r\n\",a1.e")), min_size=2, max_size=5))
@example(["'-1", "=1"])
def test_7_any_texts_come_back(texts):
    (found,) = csv.reader([line([guarded(text) for text in texts])], strict=True)
    assert [unguarded(cell) for cell in found] == texts


def test_7_numbers_that_are_kept_stay_numbers(model):
    table = pa.table({"n": [-1.5, float("-inf"), None], "day": pa.array([-1, 0, 1], pa.date32()), "x": [1.0, 2.0, 3.0]})
    pq.write_table(table, "rows.parquet")
    assert run(["predict", "rows.parquet", "-m", "m.json", "-c", "x", "--keep", "n,day", "-o", "l.csv", "-q"]) == 0
    with open("l.csv") as file:
        assert file.read() == "n,day,cluster\n-1.5,1969-12-31,0\n-inf,1970-01-01,0\n,1970-01-02,0\n"


# --- 10: models that say two things ---


def forged(**changes):
    model = Model(np.eye(2), np.full(2, 0.5), np.zeros(2), np.ones(2), ("a", "b"), {"rows": 9})
    return json.dumps(json.loads(to_json(model)) | changes)


@pytest.mark.parametrize("count", [10**18, 3, 1, 2.0, True, None, "2"])
def test_10_a_number_of_clusters_that_is_not_that_of_the_centers_is_refused(count):
    with pytest.raises(FileError, match="expected n_clusters to be 2"):
        read_model(forged(n_clusters=count).encode(), "x")


@pytest.mark.parametrize("key", ["centers", "facts", "format", "rows"])
def test_10_a_key_that_is_there_twice_is_refused(key):
    text = forged()
    assert read_model(text.encode(), "x").facts == {"rows": 9}
    twice = text.replace(f'"{key}": ', f'"{key}": 1, "{key}": ', 1)
    with pytest.raises(FileError, match=f"a key is there twice: '{key}'"):
        read_model(twice.encode(), "x")


def test_10_arrays_and_notes_that_are_there_twice_are_refused(tmp_path):
    """Of two, this reader took one, and another reader would take the other."""
    model = Model(np.eye(2), np.full(2, 0.5), np.zeros(2), np.ones(2), ("a", "b"), {"rows": 9})
    path = tmp_path / "m.npz"
    model.save(path)
    with zipfile.ZipFile(path, "a") as archive:
        first = archive.namelist()[0]
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(first, archive.read(first))
    with pytest.raises(FileError, match="expected each array once"):
        read_model(path.read_bytes(), "m.npz")

    path = tmp_path / "m.parquet"
    model.save(path)
    table = pq.read_table(path)
    ((key, text),) = table.schema.metadata.items()
    for second in ((key, text.replace(b"9", b"8")), (b"qckm-model/2", text)):
        schema = pa.schema(list(table.schema), metadata=pa.KeyValueMetadata([(key, text), second]))
        pq.write_table(pa.Table.from_arrays(table.columns, schema=schema), path)
        with pytest.raises(FileError, match="several models"):
            read_model(path.read_bytes(), "m.parquet")


ROWS = np.random.default_rng(0).normal(size=(300, 2))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16])
def test_10_a_number_of_clusters_may_be_of_a_small_type_of_numpy(kind):
    """As the greatest of some labels is: products with it overflowed, or were another number in silence."""
    km = qckm.CompressiveKMeans(kind(3), random_state=0).fit(ROWS)
    assert np.array_equal(km.cluster_centers_, qckm.CompressiveKMeans(3, random_state=0).fit(ROWS).cluster_centers_)
    mixture = qckm.CompressiveGaussianMixture(kind(2), random_state=0).fit(ROWS)
    assert len(mixture.means_) == 2


@pytest.mark.parametrize("K", [True, np.True_])
def test_10_a_number_of_clusters_is_no_truth_value(K):
    op = qckm.SketchOperator.draw(2, 50, 1.0, random_state=0)
    for ask in (
        lambda: qckm.decode(op.sketch(ROWS), K),
        lambda: qckm.CompressiveKMeans(K).fit(ROWS),
        lambda: qckm.CompressiveGaussianMixture(K).fit(ROWS),
        lambda: qckm.SketchOperator.from_ranges([0, 0], [1, 1], K),
    ):
        with pytest.raises(ValueError, match=r"whole number >= 1, got|must be an int in the range"):
            ask()
