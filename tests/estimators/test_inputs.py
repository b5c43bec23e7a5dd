"""`fit`, `partial_fit`, `op.sketch` and `sketch_source` take the same things, with the same columns and bad rows."""

import pickle

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import qckm
from qckm import files
from qckm.errors import QckmError, RowsError, SampleLostWarning, SourceError

pytestmark = pytest.mark.filterwarnings("ignore::qckm.errors.PoorFitWarning")  # one component for three clusters
ROWS = np.random.default_rng(1000).normal(size=(600, 2)) + 8 * np.random.default_rng(1001).integers(0, 3, size=(600, 1))
TABLE = pa.table({"name": ["x"] * 600, "b": ROWS[:, 1], "a": ROWS[:, 0]})
OP = qckm.SketchOperator.draw(2, 50, scale=1.0, feature_names=["a", "b"], random_state=0)
ESTIMATORS = [qckm.CompressiveKMeans, qckm.CompressiveGaussianMixture, qckm.CompressivePCA]


@pytest.fixture
def containers(tmp_path):
    """Give a table in every shape that it may have."""
    pq.write_table(TABLE, tmp_path / "rows.parquet")
    pq.write_table(TABLE[:200], tmp_path / "one.parquet")
    pq.write_table(TABLE[200:], tmp_path / "two.parquet")
    connection = duckdb.connect()
    connection.register("held", TABLE)
    return {
        "pandas": TABLE.to_pandas(),
        "polars": pl.from_arrow(TABLE),
        "lazy": pl.from_arrow(TABLE).lazy(),
        "arrow": TABLE,
        "batch": TABLE.combine_chunks().to_batches()[0],
        "dataset": ds.dataset(TABLE),
        "duckdb": connection.sql("select * from held"),
        "path": tmp_path / "rows.parquet",
        "paths": [tmp_path / "one.parquet", str(tmp_path / "two.parquet")],
        "source": qckm.open_source(tmp_path / "rows.parquet", columns=["a", "b"]),
    }


def columns_of(name):
    return None if name == "source" else ["a", "b"]


def test_every_container_gives_the_same_sketch(containers):
    expected = files.dumps(OP.sketch(ROWS))
    for name, data in containers.items():
        assert files.dumps(OP.sketch(data)) == expected, name  # the operator knows its columns
        assert files.dumps(OP.sketch(data, columns=columns_of(name))) == expected, name
        assert files.dumps(qckm.sketch_source(OP, data)) == expected, name


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_container_gives_the_same_fit(containers, kind):
    expected = kind(1, random_state=0).fit(ROWS).sketch_
    for name, data in containers.items():
        found = kind(1, random_state=0).fit(data, columns=columns_of(name))
        assert found.sketch_ == expected, name
        assert found.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_container_may_come_as_a_batch(containers, kind):
    for name, data in containers.items():
        stream = kind(1, random_state=0).partial_fit(TABLE[:200], columns=["a", "b"])
        stream.partial_fit(data, columns=columns_of(name))
        assert stream.sketch_ == stream.operator_.sketch(np.concatenate([ROWS[:200], ROWS])), name
        assert stream._sample.pilot().weights.sum() == 800, name


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("name", ["pandas", "polars", "arrow", "batch"])
def test_a_fitted_estimator_knows_its_columns_in_a_frame(containers, kind, name):
    """As an operator and a model do, and as it does itself where rows are read in batches."""
    frame, plain = containers[name], kind(1, random_state=0).fit(ROWS)
    found = kind(1, random_state=0).fit(frame, columns=["a", "b"])
    for verb in ("predict", "transform", "score_samples"):
        if hasattr(found, verb):
            np.testing.assert_array_equal(getattr(found, verb)(frame), getattr(plain, verb)(ROWS))
    assert found.partial_fit(frame).sketch_.count == 1200
    decoded = kind(1, random_state=0).fit_sketch(OP.sketch(ROWS), rows=frame)
    assert decoded.objective_ == kind(1, random_state=0).fit_sketch(OP.sketch(ROWS), rows=ROWS).objective_


@pytest.mark.parametrize(
    "how",
    [
        {"kind": qckm.CompressiveKMeans},
        {"kind": qckm.CompressiveKMeans, "compute_labels": False},
        {"kind": qckm.CompressiveGaussianMixture},
    ],
)
def test_fit_predict_takes_what_fit_takes(how, tmp_path):
    kind, more = how["kind"], {name: value for name, value in how.items() if name != "kind"}
    broken = np.insert(np.column_stack([ROWS[:, 1], np.zeros(600), ROWS[:, 0]]), [3, 500], np.nan, axis=0)
    expected = kind(3, random_state=0).fit(ROWS).predict(ROWS)
    labels = kind(3, random_state=0, **more).fit_predict(broken, columns=[2, 0], on_bad="skip")
    assert np.flatnonzero(labels < 0).tolist() == [3, 501]
    np.testing.assert_array_equal(labels[labels >= 0], expected)
    np.save(tmp_path / "rows.npy", ROWS)
    with pytest.raises(RowsError, match=r"qckm\.open_source"):
        kind(3, random_state=0, **more).fit_predict(tmp_path / "rows.npy")


@pytest.mark.parametrize("kind", [qckm.CompressiveKMeans, qckm.CompressivePCA])
def test_fit_transform_takes_what_fit_takes(kind):
    expected = kind(2, random_state=0).fit(ROWS).transform(ROWS)
    turned = np.column_stack([ROWS[:, 1], np.zeros(600), ROWS[:, 0]])
    np.testing.assert_array_equal(kind(2, random_state=0).fit_transform(turned, columns=[2, 0]), expected)
    frame = kind(2, random_state=0).set_output(transform="pandas").fit_transform(TABLE.to_pandas(), columns=["a", "b"])
    assert list(frame.columns) == [f"{kind.__name__.lower()}{number}" for number in range(2)]
    np.testing.assert_array_equal(frame.to_numpy(), expected)


def test_a_reader_is_used_up_and_read_once():
    assert OP.sketch(TABLE.to_reader()).count == 600
    assert qckm.CompressiveKMeans(3, random_state=0).fit(TABLE.to_reader(), columns=["a", "b"]).sketch_.count == 600


def test_the_pilot_of_a_reader_is_its_first_rows():
    """They may be of one kind: wider norms forgive that, as in `partial_fit` and on the command line."""
    of_all, of_first = (
        qckm.CompressiveKMeans(3, random_state=0).fit(data, columns=["a", "b"]).operator_.law
        for data in (TABLE, TABLE.to_reader())
    )
    assert (of_all, of_first) == ("integer-balanced", "integer-gaussian")
    assert qckm.CompressiveKMeans(3, random_state=0).partial_fit(TABLE, columns=["a", "b"]).operator_.law == of_first


def test_columns_may_be_positions_also_of_what_has_no_names():
    plain = qckm.SketchOperator.draw(2, 50, scale=1.0, random_state=0)
    wide = np.column_stack([ROWS[:, 1], np.zeros(600), ROWS[:, 0]])
    expected = plain.sketch(ROWS)
    assert plain.sketch(wide, columns=[2, 0]) == plain.sketch(wide.tolist(), columns=["2", "0"]) == expected
    assert plain.sketch(pd.DataFrame(wide), columns=[2, 0]) == expected
    with pytest.raises(RowsError, match="each once, got '3'"):
        plain.sketch(wide, columns=["2", "3"])
    with pytest.raises(RowsError, match="each once"):
        OP.sketch(TABLE, columns=["a", "a"])


def test_frames_of_other_columns_are_refused():
    with pytest.raises(RowsError, match="Expected columns a, b"):
        OP.sketch(pl.DataFrame({"a": [0.0], "c": [1.0]}))
    km = qckm.CompressiveKMeans(3, random_state=0).partial_fit(TABLE, columns=["a", "b"])
    with pytest.raises(ValueError, match="feature names"):
        km.partial_fit(pd.DataFrame(ROWS, columns=["b", "a"]))  # scikit-learn's rule for frames in memory


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_bad_rows_are_left_out_and_counted_alike(kind, tmp_path):
    broken = np.insert(ROWS, [3, 500], np.nan, axis=0)
    np.save(tmp_path / "rows.npy", broken)
    for data in (broken, tmp_path / "rows.npy"):
        with pytest.raises(RowsError, match="row 3"):
            kind(1).fit(data)
        found = kind(1, random_state=0).fit(data, on_bad="skip")
        assert (found.sketch_.count, found.sketch_.skipped) == (600, 2)
        found.partial_fit(data, on_bad="skip")
        assert (found.sketch_.count, found.sketch_.skipped) == (1200, 4)
        assert (found.operator_.sketch(data, on_bad="skip")).skipped == 2
    for data in (ROWS, broken, pl.DataFrame(broken, ["a", "b"]).lazy()):
        for verb in (kind(1).fit, kind(1).partial_fit, OP.sketch):
            with pytest.raises(QckmError, match="on_bad 'error' or 'skip'"):
                verb(data, on_bad="drop")


def test_rows_that_were_left_out_have_no_label():
    broken = np.insert(ROWS, [3, 500], np.nan, axis=0)
    km = qckm.CompressiveKMeans(3, random_state=0).fit(broken, on_bad="skip", sample_weight=np.ones(602))
    whole = qckm.CompressiveKMeans(3, random_state=0).fit(ROWS)
    assert np.flatnonzero(km.labels_ < 0).tolist() == [3, 501]
    np.testing.assert_array_equal(km.labels_[km.labels_ >= 0], whole.labels_)
    assert km.inertia_ == pytest.approx(whole.inertia_)


def test_weights_are_left_out_with_their_rows():
    broken, weights = np.insert(ROWS, 3, np.nan, axis=0), np.arange(601)
    expected = OP.sketch(ROWS, np.delete(weights, 3))
    assert OP.sketch(broken, weights, on_bad="skip") == expected


def test_what_is_read_in_batches_has_no_weights_and_no_labels(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    km = qckm.CompressiveKMeans(3, random_state=0).fit(tmp_path / "rows.npy")
    assert not hasattr(km, "labels_")
    for verb in (km.fit, km.partial_fit, km.operator_.sketch):
        with pytest.raises(RowsError, match="sample_weight"):
            verb(tmp_path / "rows.npy", sample_weight=np.ones(600))
    with pytest.raises(RowsError, match=r"qckm\.open_source"):
        km.predict(str(tmp_path / "rows.npy"))
    with pytest.raises(SourceError, match="where the data are opened"):
        km.operator_.sketch(qckm.open_source(ROWS), columns=[0, 1])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_all_estimators_say_which_rows_they_keep(kind):
    stream = kind(1, random_state=0).partial_fit(ROWS)
    assert len(stream._sample.rows) == 600
    copy = pickle.loads(pickle.dumps(stream))
    assert copy._sample is None
    with pytest.warns(SampleLostWarning, match=kind.__name__):
        copy.converged_  # noqa: B018, it decodes
    first = kind(1, pilot="first", random_state=0).partial_fit(ROWS)
    assert first._sample is None
    assert not len(first._hints.rows)
    blind = kind(1, pilot=None, scale=2.0, random_state=0).fit(ROWS)
    assert (blind.operator_.origin == 0).all()


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("how", [{"device": "gpu"}, {"pilot": "last"}, {"scale": True}, {"n_frequencies": 1.5}])
def test_all_estimators_refuse_wrong_parameters(kind, how):
    with pytest.raises(QckmError, match="Expected"):
        kind(1, **how).fit(ROWS)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_notebook_shows_counts_columns_and_the_verdict(kind):
    assert "Sketch" not in kind(1)._repr_html_()
    stream = kind(1, random_state=0).partial_fit(pd.DataFrame(ROWS, columns=["<i>", "b"]))
    shown = stream._repr_html_()
    assert "<td>600</td>" in shown
    assert "<td>&lt;i&gt;, b</td>" in shown
    assert "verdict" not in shown  # nothing is decoded for a look
    stream.converged_  # noqa: B018, it decodes
    assert "<th>verdict</th>" in stream._repr_html_()
    noted = stream.operator_.sketch(np.full((1, 2), 1e9), part="berlin")
    assert "<th>clipped</th><td>1</td>" in noted._repr_html_()
    assert "<th>parts</th><td>1</td>" in noted._repr_html_()
