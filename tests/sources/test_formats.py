"""The same rows from everywhere give the same sketch, to the last byte."""

import gzip
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import qckm
from qckm.errors import RowsError, SourceError
from qckm.sketch import files
from qckm.sources.opening import open_source
from qckm.sources.source import Position

NAMES = ("a", "b", "c")


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(5).normal(size=(5000, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def table(rows):
    return pa.table({name: rows[:, place] for place, name in enumerate(NAMES)})


@pytest.fixture(scope="module")
def operator():
    return qckm.SketchOperator.draw(3, 30, scale=1.5, random_state=0, feature_names=NAMES)


@pytest.fixture(scope="module")
def expected(operator, rows):
    return files.dumps(operator.sketch(rows))


def write_csv(table, path, delimiter=","):
    """The shortest text that gives a float64 of the same value."""
    wide = table.cast(pa.schema([(name, pa.float64()) for name in table.column_names]))
    pacsv.write_csv(wide, path, pacsv.WriteOptions(delimiter=delimiter))


def write_parquet(table, path):
    pq.write_table(table, path, row_group_size=700)


def write_parts(table, path):
    (path / "year=2026").mkdir(parents=True)
    (path / "year=2027").mkdir()
    pq.write_table(table.slice(0, 2000), path / "year=2026" / "part.parquet", row_group_size=300)
    pq.write_table(table.slice(2000), path / "year=2027" / "part.parquet")


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=999)


def write_feather(table, path):
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=999)


def write_gzip(table, path):
    out = io.BytesIO()
    write_csv(table, out)
    path.write_bytes(gzip.compress(out.getvalue()))


WRITERS = {
    "rows.parquet": write_parquet,
    "folder": write_parts,
    "rows.csv": write_csv,
    "rows.tsv": lambda table, path: write_csv(table, path, "\t"),
    "rows.csv.gz": write_gzip,
    "rows.arrows": write_stream,
    "rows.feather": write_feather,
    "rows.npy": lambda table, path: np.save(path, np.stack([table[name].to_numpy() for name in NAMES], axis=1)),
    "rows.npz": lambda table, path: np.savez(path, X=np.stack([table[name].to_numpy() for name in NAMES], axis=1)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_files_give_the_same_bytes(name, table, operator, expected, tmp_path):
    WRITERS[name](table, tmp_path / name)
    assert files.dumps(qckm.sketch_source(operator, tmp_path / name)) == expected


@pytest.mark.parametrize("name", WRITERS)
def test_files_can_be_read_from_any_row(name, table, operator, rows, tmp_path):
    WRITERS[name](table, tmp_path / name)
    source = open_source(tmp_path / name)
    for start in (0, 1, 699, 700, 1999, 2000, 4999, 5000):
        split = name == "folder" and start >= 2000
        position = Position(1, start - 2000) if split else Position(0, start)
        batches = list(source.batches(position, batch_bytes=100 * 24))
        left = np.concatenate([batch.rows for batch in batches]) if batches else np.empty((0, 3))
        np.testing.assert_array_equal(left, rows[start:])
        assert all(len(batch.rows) <= 100 for batch in batches)


def frames(table):
    import duckdb
    import polars

    yield "arrow table", table
    yield "arrow reader", table.to_reader(999)
    yield "arrow batch", table.combine_chunks().to_batches()[0]
    yield "pandas", table.to_pandas()
    yield "polars", polars.from_arrow(table)
    yield "polars lazy", polars.from_arrow(table).lazy().with_columns(polars.col("a") * 1)
    with duckdb.connect() as connection:
        connection.register("renamed", table)
        yield "duckdb", connection.sql("select * from renamed")


def test_frames_give_the_same_bytes(table, operator, expected):
    for name, frame in frames(table):
        assert files.dumps(qckm.sketch_source(operator, frame)) == expected, name


def test_tensors_come_through_dlpack(rows, operator, expected):
    class Tensor:
        """What any library's tensor offers."""

        def __dlpack__(self, **options):
            return rows.__dlpack__(**options)

        def __dlpack_device__(self):
            return rows.__dlpack_device__()

    assert files.dumps(qckm.sketch_source(operator, Tensor())) == expected
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the protocol itself was tested above")
    assert files.dumps(qckm.sketch_source(operator, torch.tensor(rows))) == expected


@pytest.mark.parametrize("kind", ["csv", "arrow"])
def test_standard_input(kind, table, operator, expected, tmp_path):
    data = io.BytesIO()
    write_csv(table, data) if kind == "csv" else write_stream(table, data)
    operator.empty().save(tmp_path / "op.qckm")
    words = [sys.executable, "-m", "qckm", "sketch", "-", "--operator", str(tmp_path / "op.qckm"), "-q"]
    done = subprocess.run(words, input=data.getvalue(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected


def test_columns_are_chosen_by_name_and_partitions_when_named(table, tmp_path):
    write_parts(table, tmp_path / "folder")
    source = open_source(tmp_path / "folder", columns=["c", "year"])
    found = np.concatenate([batch.rows for batch in source.batches()])
    np.testing.assert_array_equal(found[:, 0], table["c"].to_numpy())
    assert sorted(set(found[:, 1])) == [2026, 2027]
    assert open_source(tmp_path / "folder").selection.names == NAMES


def test_text_columns_are_named_with_a_way_out(tmp_path):
    pq.write_table(pa.table({"a": [1.0], "name": ["x"], "b": [2]}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a,name,b\n1,x,2\n")
    for name in ("t.parquet", "t.csv"):
        with pytest.raises(SourceError, match=r"'name' .* Choose columns=\['a', 'b'\]"):
            open_source(tmp_path / name)


def test_bad_rows_are_named_by_file_row_and_column(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,\n4,oops\n5,inf\n6,7,8\n9,10\n")
    op = qckm.SketchOperator.draw(2, 5, scale=1.0, random_state=0)
    with pytest.raises(
        RowsError, match=r"t\.csv: .* line 3 \(row 1, the first is 0\), column 'b', got nothing.*on_bad='skip'"
    ):
        qckm.sketch_source(op, tmp_path / "t.csv", columns=["a", "b"])
    left = qckm.sketch_source(op, tmp_path / "t.csv", columns=["a", "b"], on_bad="skip")
    assert (left.count, left.skipped) == (2, 4)


def test_nulls_of_every_type_are_bad_rows():
    import decimal

    table = pa.table(
        {
            "i": pa.array([1, None, 3, 4, 5], pa.int8()),
            "f": pa.array([1.0, 2.0, None, 4.0, 5.0], pa.float32()),
            "b": pa.array([True, True, True, None, False]),
            "d": pa.array([decimal.Decimal("1.5")] * 5, pa.decimal128(5, 2)),
        }
    )
    op = qckm.SketchOperator.draw(4, 5, scale=1.0, random_state=0)
    found = qckm.sketch_source(op, table, on_bad="skip")
    assert (found.count, found.skipped) == (2, 3)
    assert found.bounds[0].tolist() == [1, 1, 0, 1.5]


def test_a_csv_without_a_header_has_numbered_columns(tmp_path):
    (tmp_path / "t.csv").write_text("1;2\n3;4\n")
    source = open_source(tmp_path / "t.csv", columns=["1", "0"])
    assert source.feature_names is None
    assert np.concatenate([batch.rows for batch in source.batches()]).tolist() == [[2, 1], [4, 3]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", b"", "empty"),
        ("d.csv", b"a,a\n1,2\n", "more than once"),
        ("p.parquet", b"PAR1 is not enough", "expected a Parquet file"),
        ("z.csv.gz", b"\x1f\x8b\x08 broken", "decompress"),
        ("n.npy", b"\x93NUMPY\x01\x00v\x00{}", "NumPy"),
        ("s.arrows", b"\xff\xff\xff\xff\x10\x00\x00\x00", "Arrow"),
        ("u.bin", b"\x00\x01\x02", "got something else"),
        ("o.qckm", b"\x89QCKM\r\n\x1a", "got a sketch"),
    ],
)
def test_files_that_are_none_say_so(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=message):
        list(open_source(tmp_path / name).batches())


def test_another_file_without_the_columns_is_named(tmp_path):
    np.savetxt(tmp_path / "a.csv", [[1, 2]], header="x,y", comments="", delimiter=",")
    np.savetxt(tmp_path / "b.csv", [[1, 2]], header="x,z", comments="", delimiter=",")
    with pytest.raises(SourceError, match=r"b\.csv: expected the column 'y', got x, z"):
        open_source([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_a_changed_file_is_noticed(table, tmp_path):
    write_parquet(table, tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet")
    write_parquet(table.slice(1), tmp_path / "t.parquet")
    with pytest.raises(SourceError, match="changed while it was read"):
        source.require_unchanged()


def test_a_parquet_file_whose_row_groups_lack_rows_is_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": np.arange(5.0)}), path)
    number, more = b"\x16\x0a\x19", b"\x16\x10\x19"  # in the footer's Thrift: field 3, the number of rows; then a list
    data = path.read_bytes()
    assert data.count(number) == 1
    path.write_bytes(data.replace(number, more))
    with pytest.raises(SourceError, match=r"expected 8 rows, as its footer says, got 5 in its row groups"):
        open_source(path)


@pytest.mark.parametrize("write", [write_feather, write_stream])
def test_a_name_that_is_no_text_is_refused(write, tmp_path):
    path = tmp_path / "names.arrow"
    write(pa.table({"abcdwxyz": [1.0]}), path)
    path.write_bytes(path.read_bytes().replace(b"abcdwxyz", b"abcdwxy\xce"))
    with pytest.raises(SourceError, match=r"names\.arrow: cannot be read: 'utf-8' codec"):
        open_source(path)


@pytest.mark.parametrize("index", [pd.Index([30, 10, 20]), pd.Index([30, 10, 20], name="id"), pd.Index(list("xyz"))])
def test_the_index_of_pandas_is_no_feature(tmp_path, index):
    """As op.sketch(frame) has it; it was read like the other columns where it was written to a file."""
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 7.0]}, index=index)
    name = index.name or "__index_level_0__"
    frame.to_parquet(tmp_path / "t.parquet")
    with pa.ipc.new_file(tmp_path / "t.arrow", pa.Table.from_pandas(frame).schema) as writer:
        writer.write_table(pa.Table.from_pandas(frame))
    op = qckm.SketchOperator.draw(2, 20, scale=1.0, random_state=0)
    for data in (tmp_path / "t.parquet", tmp_path / "t.arrow", frame, pa.Table.from_pandas(frame)):
        source = open_source(data)
        assert source.feature_names == ("a", "b")
        (said,) = source.assumptions
        assert said.endswith(
            f": {name!r}, the index of a pandas frame, is not read; name it among the columns to read it"
        )
        assert qckm.sketch_source(op, data) == op.sketch(frame)
    if index.dtype == np.int64:
        source = open_source(tmp_path / "t.parquet", columns=[name, "a"])
        assert next(source.batches()).rows.tolist() == [[30, 1], [10, 2], [20, 3]]
        assert not source.assumptions
    grouped = qckm.sketch_by(qckm.SketchOperator.draw(1, 9, scale=1.0, random_state=0), tmp_path / "t.parquet", by="b")
    assert list(grouped) == [4.0, 5.0, 7.0]


@pytest.mark.parametrize(
    "notes", [b"", b"[1]", b"{}", b'{"index_columns": 3}', b'{"index_columns": [{}, 3]}', b"[" * 99999]
)
def test_notes_that_pandas_did_not_write_are_passed_over(notes):
    table = pa.table({"a": [1.0]}).replace_schema_metadata({"pandas": notes})
    assert open_source(table).feature_names == ("a",)
