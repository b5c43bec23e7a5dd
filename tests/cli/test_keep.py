"""`predict --keep`: columns of any kind come through as they are, row by row."""

import csv
import datetime
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from qckm.models import Model

DAY = datetime.date(2026, 1, 1)


@pytest.fixture
def people(folder):
    """Rows in six formats, in which the id tells the label: of 3000, every third belongs to cluster 1."""
    Model(np.array([[0.0, 0], [9, 9]]), np.full(2, 0.5), np.zeros(2), np.ones(2), ("a", "b")).save("m.json")
    place = np.arange(3000)
    ids = [f"{n:05}, ö" if n % 7 == 0 else f"{n:05}" for n in place]
    x = np.where(place % 3 == 0, 9.0, 0.0)
    table = pa.table({"id": ids, "a": x, "day": [DAY + datetime.timedelta(int(n)) for n in place], "b": x + 0.5})
    pq.write_table(table, "t.parquet", row_group_size=700)
    with pa.OSFile("t.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=900)
    with pa.OSFile("t.arrows", "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=900)
    with open("t.csv", "w", newline="") as file:
        csv.writer(file).writerows([table.column_names, *zip(*(column.to_pylist() for column in table), strict=True)])
    with open("t.jsonl", "w") as file:
        for row in table.to_pylist():
            file.write(json.dumps(row | {"day": str(row["day"])}) + "\n")
    return ids


def read(path):
    if path.endswith(".csv"):
        with open(path, newline="") as file:
            return list(csv.DictReader(file))
    table = pq.read_table(path) if path.endswith(".parquet") else pa.ipc.open_file(pa.OSFile(path)).read_all()
    return table.to_pylist()


@pytest.mark.parametrize("source", ["t.parquet", "t.arrow", "t.arrows", "t.csv", "t.jsonl"])
@pytest.mark.parametrize("target", ["o.csv", "o.parquet", "o.arrow"])
def test_ids_and_dates_stay_beside_their_rows(people, qckm_, source, target):
    code, _, err = qckm_("predict", source, "-m", "m.json", "--keep", "id,day", "--distance", "-o", target)
    assert code == 0, err
    assert err.startswith(f"{target}: 3,000 rows labelled, columns id, day, cluster, distance\nrows by cluster: 0: ")
    found = read(target)
    assert list(found[0]) == ["id", "day", "cluster", "distance"]
    assert [row["id"] for row in found] == people
    assert [int(row["cluster"]) for row in found] == [int(n % 3 == 0) for n in range(3000)]
    assert str(found[31]["day"]) == "2026-02-01"


def test_types_stay_where_the_format_has_types(people, qckm_):
    qckm_("predict", "t.parquet", "-m", "m.json", "--keep", "day,id", "-o", "o.parquet")
    assert pq.read_schema("o.parquet").field("day").type == pa.date32()


def test_bad_rows_keep_their_columns(folder, qckm_):
    Model(np.zeros((1, 1)), np.ones(1), np.zeros(1), np.ones(1), ("x",)).save("m.json")
    (folder / "t.csv").write_text("id,x\na,1\nb,\nc\nd,oops\né,5\n")
    code, out, _ = qckm_("predict", "t.csv", "-m", "m.json", "--keep", "id", "--on-bad", "skip")
    assert code == 0
    assert out.decode() == "id,cluster\na,0\nb,\n,\nd,\né,0\n"


def test_partition_keys_and_numbers_are_kept_too(folder, qckm_):
    Model(np.zeros((1, 2)), np.ones(1), np.zeros(1), np.ones(2)).save("m.json")
    (folder / "year=2026").mkdir()
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0]}), "year=2026/p.parquet")
    assert qckm_("predict", "year=2026", "-m", "m.json", "--keep", "year")[1] == b"year,cluster\n2026,0\n2026,0\n"
    np.save("r.npy", np.array([[1.5, 2], [3, 4]]))
    assert qckm_("predict", "r.npy", "-m", "m.json", "--keep", "0")[1].splitlines()[1:] == [b"1.5,0", b"3,0"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("t.csv", "--keep", "idd"), 1, "expected the column 'idd' (did you mean 'id'?)"),
        (("t.csv", "--keep", "id,id"), 1, "each column to keep once"),
        (("c.csv", "--keep", "cluster"), 2, "got 'cluster'"),
        (("-", "--keep", "id"), 1, "got a pipe. Save it."),
    ],
)
def test_what_cannot_be_kept_is_said(people, qckm_, monkeypatch, words, code, said):
    with open("c.csv", "w") as file:
        file.write("cluster,a,b\n1,2,3\n")
    import os

    read_end, write_end = os.pipe()
    os.write(write_end, b"id,a,b\n1,2,3\n")
    os.close(write_end)
    monkeypatch.setattr(
        "qckm.sources.opening.open_stdin", lambda: qckm.sources.raw.Peekable(os.fdopen(read_end, "rb", 0))
    )
    found, _, err = qckm_("predict", *words, "-m", "m.json", "-o", "o.csv")
    assert found == code
    assert said in err
