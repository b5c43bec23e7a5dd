"""Tables of sketches: written, read, merged by some of their keys; a table that cannot be is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from qckm.errors import FileError, MergeError, SourceError
from qckm.sketch import files, group_tables
from qckm.sketch.grouping import GroupKeys


@pytest.fixture
def op():
    return qckm.SketchOperator.draw(2, 30, scale=1.0, random_state=0, feature_names=["x", "y"])


@pytest.fixture
def table(rng):
    return pa.table(
        {
            "shop": rng.choice(["berlin", "paris", None], 4000),
            "day": rng.integers(0, 5, 4000),
            "x": rng.normal(size=4000),
            "y": rng.normal(size=4000),
        }
    )


def in_bytes(groups):
    return {key: files.dumps(sketch) for key, sketch in groups.items()}


def test_a_table_is_what_was_written(op, table, tmp_path):
    groups = qckm.sketch_by(op, table, by=["shop", "day"])
    group_tables.save(groups, tmp_path / "sketches.parquet")
    found = group_tables.load([tmp_path / "sketches.parquet"])
    assert in_bytes(found) == in_bytes(groups)
    held = pq.read_table(tmp_path / "sketches.parquet")
    assert held.column_names[:3] == ["shop", "day", "rows"]
    assert sum(held.column("rows").to_pylist()) == 4000


def test_tables_merge_by_some_of_their_keys(op, table, tmp_path):
    for number in range(3):
        part = table.slice(number * 1300, 1300 if number < 2 else 1400)
        group_tables.save(qckm.sketch_by(op, part, by=["shop", "day"]), tmp_path / f"{number}.parquet")
    paths = sorted(tmp_path.glob("*.parquet"))
    assert in_bytes(group_tables.load(paths)) == in_bytes(qckm.sketch_by(op, table, by=["shop", "day"]))
    assert in_bytes(group_tables.load(paths, by=["shop"])) == in_bytes(qckm.sketch_by(op, table, by="shop"))


def test_others_tables_are_refused(op, table, tmp_path):
    group_tables.save(qckm.sketch_by(op, table, by="shop"), tmp_path / "a.parquet")
    other = qckm.SketchOperator.draw(2, 30, scale=1.0, random_state=1, feature_names=["x", "y"])
    group_tables.save(qckm.sketch_by(other, table, by="shop"), tmp_path / "b.parquet")
    with pytest.raises(MergeError, match="the operator of"):
        group_tables.load([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    group_tables.save(qckm.sketch_by(op, table, by="day"), tmp_path / "c.parquet")
    with pytest.raises(SourceError, match="expected groups by shop, got groups by day"):
        group_tables.load([tmp_path / "a.parquet", tmp_path / "c.parquet"])
    with pytest.raises(SourceError, match="expected groups by week"):
        group_tables.load([tmp_path / "a.parquet"], by=["week"])
    pq.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(FileError, match="expected a table of sketches"):
        group_tables.load([tmp_path / "d.parquet"])
    renamed = table.rename_columns(["rows", "day", "x", "y"])
    with pytest.raises(SourceError, match="got 'rows': rename it"):
        group_tables.to_table(qckm.sketch_by(op, renamed, by="rows"))


@pytest.mark.parametrize(
    "name, change",
    [
        ("sums", lambda column: pa.FixedSizeListArray.from_arrays(pa.array([10**6] * 60 * len(column)), 60)),
        ("sums", lambda column: pa.FixedSizeListArray.from_arrays(pa.array([0] * 59 * len(column)), 59)),
        ("rows", lambda column: pa.array([-1] * len(column))),
        ("saturated", lambda column: pa.array([10**9] * len(column))),
        ("lower", lambda column: pa.array(["x"] * len(column))),
        ("codes", lambda column: pa.FixedSizeListArray.from_arrays(pa.array([2**40] * 4 * len(column)), 4)),
    ],
)
def test_sums_that_cannot_be_are_refused(op, table, tmp_path, name, change):
    held = group_tables.to_table(qckm.sketch_by(op, table, by="shop"))
    place = held.column_names.index(name)
    pq.write_table(held.set_column(place, name, change(held.column(name))), tmp_path / "a.parquet")
    with pytest.raises(FileError, match="expected"):
        group_tables.load([tmp_path / "a.parquet"])


def test_keys_of_many_values_are_numbered_alike(rng, monkeypatch):
    columns = {name: rng.integers(0, 40, 3000) for name in "abc"}
    found = [GroupKeys("abc"), GroupKeys("abc")]
    numbers = []
    for keys, most in zip(found, (10**9, 10), strict=True):
        monkeypatch.setattr("qckm.sketch.grouping._DENSE", most)
        parts = [keys.number(pa.table(columns).slice(start, 500)) for start in range(0, 3000, 500)]
        numbers.append(np.concatenate(parts))
    dense, sparse = numbers
    assert sorted(map(tuple, found[0].tuples())) == sorted(map(tuple, found[1].tuples()))
    assert len(np.unique(dense)) == len(np.unique(sparse)) == len(found[0])
    for keys, some in zip(found, numbers, strict=True):
        table = keys.table()
        for name in "abc":
            assert table.column(name).take(pa.array(some)).to_pylist() == columns[name].tolist()
