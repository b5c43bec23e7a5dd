"""Arrays and frames whose values only look like numbers: refused by row and column, from every library alike.

Each test is named by its number in the list of holes that an adversarial round found.
"""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import qckm
from qckm.errors import QckmError, RowsError
from qckm.sources.opening import open_source
from qckm.sources.rows import as_rows, as_weights

DAY = datetime.datetime(2026, 11, 15)


@pytest.fixture(scope="module")
def operator():
    return qckm.SketchOperator.draw(2, 20, scale=1.0, random_state=0)


def frames():
    """Frames with a column 'x' of numbers and a column 'bad' of something else, and what it is."""
    x = [1.0, 2.0]
    yield "pandas datetime", pd.DataFrame({"x": x, "bad": pd.to_datetime(["2020", "2021"])})
    yield "pandas time zone", pd.DataFrame({"x": x, "bad": pd.to_datetime(["2020", "2021"], utc=True)})
    yield "pandas timedelta", pd.DataFrame({"x": x, "bad": pd.to_timedelta([1, 2], "s")})
    yield "pandas period", pd.DataFrame({"x": x, "bad": pd.period_range("2020", periods=2, freq="D")})
    yield "pandas categories", pd.DataFrame({"x": x, "bad": pd.Categorical(["1", "2"])})
    yield "pandas text", pd.DataFrame({"x": x, "bad": ["1", "2_0"]})
    yield "pandas objects", pd.DataFrame({"x": x, "bad": pd.Series(["1", 2], dtype=object)})
    yield "pandas dates as objects", pd.DataFrame({"x": x, "bad": pd.Series([DAY, DAY], dtype=object)})
    yield "pandas complex", pd.DataFrame({"x": x, "bad": [1j, 2]})
    yield "pandas of Arrow", pd.DataFrame({"x": x, "bad": pd.array([DAY] * 2, pd.ArrowDtype(pa.timestamp("us")))})
    yield "polars datetime", pl.DataFrame({"x": x, "bad": [DAY] * 2})
    yield "polars date", pl.DataFrame({"x": x, "bad": [DAY.date()] * 2})
    yield "polars duration", pl.DataFrame({"x": x, "bad": [datetime.timedelta(1)] * 2})
    yield "polars text", pl.DataFrame({"x": x, "bad": ["1", "2"]})
    yield "polars categories", pl.DataFrame({"x": x, "bad": pl.Series(["1", "2"], dtype=pl.Categorical)})
    for kind in (pa.timestamp("s"), pa.date32(), pa.time32("s"), pa.duration("s"), pa.string(), pa.binary()):
        values = ["1", "2"] if kind in (pa.string(), pa.binary()) else [1, 2]
        yield f"arrow {kind}", pa.table({"x": x, "bad": pa.array(values, kind)})
    yield "arrow dictionary", pa.table({"x": x, "bad": pa.array(["1", "2"]).dictionary_encode()})
    yield "arrow batch", pa.record_batch({"x": x, "bad": ["1", "2"]})


FRAMES = dict(frames())


@pytest.mark.parametrize("name", FRAMES)
def test_10_what_only_looks_like_numbers_is_refused_by_column(name, operator):
    frame = FRAMES[name]
    attempts = {
        "as_rows": lambda: as_rows(frame),
        "sketch": lambda: operator.sketch(frame),
        "a source": lambda: list(open_source(frame).batches()),
        "a source of that column": lambda: list(open_source(frame, columns=["x", "bad"]).batches()),
        "sketch_source": lambda: qckm.sketch_source(operator, frame),
    }
    if "arrow" not in name and "polars" not in name:
        attempts["fit"] = lambda: qckm.CompressiveKMeans(1, random_state=0).fit(frame)
    for where, attempt in attempts.items():
        with pytest.raises(QckmError, match="bad") as refusal:
            attempt()
        assert "bad" in str(refusal.value), where


@pytest.mark.parametrize("name", [name for name in FRAMES if name.startswith("arrow")])
def test_10_the_same_in_a_file(name, tmp_path):
    frame = FRAMES[name]
    pq.write_table(frame if isinstance(frame, pa.Table) else pa.Table.from_batches([frame]), tmp_path / "t.parquet")
    with pytest.raises(QckmError, match=r"t\.parquet: expected columns of numbers, got 'bad'"):
        open_source(tmp_path / "t.parquet", columns=["x", "bad"])


def numbers():
    yield "pandas categories", pd.DataFrame({"x": [1.0, 2.0], "y": pd.Categorical([3, 4])})
    yield "pandas booleans", pd.DataFrame({"x": [1.0, 2.0], "y": [True, False]})
    yield "pandas nullable", pd.DataFrame({"x": [1.0, 2.0], "y": pd.array([3, 4], dtype="Int64")})
    yield "pandas objects", pd.DataFrame({"x": [1.0, 2.0], "y": pd.Series([Decimal(3), 4], dtype=object)})
    yield "pandas sparse", pd.DataFrame({"x": [1.0, 2.0], "y": pd.arrays.SparseArray([0.0, 1.0])})
    yield (
        "pandas decimals",
        pd.DataFrame({"x": [1.0, 2.0], "y": pd.array([Decimal(3)] * 2, pd.ArrowDtype(pa.decimal128(5, 2)))}),
    )
    yield "polars decimals", pl.DataFrame({"x": [1.0, 2.0], "y": [Decimal("1.5")] * 2})
    yield "polars booleans", pl.DataFrame({"x": [1.0, 2.0], "y": [True, False]})
    yield "arrow decimals", pa.table({"x": [1.0, 2.0], "y": pa.array([Decimal("1.5")] * 2)})
    yield "arrow dictionary", pa.table({"x": [1.0, 2.0], "y": pa.array([3, 4]).dictionary_encode()})


@pytest.mark.parametrize("name, frame", list(numbers()))
def test_10_what_is_numbers_stays_numbers(name, frame):
    rows = as_rows(frame)
    assert rows.shape == (2, 2)
    assert np.isfinite(rows).all()
    assert as_rows(frame)[:, 0].tolist() == [1, 2]


@pytest.mark.parametrize("missing", [None, pd.NA, float("nan"), np.nan])
def test_10_missing_values_are_nan_whatever_they_are_called(missing):
    rows = as_rows(np.array([[1.0, missing], [2.0, 3.0]], object))
    np.testing.assert_array_equal(rows, [[1, np.nan], [2, 3]])


@pytest.mark.parametrize(
    "value", ["1_000", b"1", 1j, DAY, DAY.date(), datetime.timedelta(1), np.datetime64(1, "s"), np.timedelta64(1, "s")]
)
def test_10_objects_that_are_no_numbers_are_named_by_place(value):
    rows = np.empty((3, 2), object)
    rows[:] = 1.0
    rows[2, 1] = value
    with pytest.raises(RowsError, match="row 2, column 1"):
        as_rows(rows)
    with pytest.raises(RowsError, match="row 2, column 1"):
        qckm.CompressiveKMeans(1, random_state=0).fit(rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, object, bool])
def test_10_a_masked_value_is_a_missing_one(dtype, operator):
    X = np.ma.array([[1, 0], [1, 1], [0, 1]], dtype, mask=[[0, 0], [0, 1], [0, 0]])
    for attempt in (
        lambda: operator.sketch(X),
        lambda: qckm.sketch_source(operator, X),
        lambda: qckm.CompressiveKMeans(1, random_state=0).fit(X),
        lambda: operator.encode(X),
    ):
        with pytest.raises(RowsError, match=r"row 1.*column '?1"):
            attempt()
    found = qckm.sketch_source(operator, X, on_bad="skip")
    assert (found.count, found.skipped) == (2, 1)


def test_10_a_mask_that_hides_nothing_changes_nothing(operator):
    rows = np.arange(6.0).reshape(3, 2)
    assert operator.sketch(np.ma.array(rows)) == operator.sketch(rows)
    assert type(as_rows(np.ma.array(rows))) is np.ndarray


def test_10_masked_weights_are_refused(operator):
    rows, weights = np.ones((3, 2)), np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1])
    for attempt in (
        lambda: as_weights(weights, 3),
        lambda: operator.sketch(rows, weights),
        lambda: qckm.CompressiveKMeans(1, random_state=0).fit(rows, sample_weight=weights),
    ):
        with pytest.raises(RowsError, match="masked one in row 2"):
            attempt()
    assert operator.sketch(rows, np.ma.array([1, 2, 3])).count == 6


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_10_matrices_and_records():
    assert type(as_rows(np.matrix([[1.0, 2.0]]))) is np.ndarray
    with pytest.raises(RowsError, match="structured_to_unstructured"):
        as_rows(np.array([(1, 2.0)], [("a", int), ("b", float)]))


def test_10_whole_numbers_beyond_float64_are_rounded_alike_everywhere(tmp_path, operator):
    """To the nearest float64, as the operator does with integers in an array."""
    values = np.array([[2**53 + 1, 2**53 + 3], [2**62 + 1, -(2**53) - 1]])
    rows = values.astype(np.float64)
    table = pa.table({"a": values[:, 0], "b": values[:, 1]})
    pq.write_table(table, tmp_path / "t.parquet")
    np.savetxt(tmp_path / "t.csv", values, fmt="%d", delimiter=",")
    np.save(tmp_path / "t.npy", values)
    exact = qckm.SketchOperator.draw(2, 20, scale=2.0**50, random_state=0)
    expected = exact.sketch(rows)
    assert exact.sketch(values) == expected
    for data in (values, table, table.to_pandas(), *(tmp_path / f"t.{ending}" for ending in ("parquet", "csv", "npy"))):
        found = np.concatenate([batch.rows for batch in open_source(data).batches()])
        np.testing.assert_array_equal(found, rows)
        assert qckm.sketch_source(exact, data) == expected
    unsigned = np.array([[2**64 - 1, 2**63 + 1]], np.uint64)
    assert exact.sketch(unsigned) == exact.sketch(unsigned.astype(np.float64)) == qckm.sketch_source(exact, unsigned)


def test_10_groups_of_many_keys_do_not_fall_together():
    """Their codes, multiplied, wrapped around: 2**22 ** 3 is 2**66."""
    op = qckm.SketchOperator.draw(1, 5, scale=1.0, random_state=0)
    dictionary = pa.array(np.arange(2**22 - 1))
    low, high = pa.array([0, 0], pa.int32()), pa.array([0, 2**20], pa.int32())

    def column(indices):
        return pa.DictionaryArray.from_arrays(indices, dictionary)

    # 2**20 · 2**44 is 0 modulo 2**64.
    table = pa.table({"a": column(high), "b": column(low), "c": column(low), "x": [1.0, 2.0]})
    found = qckm.sketch_by(op, table, by=["a", "b", "c"])
    assert {key: sketch.count for key, sketch in found.items()} == {(0, 0, 0): 1, (2**20, 0, 0): 1}
