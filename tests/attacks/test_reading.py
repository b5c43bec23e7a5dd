"""Data files that lie, shrink, explode or break: no memory is read that is not theirs, and errors are sentences.

Each test is named by its number in the list of holes that an adversarial round found.
"""

import gzip
import io
import os
import struct
import subprocess
import sys
import time
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from fuzz import thrift_trees
from qckm.engines.blocks import blocks_of, vectors_of
from qckm.errors import FileError, QckmError, RowsError, SourceError
from qckm.models import Model, read_model, to_parquet
from qckm.planning.held_rows import draw_pilot
from qckm.sources.opening import open_source
from qckm.sources.source import Position

ROWS = 7777  # a number that is nowhere in an Arrow file but where rows are counted


@pytest.fixture(scope="module")
def operator():
    return qckm.SketchOperator.draw(2, 20, scale=1.0, random_state=0, feature_names=["a", "b"])


def arrow_bytes(table, kind, **options):
    out = io.BytesIO()
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with new(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return out.getvalue()


def lying(kind, claim, rows=ROWS):
    """Arrow data whose batch says it has `claim` rows."""
    table = pa.table({"a": np.arange(float(rows)), "b": np.arange(float(rows))})
    honest, lie = struct.pack("<q", rows), struct.pack("<q", claim)
    data = arrow_bytes(table, kind)
    assert data.count(honest) >= 3  # the batch and both columns
    return data.replace(honest, lie)


def read(data, **options):
    return np.concatenate([batch.rows for batch in open_source(data, **options).batches()])


@pytest.mark.parametrize("claim", [10**4, 10**8, 2**62, -1])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_02_an_arrow_file_that_claims_rows_it_does_not_have(kind, claim, tmp_path):
    (tmp_path / "lie.arrow").write_bytes(lying(kind, claim))
    with pytest.raises(SourceError, match=r"lie\.arrow"):
        read(tmp_path / "lie.arrow")


@pytest.mark.parametrize("claim", [10**4, 10**8])
def test_02_standard_input_that_claims_rows_it_does_not_have(claim, operator, tmp_path):
    operator.empty().save(tmp_path / "op.qckm")
    words = [sys.executable, "-m", "qckm", "sketch", "-", "--operator", "op.qckm", "-o", "out.qckm"]
    done = subprocess.run(words, input=lying("stream", claim), capture_output=True, cwd=tmp_path)
    assert done.returncode == 1
    assert b"standard input: expected Arrow data" in done.stderr
    assert not (tmp_path / "out.qckm").exists()


def test_02_only_one_of_the_columns_lies(tmp_path):
    data = lying("file", ROWS)
    honest = struct.pack("<q", ROWS)
    place = data.rindex(honest, 0, data.rindex(honest))  # a column's length in the batch's metadata
    (tmp_path / "lie.arrow").write_bytes(data[:place] + struct.pack("<q", 9) + data[place + 8 :])
    with pytest.raises(SourceError, match=r"lie\.arrow"):
        read(tmp_path / "lie.arrow")


def test_02_an_entry_that_is_not_in_the_dictionary(tmp_path):
    indices = pa.array([0, 1, 10**6], pa.int32())
    column = pa.DictionaryArray.from_arrays(indices, pa.array([1.0, 2.0]), safe=False)
    (tmp_path / "d.arrow").write_bytes(arrow_bytes(pa.table({"a": column}), "file"))
    with pytest.raises(SourceError, match=r"d\.arrow.*Dictionary indices"):
        read(tmp_path / "d.arrow")

    class Frame:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"a": column}).__arrow_c_stream__(requested_schema)

    with pytest.raises(SourceError, match="Dictionary indices"):
        read(Frame())


@pytest.mark.parametrize("claim", [10**4, 10**8])
def test_02_frames_engines_and_groups_are_checked_too(claim, operator):
    def batch():
        return pa.ipc.open_stream(lying("stream", claim)).read_next_batch()

    # Not through Arrow's C interface, which hands over addresses without sizes.
    for frame in (pa.Table.from_batches([batch()]), batch(), pa.ipc.open_stream(lying("stream", claim))):
        with pytest.raises(SourceError, match="damaged batch"):
            read(frame)
    with pytest.raises(SourceError, match="damaged batch"):
        list(blocks_of([batch()], ["a", "b"]))
    with pytest.raises(SourceError, match="damaged batch"):
        list(blocks_of([batch()], ["a"], weight="b"))
    with pytest.raises(SourceError, match="damaged batch"):
        qckm.sketch_by(operator, batch(), by="a", columns=["a", "b"])


def test_02_vectors_of_an_engine_are_checked():
    table = pa.table({"v": pa.array([[1.0, 2.0]] * ROWS)})
    honest, lie = struct.pack("<q", 2 * ROWS), struct.pack("<q", 10**8)  # the values below the lists
    batch = pa.ipc.open_stream(arrow_bytes(table, "stream").replace(honest, lie)).read_next_batch()
    with pytest.raises(SourceError, match="expected Arrow data"):
        vectors_of(batch.column(0))
    with pytest.raises(RowsError, match="vectors of numbers"):
        vectors_of(pa.array([["1", "2"]]))


def test_02_a_large_batch_comes_through_a_pipe_whole(operator, tmp_path):
    """A pipe gives 64 kB at a time; pyarrow takes less than it asked for as the end."""
    operator.empty().save(tmp_path / "op.qckm")
    table = pa.table({"a": np.arange(100_000.0) % 7, "b": np.ones(100_000)})
    words = [sys.executable, "-m", "qckm", "sketch", "-", "--operator", "op.qckm", "-q"]
    done = subprocess.run(words, input=arrow_bytes(table, "stream"), capture_output=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert qckm.files.loads(done.stdout) == operator.sketch(table)


def test_12_columns_that_are_given_twice_add_up(tmp_path, operator):
    (tmp_path / "t.csv").write_text("height,weight,age\n1,2,3\n4,5,6\n")
    words = [sys.executable, "-m", "qckm", "operator", "t.csv", "--scale", "1", "--frequencies", "5", "-o", "op.qckm"]
    for columns in (
        ["-c", "height", "-c", "weight"],
        ["-c", "height,weight"],
        ["--columns", "0,1"],
        ["-c", "0", "-c", "1"],
    ):
        subprocess.run([*words, *columns, "-q"], cwd=tmp_path, check=True)
        assert qckm.load(tmp_path / "op.qckm").operator.feature_names == ("height", "weight")


@pytest.mark.parametrize("columns", [[2, 0], ["2", "0"], ["age", 0], [np.int64(2), "height"]])
def test_12_a_number_is_a_position(tmp_path, columns):
    (tmp_path / "t.csv").write_text("height,weight,age\n1,2,3\n4,5,6\n")
    pq.write_table(pa.table({"height": [1, 4], "weight": [2, 5], "age": [3, 6]}), tmp_path / "t.parquet")
    for data in (
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
        pa.table({"height": [1, 4], "weight": [2, 5], "age": [3, 6]}),
    ):
        source = open_source(data, columns=columns)
        assert source.feature_names == ("age", "height")
        assert read(data, columns=columns).tolist() == [[3, 1], [6, 4]]


def test_12_unless_a_column_has_that_very_name():
    table = pa.table({"1": [1.0], "0": [2.0]})
    assert read(table, columns=["0"]).tolist() == [[2]]
    assert read(table, columns=[0]).tolist() == [[2]]
    with pytest.raises(SourceError, match="each column once"):
        open_source(pa.table({"a": [1.0], "b": [2.0]}), columns=["a", 0])
    with pytest.raises(SourceError, match=r"expected the column '2', got a, b"):
        open_source(pa.table({"a": [1.0], "b": [2.0]}), columns=["2"])
    with pytest.raises(SourceError, match="sequence of names"):
        open_source(table, columns="01")


def test_12_names_of_an_operator_are_no_positions():
    table = pa.table({"a": [1.0], "b": [2.0]})
    with pytest.raises(SourceError, match=r"expected the columns '0', '1'"):
        open_source(table, usual=("0", "1"))


@pytest.mark.parametrize("name", ["rows.npy", "rows.arrow", "rows.npz"])
def test_17_a_file_that_is_cut_short_while_it_is_read(name, tmp_path):
    rows = np.random.default_rng(0).random(size=(10_000_000, 2)).astype(np.float32)  # more than is read ahead
    if name == "rows.npy":
        np.save(tmp_path / name, rows)
    elif name == "rows.npz":
        np.savez(tmp_path / name, rows)
    else:
        table = pa.table({"a": rows[:, 0].copy(), "b": rows[:, 1].copy()})
        with pa.ipc.new_file(tmp_path / name, table.schema) as writer:
            writer.write_table(table, max_chunksize=100_000)
    words = [
        "sketch",
        name,
        "--scale",
        "1",
        "--frequencies",
        "3000",
        "-o",
        "out.qckm",
        "--checkpoint-every",
        "0.000001",
    ]
    run = subprocess.Popen([sys.executable, "-m", "qckm", *words], cwd=tmp_path, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (tmp_path / "out.qckm.checkpoint").exists() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    os.truncate(tmp_path / name, 5000)
    _, err = run.communicate()
    assert run.returncode == 1, err
    assert name.encode() in err
    assert (tmp_path / "out.qckm.checkpoint").exists()
    assert not (tmp_path / "out.qckm").exists()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i4", "|u1", "<f2", "|b1"])
@pytest.mark.parametrize("name", ["rows.npy", "rows.npz"])
def test_17_files_that_are_read_give_what_maps_gave(name, dtype, order, tmp_path):
    rows = np.asarray(np.random.default_rng(0).integers(0, 2, size=(10_000, 3)) * 3, dtype, order=order)
    (np.save if name.endswith("npy") else np.savez)(tmp_path / name, rows)
    source = open_source(tmp_path / name, columns=["2", "0"])
    for start in (0, 1, 5000, 9999, 10_000):
        found = [batch.rows for batch in source.batches(Position(0, start), batch_bytes=100 * 16)]
        left = np.concatenate(found) if found else np.empty((0, 2))
        np.testing.assert_array_equal(left, rows[start:, [2, 0]].astype(float))


def test_17_a_pilot_of_a_compressed_array_reads_it_once(tmp_path, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(200_000, 2))
    np.savez_compressed(tmp_path / "rows.npz", rows)
    opened, real = [], zipfile.ZipFile.open
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda self, *what: opened.append(1) or real(self, *what))
    source = open_source(tmp_path / "rows.npz")
    drawn = draw_pilot(source, np.random.default_rng(0), 500).rows
    np.testing.assert_array_equal(drawn, draw_pilot(open_source(rows), np.random.default_rng(0), 500).rows)
    assert len(opened) == 2  # for its header, and for the rows


def peak_of(code, folder):
    """Run a program; return the most memory it used, in MB, above what it had after importing."""
    program = f"""
import resource, pyarrow.csv, pyarrow.parquet
from qckm.sources.opening import open_source
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{code}
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_18_a_zip_bomb_is_read_in_batches(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**24, 2)})
    bomb = zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED)
    with bomb, bomb.open("X.npy", "w") as member:
        member.write(header.getvalue())
        for _ in range(1 << 8):
            member.write(bytes(1 << 20))
    assert os.path.getsize(tmp_path / "bomb.npz") < 1 << 19
    code = "for number, batch in enumerate(open_source('bomb.npz').batches()):\n    if number == 9: break"
    assert peak_of(code, tmp_path) < 150


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("claim", [2**31, 2**40, -5])
def test_18_an_arrow_buffer_that_claims_to_unpack_to_much(kind, claim, tmp_path):
    data = arrow_bytes(pa.table({"a": np.zeros(ROWS)}), kind, compression="zstd")
    honest = struct.pack("<q", 8 * ROWS)
    assert honest in data
    (tmp_path / "bomb.arrow").write_bytes(data.replace(honest, struct.pack("<q", claim)))
    with pytest.raises(SourceError, match=r"bomb\.arrow.*(unpack|the size of a buffer)"):
        read(tmp_path / "bomb.arrow")


def test_18_a_parquet_page_that_claims_to_unpack_to_much(tmp_path):
    zeros = pa.array(np.zeros(1 << 24))
    table = pa.table(dict.fromkeys("abcde", zeros))  # five pages of 128 MB, in a few kilobytes
    options = {
        "compression": "zstd",
        "use_dictionary": False,
        "row_group_size": len(zeros),
        "write_batch_size": 1 << 24,
    }
    try:
        pq.write_table(table, tmp_path / "bomb.parquet", data_page_size=1 << 30, max_rows_per_page=1 << 30, **options)
    except TypeError:  # older writers have no such limit
        pq.write_table(table, tmp_path / "bomb.parquet", data_page_size=1 << 30, **options)
    assert os.path.getsize(tmp_path / "bomb.parquet") < 1 << 20
    with pytest.raises(SourceError, match=r"bomb\.parquet.*unpack to 671\.1 MB"):
        read(tmp_path / "bomb.parquet")
    assert len(next(iter(open_source(tmp_path / "bomb.parquet", columns=["a"]).batches())).rows)


@pytest.mark.parametrize("codec", ["snappy", "zstd", "gzip", "brotli", "lz4", "none"])
def test_18_pages_of_all_kinds_are_walked_through(codec, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=50_000), "b": rng.integers(5, size=50_000), "c": ["some text"] * 50_000})
    for version in ("1.0", "2.0"):
        pq.write_table(
            table, tmp_path / "t.parquet", compression=codec, data_page_version=version, data_page_size=4096,
            row_group_size=7000, write_page_index=version == "2.0", column_encoding=None,
        )  # fmt: skip
        found = read(tmp_path / "t.parquet", columns=["a", "b"])
        np.testing.assert_array_equal(found[:, 0], table["a"].to_numpy())


@pytest.mark.parametrize("columns", [["a", "b"], ["b"], ["b", "i", "a"]])
def test_18_a_large_arrow_batch_is_read_in_parts(columns, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "name": [f"row {row}" for row in range(10_001)],
            "a": pa.array(rng.normal(size=10_001), mask=rng.random(10_001) < 0.1),
            "d": pa.array(["x", "y", None] * 3333 + ["x", "y"]).dictionary_encode(),
            "i": pa.array(rng.integers(-9, 9, size=10_001), pa.int16()),
            "n": pa.nulls(10_001),
            "b": rng.normal(size=10_001).astype(np.float32),
        }
    )
    (tmp_path / "t.arrow").write_bytes(arrow_bytes(table, "file"))
    monkeypatch.setattr(pa.RecordBatchFileReader, "get_batch", lambda *_: pytest.fail("it was read as a whole"), False)
    expected = np.stack([table[name].to_numpy() for name in columns], axis=1)
    for start in (0, 5, 9999):
        batches = open_source(tmp_path / "t.arrow", columns=columns).batches(Position(0, start), 300 * 8)
        np.testing.assert_array_equal(np.concatenate([batch.rows for batch in batches]), expected[start:])


@pytest.mark.parametrize("shape", [(10**12, 8), (-1, 2), (2**62, 2**62), (5, 2**40)])
@pytest.mark.parametrize("inside", [None, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_18_a_numpy_header_that_claims_what_is_not_there(shape, inside, tmp_path):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    if inside is None:
        (tmp_path / "lie.npy").write_bytes(out.getvalue() + bytes(80))
    else:
        with zipfile.ZipFile(tmp_path / "lie.npy", "w", inside) as archive:
            archive.writestr("X.npy", out.getvalue() + bytes(80))
    with pytest.raises(SourceError, match=r"lie\.npy: expected .* values"):
        open_source(tmp_path / "lie.npy")


def test_18_a_compressed_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("qckm.sources.records.LONGEST", 1 << 24)
    for start, words in ((b"1,2\n", "an end of line 2"), (b'1,2\n3,"', "the quote opened in line 2 to be closed")):
        with gzip.open(tmp_path / "bomb.csv.gz", "wb") as file:
            file.write(start)
            for _ in range(64):
                file.write(b"1" * (1 << 20))
        with pytest.raises(SourceError, match=rf"bomb\.csv\.gz: expected {words}"):
            read(tmp_path / "bomb.csv.gz")


def valid_files():
    """Bytes of each format, small."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2))
    table = pa.table({"a": rows[:, 0], "b": rows[:, 1], "c": pa.array(["x", "y", None] * 100).dictionary_encode()})
    npy, npz, packed, parquet = (io.BytesIO() for _ in range(4))
    np.save(npy, rows)
    np.savez(npz, rows)
    np.savez_compressed(packed, rows)
    pq.write_table(table, parquet, compression="zstd", row_group_size=100)
    text = b"a,b,c\n" + b"".join(b'%r,%r,"x, y"\n' % (float(a), float(b)) for a, b in rows)
    return {
        "rows.npy": npy.getvalue(),
        "rows.npz": npz.getvalue(),
        "packed.npz": packed.getvalue(),
        "rows.parquet": parquet.getvalue(),
        "rows.arrow": arrow_bytes(table, "file"),
        "packed.arrow": arrow_bytes(table, "file", compression="zstd"),
        "rows.arrows": arrow_bytes(table, "stream"),
        "packed.arrows": arrow_bytes(table, "stream", compression="lz4"),
        "rows.csv": text,
        "rows.csv.gz": gzip.compress(text),
    }


VALID = valid_files()


@pytest.mark.parametrize("name", VALID)
def test_19_damaged_files_are_read_or_refused_by_name(name, tmp_path):
    """150 mutations each; seeds are fixed. `experiments` of millions are another matter."""
    rng = np.random.default_rng(len(name))
    path = tmp_path / name
    columns, said = ["0", "1"], []
    for _ in range(150):
        data = bytearray(VALID[name])
        kind = rng.integers(4)
        if kind == 0:
            data = data[: rng.integers(len(data))]
        elif kind == 1:
            for _ in range(rng.integers(1, 9)):
                data[rng.integers(len(data))] = rng.integers(256)
        elif kind == 2:
            start = rng.integers(len(data) - 8)
            data[start : start + 8] = struct.pack("<q", int(rng.choice([-1, 0, 2**31 - 1, 2**40, 2**62])))
        else:
            start, size = rng.integers(len(data)), rng.integers(1, 200)
            data[start : start + size] = b""
        path.write_bytes(data)
        try:
            list(open_source(path, columns=columns).batches())
        except QckmError as error:
            said.append(str(error))
    assert said
    assert all(name in words for words in said)


def numpy_header(words, version=1):
    length = struct.pack("<H" if version == 1 else "<I", len(words))
    return b"\x93NUMPY" + bytes([version, 0]) + length + words


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("deep.npy", numpy_header(b"(" * 9000)),
        ("deeper.npy", numpy_header(b"[" * 10**6, 2)),
        ("objects.npy", numpy_header(b"{'descr': '|O', 'fortran_order': False, 'shape': (1, 1)}\n") + b"x" * 8),
        ("cut.npy", numpy_header(b"{'descr': '<f8', 'fortran_order': ")),
        ("none.npz", b"PK\x05\x06" + bytes(18)),
        ("broken.npz", b"PK\x03\x04" + bytes(100)),
        ("cut.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 10**5)[:-300]),
        ("bad.csv.zst", b"\x28\xb5\x2f\xfd" + bytes(40)),
        ("bad.csv.bz2", b"BZh9" + bytes(40)),
        ("bad.csv.lz4", b"\x04\x22\x4d\x18" + bytes(40)),
        ("utf16.csv", "a,b\n1,2\n".encode("utf-16")),
    ],
)
def test_19_no_error_of_others_leaks(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=name):
        read(tmp_path / name)


def test_19_errors_of_frames_and_tensors_are_ours():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyError("no such stream")

    class Tensor:
        def __dlpack__(self, **options):
            raise RuntimeError("no such memory")

        def __dlpack_device__(self):
            return (1, 0)

    class Late:
        """Fails in the middle."""

        def __arrow_c_stream__(self, requested_schema=None):
            def batches():
                yield pa.record_batch({"a": [1.0]})
                raise RuntimeError("lost")

            schema = pa.schema([("a", pa.float64())])
            return pa.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__(requested_schema)

    for data, words in ((Broken(), "no such stream"), (Tensor(), "no such memory"), (Late(), "lost")):
        with pytest.raises(SourceError, match=words):
            read(data)


def test_19_memory_errors_stay_themselves(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    source = open_source(tmp_path / "t.csv")
    monkeypatch.setattr("qckm.sources.csv.CsvTable._parse", lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        list(source.batches())


def test_19_missing_files_are_what_python_calls_them(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_source(tmp_path / "nowhere.csv")


def test_19_signaling_nans_and_numbers_too_large_are_bad_rows_without_a_warning(tmp_path):
    rows = np.zeros((5, 2), np.float32)
    rows.view(np.uint32)[1, 0] = 0x7F800001  # a NaN that signals
    np.save(tmp_path / "t.npy", rows)
    large = np.array([[1e300, 0.0], [1.0, 2.0]])
    np.save(tmp_path / "large.npy", large)
    for data in (rows, tmp_path / "t.npy", pa.table({"a": rows[:, 0], "b": rows[:, 1]})):
        assert read(data, dtype="float64").shape == (5, 2)
        assert draw_pilot(open_source(data), np.random.default_rng(0), 9).weights.sum() == 4
    for data in (large, tmp_path / "large.npy", pa.table({"a": large[:, 0], "b": large[:, 1]})):
        assert np.isinf(read(data, dtype="float32")).sum() == 1


# --- found by fuzzing (tests/fuzz) ---


def other_parquet(change_footer=None, change_page=None, **options):
    """A Parquet file of two groups of 25 rows, with other fields in its footer or in the last dictionary."""
    out = io.BytesIO()
    pq.write_table(pa.table({"a": np.arange(50.0), "b": np.arange(50.0)}), out, row_group_size=25, **options)
    data = out.getvalue()
    length = int.from_bytes(data[-8:-4], "little")
    before, (footer, _) = data[: -8 - length], thrift_trees.parse(data[-8 - length : -8], 0)
    if change_page:
        column = {field[0]: field for field in thrift_trees.find(footer, 4, 1, 3)[2]}
        start = column.get(11, column[9])[2]  # of the dictionary, or else of the values
        page, end = thrift_trees.parse(before, start)
        change_page(page)
        header = thrift_trees.write(page)
        column[7][2] += len(header) - (end - start)
        before = before[:start] + header + before[end:]
    if change_footer:
        change_footer(footer)
    written = thrift_trees.write(footer)
    return before + written + len(written).to_bytes(4, "little") + b"PAR1"


def test_09_a_row_group_of_other_rows_than_its_columns_have_is_refused(tmp_path):
    """Read group by group a row was lost, and read together the rows behind it moved up."""

    def fewer(footer):
        thrift_trees.find(footer, 4)[2][1][0][2][2] = 24  # the rows of the first group
        thrift_trees.find(footer, 3)[2] = 49  # and of all

    (tmp_path / "well.parquet").write_bytes(other_parquet())
    assert read(tmp_path / "well.parquet").shape == (50, 2)
    (tmp_path / "lie.parquet").write_bytes(other_parquet(fewer))
    with pytest.raises(SourceError, match=r"lie\.parquet: .*expected 24 values in each column of a row group, got 25"):
        read(tmp_path / "lie.parquet")
    # From the second group on, too: pyarrow finds its rows by those of the first.
    with pytest.raises(SourceError, match="expected 24 values in each column of a row group, got 25"):
        list(open_source(tmp_path / "lie.parquet").batches(Position(0, 30)))


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_09_a_page_of_more_values_than_its_column_is_refused(tmp_path, compression):
    """Where indices are packed by eights there is room for some more, and the next group's rows moved."""

    def more(page):
        thrift_trees.find(page, 5, 1)[2] = 29

    data = other_parquet(change_page=more, compression=compression, use_dictionary=False)
    (tmp_path / "lie.parquet").write_bytes(data)
    with pytest.raises(SourceError, match="expected a page of at most 25 values, got one of 29"):
        read(tmp_path / "lie.parquet")


@pytest.mark.parametrize("claim", [0, 1, 3])
def test_02_nulls_are_the_same_whether_a_batch_is_read_whole_or_in_parts(tmp_path, claim):
    """Bits of nulls where none are claimed mean nothing to pyarrow; to us they did, in parts of a batch."""
    values = pa.array([1.0, None, 3.0, None] + [5.0] * 60)
    data = arrow_bytes(pa.table({"a": values}), "file")
    node = struct.pack("<qq", 64, 2)
    assert data.count(node) == 1
    (tmp_path / "t.arrow").write_bytes(data.replace(node, struct.pack("<qq", 64, claim)))

    def rows(batch_bytes):
        source = open_source(tmp_path / "t.arrow")
        return np.concatenate([batch.rows for batch in source.batches(batch_bytes=batch_bytes)])

    if claim == 0:
        np.testing.assert_array_equal(rows(64), rows(1 << 20))
        assert np.isfinite(rows(64)).all()
    else:
        for batch_bytes in (64, 1 << 20):
            with pytest.raises(SourceError, match=r"t\.arrow"):
                rows(batch_bytes)


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_18_a_dictionary_of_more_entries_than_bytes_is_refused(tmp_path, compression):
    """pyarrow allocates 16 GB for it before it finds 200 bytes."""

    def claim(page):
        thrift_trees.find(page, 7, 1)[2] = 2**31 - 1

    (tmp_path / "lie.parquet").write_bytes(other_parquet(change_page=claim, compression=compression))
    with pytest.raises(SourceError, match="got one of 2147483647 entries"):
        read(tmp_path / "lie.parquet")


def test_18_so_it_is_in_a_model():
    out = io.BytesIO(to_parquet(Model(np.eye(2), np.ones(2) / 2, np.ones(2), np.ones(2))))
    data = out.getvalue()
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = thrift_trees.parse(data[-8 - length : -8], 0)
    start = next(field[2] for field in thrift_trees.find(footer, 4, 1, 3)[2] if field[0] == 11)
    page, end = thrift_trees.parse(data, start)
    thrift_trees.find(page, 7, 1)[2] = 2**31 - 1
    with pytest.raises(FileError, match="got one of 2147483647 entries"):
        read_model(data[:start] + thrift_trees.write(page) + data[end:], "m.parquet")


@pytest.mark.parametrize("codec", ["gzip", "bz2", "zstd", "lz4"])
def test_19_a_compressed_file_that_is_cut_anywhere_is_refused(tmp_path, codec):
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, codec) as stream:
        stream.write(b"a,b\n" + b"".join(b"%d,%d\n" % (row, row * row % 97) for row in range(300)))
    data = out.getvalue().to_pybytes()
    for length in (*range(4, len(data), 29), len(data) - 1):
        (tmp_path / "cut.csv").write_bytes(data[:length])
        with pytest.raises(SourceError, match=r"cut\.csv"):
            read(tmp_path / "cut.csv")


@pytest.mark.parametrize("cell", ["1" * 500_000 + "x", "1" * 250_000 + "." + "1" * 250_000 + "e", " " * 500_000 + "x"])
def test_18_a_long_cell_that_is_no_number_takes_little_time(tmp_path, cell):
    """It took the square of its length: 400 s for 64 kB."""
    start = time.process_time()
    (tmp_path / "long.csv").write_text(f"a,b\n1,2\n{cell},3\n")
    with pytest.raises(RowsError, match=r"long\.csv"):
        qckm.sketch_source(qckm.SketchOperator.draw(2, 5, scale=1.0, random_state=0), tmp_path / "long.csv")
    with pytest.raises(FileError, match="expected numbers"):
        read_model(f"cluster,weight,spread,a\n0,1,1,{cell[-100_000:]}\n".encode(), "m.csv")
    assert time.process_time() - start < 20
