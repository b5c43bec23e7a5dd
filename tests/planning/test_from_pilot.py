"""`SketchOperator.from_pilot` is `qckm operator`, in Python."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import qckm
from qckm.cli import run
from qckm.errors import OperatorError, RowsError

ROWS = np.random.default_rng(0).normal(size=(3000, 3)) * [1, 2, 3]


def test_it_draws_the_operator_that_the_command_line_draws(tmp_path):
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    frame.to_parquet(tmp_path / "rows.parquet")
    made = tmp_path / "operator.qckm"
    assert run(["operator", str(tmp_path / "rows.parquet"), "-k", "5", "--standardize", "-q", "-o", str(made)]) == 0
    drawn = qckm.SketchOperator.from_pilot(frame, n_clusters=5, standardize=True, random_state=0)
    assert drawn == qckm.load(made).operator


@pytest.mark.parametrize("kind", ["array", "lazy", "relation", "path", "source"])
def test_it_takes_rows_wherever_they_are(kind, tmp_path):
    frame = pl.DataFrame(ROWS, schema=["a", "b", "c"], orient="row")
    frame.write_parquet(tmp_path / "rows.parquet")
    duckdb = pytest.importorskip("duckdb")
    X = {
        "array": lambda: ROWS,
        "lazy": frame.lazy,
        "relation": lambda: duckdb.from_arrow(frame.to_arrow()),
        "path": lambda: tmp_path / "rows.parquet",
        "source": lambda: qckm.open_source(frame),
    }[kind]()
    operator = qckm.SketchOperator.from_pilot(X, n_clusters=4, random_state=0)
    assert operator.frequency_codes.shape == (3, operator.n_frequencies)
    assert operator.feature_names == (None if kind == "array" else ("a", "b", "c"))


def test_it_measures_the_columns_that_are_asked_for():
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    operator = qckm.SketchOperator.from_pilot(frame, n_clusters=2, columns=["c", "a"], random_state=0)
    assert operator.feature_names == ("c", "a")
    assert operator.sketch(frame) == operator.sketch(frame[["c", "a"]].to_numpy())


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(OperatorError, match="n_clusters to be a whole number"):
        qckm.SketchOperator.from_pilot(ROWS, n_clusters=0)
    with pytest.raises(RowsError, match="found none"):
        qckm.SketchOperator.from_pilot(np.full((5, 2), np.nan), n_clusters=2)


@pytest.mark.parametrize("kind", ["lazy", "relation"])
def test_estimators_fit_lazy_frames_and_relations(kind):
    frame = pl.DataFrame(ROWS, schema=["a", "b", "c"], orient="row")
    data = frame.lazy() if kind == "lazy" else pytest.importorskip("duckdb").from_arrow(frame.to_arrow())
    km = qckm.CompressiveKMeans(3, random_state=0).fit(data)
    assert km.sketch_.count == 3000
    assert tuple(km.feature_names_in_) == ("a", "b", "c")
