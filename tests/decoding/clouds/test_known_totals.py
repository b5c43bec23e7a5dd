"""The sums of columns in decoding: totals that a cloud reproduces, and a test of clusters that were fitted."""

import numpy as np
import pytest

import qckm
from qckm.decoding.clouds.totals import column_totals, totals_of
from qckm.decoding.model.mixture import Mixture, Problem
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.search import expectation
from qckm.decoding.search.expectation import column_gap

CENTERS = np.array([[-4.0, 0.0, 1.0], [3.0, 3.0, -1.0], [0.0, -5.0, 2.0]])


def rows(count=5000, seed=0, centers=CENTERS):
    """Return rows of Gaussian clusters of unit variance."""
    rng = np.random.default_rng(seed)
    return centers[rng.integers(len(centers), size=count)] + rng.normal(size=(count, centers.shape[1]))


def operator(m=60):
    """Return an operator for such rows."""
    return qckm.SketchOperator.draw(3, m, 2.0, "gaussian", random_state=0)


def mean_and_variance(points, weights):
    """Return those of each column."""
    mean = weights @ points
    return mean, weights @ (points - mean) ** 2


def test_a_calibrated_sample_has_the_means_and_variances_of_all_rows():
    X = rows()
    sketch, sample = (
        operator().sketch(X),
        np.concatenate([X[X[:, 0] < 1][:700], X[X[:, 0] > 1][:100]]),
    )  # of the second cluster, few
    found = qckm.calibrate(sketch, sample)
    without = qckm.calibrate(sketch.without_column_sums(), sample)
    mean, variance = mean_and_variance(sample, found.weights / found.weights.sum())
    rough = mean_and_variance(sample, without.weights / without.weights.sum())
    np.testing.assert_allclose(mean, X.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(variance, X.var(axis=0), rtol=0.02)
    assert np.abs(variance - X.var(axis=0)).max() < np.abs(rough[1] - X.var(axis=0)).max()


def test_columns_that_do_not_vary_have_no_totals():
    X = rows()
    X[:, 1] = 0.25
    sketch = operator().sketch(X)
    assert column_totals(sketch, X[:10], np.full(10, 0.1)).shape == (10, 4)
    np.testing.assert_allclose(column_totals(sketch, X, np.full(len(X), 1 / len(X))).mean(axis=0), 0, atol=1e-3)
    known = totals_of(sketch, X[:10], np.full(10, 0.1))
    assert (known.values.size, known.n_measured) == (124, 120)
    assert totals_of(sketch.without_column_sums(), X[:10], np.full(10, 0.1)).values.size == 120


def fitted(sketch, centers=CENTERS, width=1.0):
    """Return the model of a sketch, and clusters fitted from the truth on."""
    model = SketchModel.of(sketch)
    problem = Problem(model.waves, *(model.to_points(bound) for bound in sketch.bounds))
    points, K = model.to_points(centers), len(centers)
    start = Mixture(points, np.full(K, 1 / K), np.full(K, width / model.spread**2), np.zeros((K, 0, 3)), np.inf)
    return model, problem.fit(start, 500)[0]


def test_the_gap_of_the_right_clusters_is_that_of_chance(monkeypatch):
    monkeypatch.setattr(expectation, "LEFT_OUT", 0.0)  # so much more is let pass
    gaps = []
    for seed in range(20):
        model, mixture = fitted(operator().sketch(rows(1000, seed)))
        gaps.append(column_gap(model, mixture, True, np.random.default_rng(seed)))
    # 120 squares of mean 1: their mean is off by more than 0.45 in one of 10 000 cases.
    assert 0.55 < np.mean(np.square(gaps)) < 1.45


def test_clusters_elsewhere_do_not_have_the_columns_sums(rng):
    model, mixture = fitted(operator().sketch(rows()))
    assert column_gap(model, mixture, True, rng) < 4
    assert column_gap(model, mixture._replace(points=mixture.points + 0.3), True, rng) > 10


def test_without_sums_columns_say_nothing(rng):
    model, mixture = fitted(operator().sketch(rows()).without_column_sums())
    assert column_gap(model, mixture, True, rng) == 0


@pytest.mark.parametrize("axes", [0, 2])
def test_of_many_columns_some_are_asked(axes, rng):
    X = rng.normal(size=(2000, 70))
    sketch = qckm.SketchOperator.draw(70, 100, scale=5.0, random_state=0).sketch(X)
    model = SketchModel.of(sketch)
    mean = model.to_points(X.mean(axis=0))[np.newaxis]
    around = np.zeros((1, axes, 70))
    mixture = Mixture(mean, np.ones(1), np.array([1 / model.spread**2]), around, 0.0)
    assert column_gap(model, mixture, False, rng) < 4
    assert column_gap(model, mixture._replace(points=mean + 1.0), False, rng) > 4


def test_a_sample_without_the_tail_does_not_try_to_have_its_variance():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20_000, 2)), rng.normal([1e4, 0], size=(20, 2))])
    sketch = qckm.SketchOperator.draw(2, 100, scale=1.0, extent=[2e4, 2e4], random_state=0).sketch(X)
    sample = X[:1000]  # none of the twenty rows
    assert column_totals(sketch, sample, np.full(1000, 1e-3)).shape == (1000, 3)
    found = qckm.calibrate(sketch, sample)
    assert found.effective_size > 700
