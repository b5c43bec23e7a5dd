"""Files in pieces: read one by one, wherever they are cut, they hold the rows of the whole, each once."""

import contextlib
import functools
import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qckm.errors import RowsError, SourceError, SplitError
from qckm.sources.opening import open_source
from qckm.sources.pieces import Piece, packed, pieces_of, pieces_of_url, reading_piece
from qckm.sources.table import Selection, evenly
from qckm.sources.text import UNKNOWN, TextFormat
from servers import Quiet, web

NAMES = ("a", "b")


@pytest.fixture
def rows():
    return np.random.default_rng(0).integers(-9999, 9999, size=(5000, 2)).astype(float)


def write(path, rows, kind):
    table = pa.table({name: rows[:, place] for place, name in enumerate(NAMES)})
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=700)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            for batch in table.to_batches(max_chunksize=600):
                writer.write_batch(batch)
    elif kind == "npy":
        with open(path, "wb") as file:
            np.save(file, np.tile(rows, (50, 1)))
    elif kind == "json":
        path.write_text("".join(json.dumps({"a": a, "b": b}) + "\n" for a, b in rows))
    else:
        end = {"csv": "\n", "windows csv": "\r\n"}.get(kind, "\n")
        text = f"a,b{end}" + "".join(f"{a},{b}{end}" for a, b in rows)
        path.write_bytes(gzip.compress(text.encode()) if kind == "gzip" else text.encode())


def read(pieces, names=NAMES, text=UNKNOWN):
    found = []
    for piece in pieces:
        with reading_piece(piece, Selection(tuple(names)), text) as source:
            found += [batch.rows for batch in source.batches()]
    return np.concatenate(found)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "npy", "json", "csv", "windows csv", "gzip"])
def test_pieces_hold_each_row_once_and_in_order(tmp_path, rows, kind):
    path = tmp_path / "rows"
    write(path, rows, kind)
    names = ("0", "1") if kind == "npy" else NAMES
    table = open_source(str(path)).tables[0]
    whole = np.concatenate([batch.rows for batch in open_source(str(path)).batches()])
    for n_bytes in (1000, 7777, 50_000, 10**9, None):
        pieces = [piece for piece, _ in pieces_of(table, n_bytes)]
        np.testing.assert_array_equal(read(pieces, names), whole)
        cut = kind != "gzip" and n_bytes is not None and n_bytes < 10**9
        assert (len(pieces) > 1) == cut, (n_bytes, len(pieces))


def test_a_text_may_be_cut_at_any_byte(tmp_path, rows):
    path = tmp_path / "rows.csv"
    write(path, rows[:12], "csv")
    size = path.stat().st_size
    for at in range(1, size):
        pieces = [Piece(str(path), size, (0, at)), Piece(str(path), size, (at, size))]
        with contextlib.suppress(ValueError):  # of a piece without rows, nothing can be concatenated
            np.testing.assert_array_equal(read(pieces), rows[:12])


def test_cells_in_quotes_are_read_whole(tmp_path):
    """A line end may be inside a cell: where the first lines tell, the file is not cut; else its pieces are refused."""
    path = tmp_path / "rows.csv"
    lines = [f'{number},"{number}"\n' for number in range(3000)]
    path.write_text("a,b\n" + "".join(lines))
    assert open_source(str(path)).tables[0].spans(1000) is None
    path.write_text("a,b\n" + "1,2\n" * 400_000 + "".join(lines))
    table = open_source(str(path)).tables[0]
    pieces = [piece for piece, _ in pieces_of(table, 500_000)]
    assert len(pieces) > 3
    with pytest.raises(SplitError, match="cells in quotes"):
        read(pieces)
    commented = open_source(str(path), comment="#").tables[0]
    assert commented.spans(1000) is None


def test_a_bad_row_is_named_by_its_place(tmp_path, rows):
    rows[4000, 1] = np.nan
    path = tmp_path / "rows.parquet"
    write(path, rows, "parquet")
    table = open_source(str(path)).tables[0]
    last = [piece for piece, _ in pieces_of(table, 20_000)][-2:]
    with reading_piece(last[0], Selection(NAMES), UNKNOWN) as source:
        batches = list(source.batches())
    with pytest.raises(RowsError, match=r"row 4000 .*'b'"):
        [batch.require_finite() for batch in batches]


def test_a_file_that_has_changed_is_refused(tmp_path, rows):
    path = tmp_path / "rows.csv"
    write(path, rows, "csv")
    ((piece, _),) = pieces_of(open_source(str(path)).tables[0], None)
    with open(path, "a") as file:
        file.write("1,2\n")
    with pytest.raises(SourceError, match="bytes, as when the job began"):
        read([piece])
    with pytest.raises(SourceError, match="expected the column 'z'"):
        read([Piece(str(path), None)], ["a", "z"])


def test_what_is_known_of_a_csv_goes_with_the_pieces(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("".join(f"{number},5;{number}\n" for number in range(500)))
    text = TextFormat(header=False, delimiter=";", decimal=",")
    table = open_source(str(path), header=False, delimiter=";", decimal=",").tables[0]
    pieces = [piece for piece, _ in pieces_of(table, 800)]
    np.testing.assert_array_equal(read(pieces, ["0", "1"], text)[:, 0], np.arange(500) + 0.5)


def test_small_files_share_a_task_and_large_ones_have_several():
    pieces = [(Piece(str(number), 10), 10.0) for number in range(10)]
    assert [len(task) for task in packed(pieces, 40)] == [4, 4, 2]
    assert [len(task) for task in packed([(Piece("x", 99), 99.0)] * 2, 40)] == [1, 1]
    assert packed([], 40) == []
    assert evenly([0, 5, 100], 101, 1.0, 1000) == [(0, 101)]


def test_urls_are_copied_for_as_long_as_they_are_read(tmp_path, rows, monkeypatch):
    """Of what a URL stands for each file is a piece; the worker's copy is gone when it has been read."""
    (tmp_path / "data").mkdir()
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "copies"))
    for number in range(3):
        write(tmp_path / "data" / f"{number}.parquet", rows[number::3], "parquet")
    pieces = list(pieces_of_url(f"file://{tmp_path}/data/*.parquet"))
    assert [size for _, size in pieces] == [(tmp_path / "data" / f"{n}.parquet").stat().st_size for n in range(3)]
    found = read([piece for piece, _ in pieces])
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(rows, axis=0))
    assert not list((tmp_path / "copies").iterdir())


def test_the_web_is_read_in_whole_files(tmp_path, rows):
    write(tmp_path / "rows.csv", rows, "csv")
    with web(functools.partial(Quiet, directory=str(tmp_path))) as url:
        pieces = list(pieces_of_url(f"{url}/rows.csv"))
        np.testing.assert_array_equal(read([piece for piece, _ in pieces]), rows)
