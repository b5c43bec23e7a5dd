"""Model files: written in four formats, read back the same, used for predicting and handed on to scikit-learn."""

from dataclasses import replace

import numpy as np
import pandas
import pytest
from sklearn.utils.validation import check_is_fitted

import qckm
from qckm.errors import FileError
from qckm.models import Model, read_model


@pytest.fixture
def model(rng):
    centers = rng.normal(size=(4, 3)) * 5
    facts = {"rows": 100, "scale": 0.5, "inputs": ["a.csv"]}
    return Model(centers, np.array([0.4, 0.3, 0.2, 0.1]), np.ones(4), np.array([1.0, 2.0, 4.0]), ("a", "b", "ç"), facts)


def test_a_notebook_shows_counts_columns_and_the_verdict(model):
    assert repr(model) == "Model(n_clusters=4, n_features=3)"
    shown = replace(model, facts={"rows": 1200, "converged": False})._repr_html_()
    for fact in ("<th>clusters</th><td>4</td>", "<td>a, b, ç</td>", "<td>1,200</td>", "<td>doubtful</td>"):
        assert fact in shown
    assert "verdict" not in model._repr_html_()
    mixture = replace(model, covariances=np.ones((4, 3)))
    assert repr(mixture) == "Model(n_clusters=4, n_features=3, covariance_type='diag')"


@pytest.mark.parametrize("ending", ["json", "csv", "parquet", "npz"])
def test_files_round_trip(model, tmp_path, rng, ending):
    model = replace(model, units=np.ones(3)) if ending == "csv" else model
    path = tmp_path / f"model.{ending}"
    model.save(path)
    back = qckm.load_model(path)
    for name in ("centers", "weights", "spreads", "units"):
        np.testing.assert_array_equal(getattr(back, name), getattr(model, name))
    assert back.feature_names == model.feature_names
    assert back.facts == ({} if ending == "csv" else model.facts)
    X = rng.normal(size=(50, 3)) * 5
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


def test_a_csv_of_standardised_columns_is_a_table_and_no_model(model, tmp_path):
    path = tmp_path / "model.csv"
    model.save(path)
    table = pandas.read_csv(path)
    assert list(table) == ["cluster", "weight", "spread in units", "a", "b", "ç"]
    np.testing.assert_array_equal(table[["a", "b", "ç"]], model.centers)
    with pytest.raises(FileError, match=r"standardised columns, without their units: use \.json"):
        qckm.load_model(path)


def test_another_ending_is_refused_before_anything_is_written(model, tmp_path):
    with pytest.raises(FileError, match=r"ends in \.json, \.csv, \.parquet, \.npz"):
        model.save(tmp_path / "model.xlsx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("data", [b"", b"{}", b"PAR1", b"PK\x03\x04", b"cluster,weight,spread\n", b"[1]", b"\xff"])
def test_what_is_no_model_says_so(data):
    with pytest.raises(FileError, match="expected a model file"):
        read_model(data, "x")


def test_distances_count_in_units(model, rng):
    X = rng.normal(size=(500, 3)) * [1, 10, 100]
    labels, distances = model.nearest(X)
    scaled = np.linalg.norm((X[:, np.newaxis] - model.centers) / model.units, axis=2)
    np.testing.assert_array_equal(labels, scaled.argmin(axis=1))
    np.testing.assert_allclose(distances, scaled.min(axis=1))


def test_to_sklearn_is_a_fitted_kmeans(model, rng):
    kmeans = model.to_sklearn()
    check_is_fitted(kmeans)
    X = rng.normal(size=(100, 3)) * 5
    frame = pandas.DataFrame(X / model.units, columns=["a", "b", "ç"])
    np.testing.assert_array_equal(kmeans.predict(frame), model.predict(X))


def test_onnx_by_way_of_scikit_learn(rng):
    skl2onnx = pytest.importorskip("skl2onnx", reason="pip install skl2onnx onnxruntime")
    onnxruntime = pytest.importorskip("onnxruntime", reason="pip install onnxruntime")
    X = rng.normal(size=(600, 2)).astype(np.float32) + 8 * rng.integers(0, 3, size=(600, 1)).astype(np.float32)
    km = qckm.CompressiveKMeans(3, random_state=0).fit(X)
    graph = skl2onnx.to_onnx(km.to_sklearn(), X[:1])
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    labels = session.run(None, {session.get_inputs()[0].name: X})[0]
    np.testing.assert_array_equal(labels, km.labels_)


@pytest.mark.parametrize("ending", ["json", "parquet", "npz"])
@pytest.mark.parametrize("covariances", [np.ones(2), np.ones((2, 3)), np.stack([np.eye(3), 2 * np.eye(3)])])
def test_mixtures_round_trip(tmp_path, rng, ending, covariances):
    model = Model(rng.normal(size=(2, 3)), np.array([0.6, 0.4]), np.ones(2), np.ones(3), None, {}, covariances)
    model.save(tmp_path / f"model.{ending}")
    back = qckm.load_model(tmp_path / f"model.{ending}")
    np.testing.assert_array_equal(back.covariances, covariances)
    X = rng.normal(size=(50, 3))
    np.testing.assert_array_equal(back.predict(X), model.to_sklearn().predict(X))
    np.testing.assert_allclose(back.score_samples(X), model.to_sklearn().score_samples(X))


def test_a_mixture_is_no_csv_and_centroids_have_no_density(model, tmp_path):
    mixture = Model(np.eye(2), np.array([0.5, 0.5]), np.ones(2), np.ones(2), None, {}, np.ones(2))
    with pytest.raises(FileError, match=r"\.json, \.parquet or \.npz"):
        mixture.save(tmp_path / "model.csv")
    with pytest.raises(FileError, match="no density"):
        model.score_samples(np.zeros((1, 3)))


@pytest.mark.parametrize("covariances", [np.zeros(2), np.ones((2, 5)), np.ones((2, 2, 2)), np.array([1.0, np.nan])])
def test_covariances_that_are_none_are_refused(covariances):
    with pytest.raises(FileError, match="covariances"):
        Model(np.eye(2), np.array([0.5, 0.5]), np.ones(2), np.ones(2), None, {}, covariances)
