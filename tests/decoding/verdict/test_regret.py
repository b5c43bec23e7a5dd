import warnings

import numpy as np
import pytest

import qckm
from qckm.decoding.verdict.regret import UPPER_LIMIT
from qckm.errors import PoorFitWarning


def rows(n_rows=20_000, seed=0):
    rng = np.random.default_rng(seed)
    return 6 * rng.integers(0, 2, size=(n_rows, 2)) + rng.exponential(size=(n_rows, 2))


@pytest.fixture(scope="module")
def sketch():
    return qckm.SketchOperator.draw(2, 100, scale=2.0, random_state=0).sketch(rows())


def sse(X, centers):
    return ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()


def decode(sketch, K, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorFitWarning)
        return qckm.decode(sketch, K, **how)


def test_clear_clusters_are_within_a_few_per_cent(sketch):
    found = decode(sketch, 4, random_state=0)
    assert 0 <= found.excess < 0.03
    assert found.excess_high == pytest.approx(UPPER_LIMIT * found.excess)
    assert found.converged
    assert abs(found.inertia - sse(rows(), found.centers)) <= 3 * found.inertia_error


def test_hardly_more_measurements_than_unknowns_are_not_relied_on():
    """Ten clusters in ten columns at 0.7nK: no decoder finds them, and no cloud agrees with another."""
    rng = np.random.default_rng(0)
    X = 4 * rng.normal(size=(10, 10))[rng.integers(10, size=10_000)] + rng.normal(size=(10_000, 10))
    found = decode(qckm.SketchOperator.draw(10, 70, scale=3.0, random_state=0).sketch(X), 10, random_state=0)
    assert found.excess_high > 0.2
    assert not found.converged


@pytest.mark.parametrize("with_rows", [False, True])
def test_a_few_rows_far_away_are_sse_that_nobody_has_seen(with_rows):
    """The exact variances of the columns know of them: neither the rows that were kept nor the sketch do."""
    X = rows()
    operator = qckm.SketchOperator.draw(2, 100, scale=8.0, random_state=0)
    X[:5] = 0.9 * operator.reach[1]
    found = decode(operator.sketch(X), 4, random_state=0, rows=X[100:2100] if with_rows else None)
    assert sse(X, found.centers) > 1.3 * sse(X[5:], found.centers)  # no centroid is there
    assert not found.converged
    assert found.excess > 0.04


@pytest.mark.parametrize("with_rows", [False, True])
def test_a_clipped_row_may_be_anywhere(with_rows):
    X = rows()
    X[7] = 1e6
    operator = qckm.SketchOperator.draw(2, 100, scale=2.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = qckm.decode(operator.sketch(X), 4, random_state=0, rows=X[100:2100] if with_rows else None)
    assert not found.converged


def test_the_estimate_covers_the_truth():
    """Thirty samples: the SSE of all rows is within 1.645 standard errors in 90 % of them, give or take."""
    X = rows(50_000)
    sketch = qckm.SketchOperator.draw(2, 100, scale=2.0, random_state=1).sketch(X)
    covered, errors = 0, []
    for seed in range(30):
        found = decode(sketch, 4, rows=np.random.default_rng(seed).permutation(X)[:2000], random_state=seed)
        truth = sse(X, found.centers)
        covered += abs(found.inertia - truth) <= 1.645 * found.inertia_error
        errors.append(found.inertia_error / truth)
    assert covered >= 23  # the chance of fewer is one in a hundred
    # A sample without a sketch would err by the deviation of distances over the square root of its size.
    distances = ((X[:, None] - found.centers) ** 2).sum(axis=2).min(axis=1)
    assert np.median(errors) < 0.9 * distances.std() / distances.mean() / np.sqrt(2000)


def test_all_rows_leave_nothing_to_chance(sketch):
    found = decode(sketch, 4, rows=rows(), random_state=0)
    assert found.excess == found.inertia_error == 0
    assert found.inertia == pytest.approx(sse(rows(), found.centers), rel=1e-3)


def test_a_handful_of_rows_has_a_large_error(sketch):
    few = decode(sketch, 4, rows=rows()[:50], random_state=0)
    assert few.inertia_error > 0.05 * few.inertia


def test_centroids_of_uniform_rows_are_flattered():
    """Fifty centroids of a thousand rows in a square: for other rows they are further away, and that is foreseen."""
    X = np.random.default_rng(0).random((20_000, 2))
    sketch = qckm.SketchOperator.draw(2, 300, scale=0.2, random_state=0).sketch(X)
    found = decode(sketch, 50, rows=X[:1000], random_state=0)
    assert found.inertia == pytest.approx(sse(X, found.centers), rel=0.1)
    assert found.excess > 0.01


def test_every_door_gives_the_same_answer(sketch):
    """decode and fit_sketch of one sketch, with the same rows and seed: the same centroids and the same verdict."""
    for given in (None, rows()[:1000]):
        found = decode(sketch, 4, rows=given, random_state=3)
        km = qckm.CompressiveKMeans(4, random_state=3).fit_sketch(sketch, rows=given)
        np.testing.assert_array_equal(km.cluster_centers_, found.centers)
        assert (km.excess_, km.excess_high_, km.converged_) == (found.excess, found.excess_high, found.converged)
