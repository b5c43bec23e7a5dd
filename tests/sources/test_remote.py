"""Files elsewhere: over HTTP from a server of our own, and from fsspec's store in memory."""

import functools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qckm.errors import MissingExtraError, SourceError
from qckm.sources.kept_columns import KeptColumns
from qckm.sources.opening import open_source
from servers import Quiet, web

ROWS = np.random.default_rng(0).normal(size=(500, 2))


@pytest.fixture
def files(tmp_path):
    (tmp_path / "year=2026").mkdir()
    pq.write_table(pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}), tmp_path / "year=2026" / "rows.parquet")
    np.save(tmp_path / "rows.npy", ROWS)
    np.savetxt(tmp_path / "rows.csv", ROWS, header="a,b", comments="", delimiter=",")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    return tmp_path


class Handler(Quiet):
    def do_GET(self):
        if self.path != "/short.csv":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"a,b\n1,2\n")


@pytest.fixture
def site(files):
    with web(functools.partial(Handler, directory=str(files))) as url:
        yield url


def read(source):
    return np.concatenate([batch.rows for batch in source.batches()])


@pytest.mark.parametrize("name", ["year=2026/rows.parquet", "rows.npy", "rows.csv", "rows.csv?version=1"])
def test_files_on_the_web_are_read_as_others(site, name):
    source = open_source(f"{site}/{name}")
    assert source.copied
    assert source.tables[0].label == f"{site}/{name.partition('?')[0]}"
    np.testing.assert_array_equal(read(source), ROWS)
    source.require_unchanged()


def test_keys_of_the_path_and_columns_to_keep(site):
    source = open_source(f"{site}/year=2026/rows.parquet", columns=["a", "year"])
    assert (read(source)[:, 1] == 2026).all()
    assert KeptColumns(source, ["b"]).take(500).column("b").to_pylist() == ROWS[:, 1].tolist()


def test_what_goes_wrong_is_said_by_its_address(site):
    with pytest.raises(SourceError, match=r"/none.csv: the server answers 404"):
        open_source(f"{site}/none.csv")
    with pytest.raises(SourceError, match=r"^http://[^ ]*/bad.parquet: expected a Parquet file"):
        open_source(f"{site}/bad.parquet")
    with pytest.raises(SourceError, match="bytes too early"):
        open_source(f"{site}/short.csv")
    with pytest.raises(SourceError, match="cannot be fetched"):
        open_source("http://127.0.0.1:1/rows.csv")


def test_a_store_of_fsspec_with_folders_and_patterns(files):
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    for name in ("rows.csv", "rows.npy", "year=2026/rows.parquet"):
        store.pipe(f"/qckm-test/{name}", (files / name).read_bytes())
    np.testing.assert_array_equal(read(open_source("memory://qckm-test/*.csv")), ROWS)
    np.testing.assert_array_equal(read(open_source("memory://qckm-test/year=2026")), ROWS)
    with pytest.raises(SourceError, match="found none"):
        open_source("memory://qckm-test/*.tsv")
    with pytest.raises(SourceError, match=r"memory:/+qckm-test/none.csv: cannot be fetched"):
        open_source("memory://qckm-test/none.csv")


def test_a_store_that_nobody_can_reach_is_a_sentence(monkeypatch):
    monkeypatch.setattr("qckm.sources.remote._list_by_arrow", lambda *_: None)
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match="pip install s3fs"):
        open_source("s3://bucket/rows.parquet")
    with pytest.raises(MissingExtraError, match="pip install gcsfs"):
        open_source("gs://bucket/rows.parquet")


def test_an_address_of_no_kind_is_a_sentence():
    pytest.importorskip("fsspec")
    with pytest.raises(SourceError, match="got nonsense://"):
        open_source("nonsense://rows.csv")


def test_pyarrow_lists_folders_and_patterns(files):
    """Its local store stands for s3:// and gs://, which need a network."""
    from qckm.sources.remote import _list_by_arrow

    def names(url):
        return [one.url.removeprefix(f"file://{files}/") for one in _list_by_arrow(url)]

    assert names(f"file://{files}/*.npy") == ["rows.npy"]
    assert names(f"file://{files}/year=*/rows.*") == ["year=2026/rows.parquet"]
    assert names(f"file://{files}") == ["bad.parquet", "rows.csv", "rows.npy", "year=2026/rows.parquet"]
