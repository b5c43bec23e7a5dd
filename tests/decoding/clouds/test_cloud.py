from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans

import qckm
from qckm.decoding.clouds.cloud import Cloud
from qckm.planning.pilot import Pilot


def rows(n_rows=20_000, seed=0):
    rng = np.random.default_rng(seed)
    return 6 * rng.integers(0, 2, size=(n_rows, 2)) + rng.exponential(size=(n_rows, 2))


@pytest.fixture(scope="module")
def sketch():
    return qckm.SketchOperator.draw(2, 100, scale=2.0, random_state=0).sketch(rows())


def sse(X, centers):
    return ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).mean()


def test_centroids_are_those_of_weighted_kmeans(sketch):
    cloud = Cloud.calibrated(sketch, rows()[:1000])
    found = cloud.cluster(4, [], 10, np.random.default_rng(0))
    other = KMeans(4, n_init=10, random_state=0).fit(cloud.points, sample_weight=cloud.weights * 1000)
    assert cloud.inertia(found.points) == pytest.approx(other.inertia_ / 1000, rel=1e-3)
    assert found.shares.sum() == pytest.approx(1)
    assert cloud.inertia(found.points) == pytest.approx(2 * found.shares @ found.widths, rel=1e-6)


def test_a_start_that_is_best_is_kept(sketch):
    cloud = Cloud.calibrated(sketch, rows()[:1000])
    best = cloud.cluster(4, [], 10, np.random.default_rng(0)).points
    poor = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [0.1, 0.1]]) + 20
    again = cloud.cluster(4, [poor, best], 0, np.random.default_rng(0)).points
    np.testing.assert_allclose(np.sort(again, axis=0), np.sort(best, axis=0), atol=1e-3)


def test_fewer_points_than_clusters(sketch):
    found = Cloud.calibrated(sketch, rows()[:3]).cluster(5, [], 1, np.random.default_rng(0))
    assert found.points.shape == (5, 2)
    assert found.shares.sum() == pytest.approx(1)


def test_raking_brings_points_to_where_the_rows_are(sketch):
    """Begun from points all over the box, most of which are where no row is."""
    rng, X = np.random.default_rng(0), rows()
    lower, upper = X.min(axis=0), X.max(axis=0)
    points = rng.uniform(lower, upper, size=(4000, 2))
    once = Cloud.calibrated(sketch, points)
    raked = Cloud.raked(sketch, points, lower, upper, np.ones(2), rng)
    assert raked.solution.residual < once.solution.residual
    assert raked.solution.effective_size > 2 * once.solution.effective_size
    centers = raked.cluster(4, [], 5, rng).points
    assert sse(X, centers) < 1.02 * KMeans(4, n_init=5, random_state=0).fit(X).inertia_ / len(X)


def test_many_measurements_are_thinned_out(sketch, monkeypatch):
    monkeypatch.setattr("qckm.decoding.clouds.cloud._MOST_CONTRIBUTIONS", 1000 * 2 * 50)
    assert Cloud.calibrated(sketch, rows()[:1000]).solution.left.size == 100  # of 200
    assert Cloud.calibrated(sketch, rows()[:100]).solution.left.size == 200


def test_a_cloud_that_begins_elsewhere_is_surprised(sketch):
    """The divergence is of the first weights: how far the sketch is from where the points were drawn."""
    rng, X = np.random.default_rng(0), rows()
    lower, upper = X.min(axis=0), X.max(axis=0)
    elsewhere = Cloud.raked(sketch, rng.uniform(lower, upper, size=(4000, 2)), lower, upper, np.ones(2), rng)
    here = Cloud.calibrated(sketch, X[:4000])
    assert here.surprise < 0.1 < elsewhere.surprise


def test_clouds_together_keep_their_shares(sketch):
    first, second = (Cloud.calibrated(sketch, rows()[part]) for part in (slice(500), slice(500, 1500)))
    both = Cloud.together([first, second], [3.0, 1.0])
    assert both.points.shape == (1500, 2)
    assert both.weights[:500].sum() == pytest.approx(0.75)
    assert both.inertia(rows()[:3]) == pytest.approx(
        0.75 * first.inertia(rows()[:3]) + 0.25 * second.inertia(rows()[:3])
    )


def test_rows_that_stand_for_themselves_alone_are_not_weighed(sketch):
    """Every third row stands for itself, whatever the sketch says; the others stand for all the rest."""
    certain = np.arange(3000) % 3 == 0
    sample = Pilot(rows()[:3000], np.where(certain, 1.0, 9.5), of_all=True)
    cloud = Cloud.of_sample(sketch, sample)
    np.testing.assert_allclose(cloud.weights[certain], 1 / sketch.count)
    assert (cloud.weights[~certain] >= 1 / sketch.count).all()
    assert cloud.weights.sum() == pytest.approx(1)
    assert (cloud.chance[certain] < 1e-20).all()
    assert cloud.solution.matches
    assert not np.allclose(Cloud.of_sample(sketch, replace(sample, of_all=False)).weights[certain], 1 / sketch.count)
