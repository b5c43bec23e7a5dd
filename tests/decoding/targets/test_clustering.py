"""What a decoder returns can be used at once: rows are labelled, a model is written, columns have names."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import qckm
from qckm.errors import RemarkWarning, RowsError


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    age = np.where(rng.random(4000) < 0.5, 30.0, 60.0) + rng.normal(size=4000)
    income = np.where(rng.random(4000) < 0.5, 2e4, 8e4) + 1000 * rng.normal(size=4000)
    return pd.DataFrame({"age": age, "income": income})


@pytest.fixture(scope="module")
def found(frame):
    operator = qckm.SketchOperator.from_pilot(frame, n_clusters=4, standardize=True, random_state=0)
    return qckm.decode(operator.sketch(frame), n_clusters=4, random_state=0)


def test_a_clustering_labels_rows_in_the_units_of_its_operator(frame, found):
    rows, units = frame.to_numpy(), found.units
    away = np.linalg.norm((rows[:, np.newaxis] - found.centers) / units, axis=2)
    assert np.array_equal(found.predict(rows), away.argmin(axis=1))
    assert np.allclose(found.transform(rows), away)


def test_a_clustering_finds_a_frames_columns_by_their_names(frame, found):
    assert found.feature_names == ("age", "income")
    turned = frame.assign(name="x")[["name", "income", "age"]]
    assert np.array_equal(found.predict(turned), found.predict(frame.to_numpy()))
    with pytest.raises(RowsError, match="Expected columns age, income"):
        found.predict(frame.rename(columns={"age": "years"}))


def test_a_clustering_is_saved_and_comes_back_as_a_model(frame, found, tmp_path):
    found.save(tmp_path / "model.json")
    model = qckm.load_model(tmp_path / "model.json")
    assert np.array_equal(model.predict(frame), found.predict(frame))
    assert model.names == ("age", "income")
    assert np.array_equal(found.to_model().units, model.units)


def test_python_warns_of_a_column_that_outweighs_the_others_as_the_command_line_does(frame):
    heavy = frame.assign(age=frame.age * 250)  # income still has 98 % of the variance
    share = heavy.income.var() / heavy.var().sum()
    assert 0.95 < share < 0.99
    with pytest.warns(RemarkWarning, match="Column 'income' makes up 9"):
        operator = qckm.SketchOperator.from_pilot(heavy, n_clusters=2, random_state=0)
    with pytest.warns(RemarkWarning, match="Column 'income' makes up 9"):
        qckm.decode(operator.sketch(heavy), n_clusters=2, random_state=0)
    with pytest.warns(RemarkWarning, match="Column 'income' makes up 9"):
        qckm.CompressiveKMeans(2, random_state=0).fit(heavy)


def test_standardised_columns_are_no_reason_to_warn(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RemarkWarning)
        qckm.SketchOperator.from_pilot(frame, n_clusters=4, standardize=True, random_state=0)


def test_a_notebook_shows_counts_columns_and_the_verdict():
    found = qckm.Clustering(
        np.zeros((2, 1)), np.array([0.75, 0.25]), np.ones(2), 0.1, 0.9, 7, True, 0.02, 0.06, feature_names=("<b>",)
    )
    shown = found._repr_html_()
    assert "<th>clusters</th><td>2</td>" in shown
    assert "<th>columns</th><td>&lt;b&gt;</td>" in shown
    assert "<th>weights</th><td>75.0%, 25.0%</td>" in shown
    assert "<th>verdict</th><td>reliable: SSE expected within 2 % of the best, hardly above 6 %</td>" in shown
    assert "remarks" not in shown
    words = "reliable: SSE expected within 2 % of the best, hardly above 6 %"
    assert repr(found) == f"Clustering(2 clusters of 1 column, verdict {words})"
    doubtful = replace(
        found, converged=False, excess=None, remarks=("Look.", "Twice."), feature_names=None
    )._repr_html_()
    assert "<td>doubtful</td>" in doubtful
    assert "<th>remarks</th><td>Look. Twice.</td>" in doubtful
    assert "<th>columns</th><td>1</td>" in doubtful
