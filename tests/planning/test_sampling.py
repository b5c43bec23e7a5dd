"""Pilot rows come from all over the source, the same every time."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from qckm.cli import run
from qckm.errors import RowsError
from qckm.planning import held_rows
from qckm.planning.held_rows import ArrayRows, draw_pilot
from qckm.planning.plan import Plan, draw_operator
from qckm.sketch import sections
from qckm.sources.opening import open_source
from qckm.sources.source import Position


def write(path, values, group):
    pq.write_table(pa.table({"x": values.astype(float), "y": values % 7.0}), path, row_group_size=group)


def test_large_sorted_files_are_looked_into_from_beginning_to_end(tmp_path, monkeypatch):
    monkeypatch.setattr(held_rows, "LOOKED_AT", 1 << 19)  # 32 768 of the rows
    for part in range(4):
        write(tmp_path / f"{part}.parquet", np.arange(20_000) + 20_000 * part, 1000)
    source = open_source(tmp_path)
    found = draw_pilot(source, np.random.default_rng(0), 500)
    assert len(found.rows) == 500
    assert found.weights.sum() == pytest.approx(80_000, rel=0.1)
    counts, _ = np.histogram(found.rows[:, 0], 8, (0, 80_000))
    assert counts.min() > 30
    assert len(np.unique(found.rows[:, 0] // 1000)) == 32  # row groups
    np.testing.assert_array_equal(found.rows, draw_pilot(source, np.random.default_rng(0), 500).rows)


def test_a_large_array_is_looked_at_in_places(monkeypatch):
    monkeypatch.setattr(held_rows, "LOOKED_AT", 1 << 16)
    rows = np.arange(100_000.0)[:, np.newaxis]
    found = draw_pilot(ArrayRows(rows, np.where(rows[:, 0] < 50_000, 3, 0), None), np.random.default_rng(0), 500)
    counts, _ = np.histogram(found.rows[:, 0], 5, (0, 50_000))
    assert counts.min() > 60


@pytest.mark.parametrize("size", [10, 5000])
def test_a_csv_is_read_through(tmp_path, size):
    np.savetxt(tmp_path / "t.csv", np.arange(2000.0).reshape(1000, 2), header="a,b", comments="", delimiter=",")
    rows = draw_pilot(open_source(tmp_path / "t.csv"), np.random.default_rng(0), size).rows
    assert len(rows) == min(size, 1000)
    assert rows[:, 0].max() > 1000


def test_bad_rows_are_not_in_the_pilot():
    rows = np.array([[np.nan, 1.0], [2.0, 3.0], [np.inf, 0.0]])
    assert draw_pilot(open_source(rows), np.random.default_rng(0), 10).rows.tolist() == [[2.0, 3.0]]
    with pytest.raises(RowsError, match="found none"):
        draw_pilot(open_source(rows[:1]), np.random.default_rng(0), 10)


def test_standardising_is_in_the_operator():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 3)) * [1e-3, 1e3, 0] + [0, 1e6, 5]
    planned = draw_operator(open_source(rows), Plan(n_clusters=2, standardize=True))
    np.testing.assert_allclose(planned.operator.units, [1e-3, 1e3, 1], rtol=0.05)
    assert "constant in the pilot" in planned.words[0]
    assert planned.operator.sketch(rows).saturated == 0


def test_no_row_is_read_where_nothing_is_left_open(tmp_path):
    plan = Plan(n_frequencies=20, scale=2.0, seed=1)
    here, there = np.zeros((5, 2)), np.full((5, 2), 9.0)
    assert draw_operator(open_source(here), plan).operator == draw_operator(open_source(there), plan).operator


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.npy"])
def test_a_small_file_is_read_once_for_pilot_and_sketch(tmp_path, monkeypatch, name):
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    if name == "t.parquet":
        pq.write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), tmp_path / name, row_group_size=500)
    elif name == "t.csv":
        np.savetxt(tmp_path / name, rows, "%.17g", ",")
    else:
        np.save(tmp_path / name, rows)
    source = open_source(tmp_path / name)
    readings, read = [], type(source.tables[0]).read
    monkeypatch.setattr(
        type(source.tables[0]), "read", lambda self, *how: readings.append(how[1]) or read(self, *how), raising=True
    )
    planned = draw_operator(source, Plan(n_clusters=3))
    assert planned.operator.sketch(source).count == 3000
    assert readings == [0]
    assert planned.operator.sketch(source).count == 3000  # what was held is given once
    assert readings == [0, 0]


@pytest.mark.parametrize(
    "fit",
    [
        lambda path: qckm.CompressiveKMeans(3, random_state=0).fit(path),
        lambda path: qckm.CompressiveGaussianMixture(3, random_state=0).fit(path),
        lambda path: run(["fit", str(path), "-k", "3", "-o", f"{path}.json", "--quiet"]),
    ],
    ids=["k-means", "mixture", "command line"],
)
def test_a_fit_reads_a_small_parquet_file_once(tmp_path, monkeypatch, fit):
    """For the pilot, the sketch and the sample together: no row group is decoded twice, and no sketch is written."""
    rng = np.random.default_rng(0)
    rows = 9 * rng.integers(0, 3, (3000, 1)) + rng.normal(size=(3000, 2))
    pq.write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), tmp_path / "t.parquet", row_group_size=500)
    decoded, read = [], pq.ParquetFile.iter_batches

    def counted(self, *args, **kwargs):
        decoded.extend(kwargs["row_groups"])
        return read(self, *args, **kwargs)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    monkeypatch.setattr(sections, "_written", lambda *_: pytest.fail("a sketch was written"))
    fit(tmp_path / "t.parquet")
    assert decoded == list(range(6))


def test_a_reading_that_is_given_up_costs_no_rows(monkeypatch):
    source = open_source(np.arange(3000.0).reshape(1000, 3))
    assert sum(len(rows) for rows in source.look(10**6)) == 1000
    next(source.batches(batch_bytes=2400))
    assert sum(len(batch.rows) for batch in source.batches()) == 1000
    assert sum(len(rows) for rows in source.look(10)) == 1000  # too many to hold
    assert not source._ahead.held
    assert sum(len(rows) for rows in source.look(10**6)) == 1000
    after = list(source.batches(Position(0, 600)))
    assert sum(len(batch.rows) for batch in after) == 400
