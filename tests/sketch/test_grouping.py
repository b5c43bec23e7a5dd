"""One sketch per group, of tables of all kinds."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from qckm.errors import RowsError, SourceError
from qckm.sketch import files


@pytest.fixture
def op():
    return qckm.SketchOperator.draw(2, 30, scale=1.0, random_state=0, feature_names=["x", "y"])


@pytest.fixture
def table(rng):
    return pa.table(
        {
            "x": rng.normal(size=5000),
            "device": rng.choice(["berlin", "paris", "rome"], 5000),
            "day": rng.integers(0, 2, 5000),
            "y": rng.normal(size=5000),
        }
    )


def by_hand(op, table, *keys):
    frame = table.to_pandas()
    grouped = frame.groupby(list(keys) if len(keys) > 1 else keys[0])
    return {key: files.dumps(op.sketch(group[["x", "y"]].to_numpy())) for key, group in grouped}


def in_bytes(sketches):
    return {key: files.dumps(sketch) for key, sketch in sketches.items()}


@pytest.mark.parametrize(
    "kind",
    [
        lambda table: table,
        lambda table: table.to_reader(max_chunksize=77),
        lambda table: table.to_pandas(),
        pl.from_arrow,
        lambda table: pl.from_arrow(table).lazy(),
        lambda table: duckdb.from_arrow(table),
        lambda table: duckdb.from_arrow(table).order("device, x"),
    ],
    ids=["arrow", "reader", "pandas", "polars", "lazy polars", "duckdb", "duckdb, sorted"],
)
def test_each_group_has_the_sketch_of_its_rows(op, table, kind):
    assert in_bytes(qckm.sketch_by(op, kind(table), by="device")) == by_hand(op, table, "device")


def test_keys_of_several_columns_are_tuples(op, table):
    found = qckm.sketch_by(op, table, by=["device", "day"])
    assert in_bytes(found) == by_hand(op, table, "device", "day")
    assert repr(found) == f"GroupedSketches(groups=6, by=('device', 'day'), operator={op!r})"
    assert len(found) == 6


def test_hive_partitions_are_groups(op, table, tmp_path):
    pq.write_to_dataset(table, tmp_path, partition_cols=["device"])
    assert in_bytes(qckm.sketch_by(op, tmp_path, by="device")) == by_hand(op, table, "device")


def test_nulls_and_dictionaries_are_keys(op):
    column = pa.array(["a", None, "a", None, "b"])
    for keys in (column, column.dictionary_encode()):
        found = qckm.sketch_by(op, pa.table({"k": keys, "x": np.ones(5), "y": np.ones(5)}), by="k")
        assert {key: sketch.count for key, sketch in found.items()} == {"a": 2, None: 2, "b": 1}


def test_groups_merge_to_the_whole(op, table):
    found = qckm.sketch_by(op, table, by="device")
    assert sum(found.values()) == qckm.sketch_source(op, table)


def test_other_columns_may_be_sketched(table):
    op = qckm.SketchOperator.draw(1, 30, scale=1.0, random_state=0)
    assert sum(qckm.sketch_by(op, table, by="device", columns=["y"]).values()).count == 5000


def test_bad_rows_are_named_by_their_place_or_counted_in_their_group(op, table):
    frame = table.to_pandas()
    frame.loc[4321, "y"] = np.nan
    with pytest.raises(RowsError, match=r"row 4321 .* column 'y'"):
        qckm.sketch_by(op, frame, by="device")
    found = qckm.sketch_by(op, frame, by="device", on_bad="skip")
    assert {key for key, sketch in found.items() if sketch.skipped} == {frame.device[4321]}
    with pytest.raises(RowsError, match="on_bad 'error' or 'skip'"):
        qckm.sketch_by(op, frame, by="device", on_bad="drop")


def test_what_cannot_be_grouped_is_refused(op, table, tmp_path):
    with pytest.raises(SourceError, match=r"column\(s\) sensor"):
        qckm.sketch_by(op, table, by="sensor")
    with pytest.raises(SourceError, match=r"columns of numbers, got device \(string\)"):
        qckm.sketch_by(op, table, by="day", columns=["x", "device"])
    with pytest.raises(SourceError, match="expected 2 columns"):
        qckm.sketch_by(op, table, by="day", columns=["x"])
    with pytest.raises(SourceError, match="table with named columns"):
        qckm.sketch_by(op, np.zeros((3, 2)), by="x")
    (tmp_path / "rows.parquet").write_bytes(b"nothing")
    with pytest.raises(SourceError, match="expected Parquet"):
        qckm.sketch_by(op, tmp_path / "rows.parquet", by="x")


def test_twenty_partitionings_in_duckdb_and_polars_do_not_change_a_byte(op, table, tmp_path):
    """Files cut at random, read by several threads in any order: the whole and each group have the same sum."""
    whole, groups = files.dumps(qckm.sketch_source(op, table)), by_hand(op, table, "device")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        for part, rows in enumerate(np.split(rng.permutation(5000), np.sort(rng.integers(0, 5000, 6)))):
            pq.write_table(table.take(pa.array(rows)), folder / f"{part}.parquet")
        relation = duckdb.sql(f"from read_parquet('{folder}/*.parquet') where x is not null")
        assert files.dumps(qckm.sketch_source(op, relation)) == whole
        assert in_bytes(qckm.sketch_by(op, relation, by="device")) == groups
        lazy = pl.scan_parquet(folder / "*.parquet")
        assert files.dumps(qckm.sketch_source(op, lazy)) == whole
        assert in_bytes(qckm.sketch_by(op, lazy, by="device")) == groups


def test_pandas_index_is_no_column(op, table):
    frame = table.to_pandas().set_index(pd.Index(np.arange(5000) * 7))
    assert in_bytes(qckm.sketch_by(op, frame, by="device")) == by_hand(op, table, "device")
