"""K-means in C beside its twin in NumPy, and scikit-learn's; with every instruction set, and sanitizers, too."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.cluster import KMeans

from qckm.clustering.centroids import (
    ITERATIONS,
    kmeans,
    lloyd,
    lloyd_by_numpy,
    plus_plus,
    plus_plus_by_numpy,
)

CASES = 24


class Case:
    """Weighted rows in clusters, all of it at random."""

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng(seed)
        P, n = int(rng.choice([1, 2, 7, 16, 33, 257, 600])), int(rng.integers(1, 20))
        self.K = int(rng.integers(1, min(max(1, P // 2), 25) + 1))
        centers = rng.normal(size=(self.K, n))
        self.rows = 2 * centers[rng.integers(0, self.K, P)] + rng.normal(size=(P, n))
        self.rows -= self.rows.mean(axis=0)
        self.weights = rng.random(P)
        if seed % 3 == 0 and P > 2:  # rows that do not count
            self.weights[rng.random(P) < 0.2] = 0
        self.trials = 2 + int(np.log(self.K))
        self.uniforms = rng.random(1 + (self.K - 1) * self.trials)

    def choose(self, plus_plus):
        return plus_plus(self.rows, self.weights, self.K, self.trials, self.uniforms)

    def run(self, lloyd, centers, tolerance=1e-4):
        return lloyd(self.rows, self.weights, centers, tolerance, ITERATIONS)


@pytest.mark.parametrize("seed", range(CASES))
def test_starts_are_those_of_numpy(core, seed):
    case = Case(seed)
    np.testing.assert_array_equal(case.choose(plus_plus), case.choose(plus_plus_by_numpy))


@pytest.mark.parametrize("seed", range(CASES))
def test_runs_are_those_of_numpy(core, seed):
    case = Case(seed)
    centers = case.rows[case.rng.integers(0, len(case.rows), case.K)]  # some of them twice: clusters without rows
    ours, twin = case.run(lloyd, centers), case.run(lloyd_by_numpy, centers)
    np.testing.assert_allclose(ours.centers, twin.centers, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(ours.labels, twin.labels)
    assert ours.inertia == pytest.approx(twin.inertia, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_runs_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    rows, weights = rng.normal(size=(3000, 5)), rng.random(3000)
    start = rows[:30] if seed % 2 else np.concatenate([rows[:29], [np.full(5, 50.0)]])  # the last has no rows
    theirs = KMeans(30, init=start, n_init=1).fit(rows, None, weights)
    ours = kmeans(rows, weights, 30, 0, rng, [start])
    np.testing.assert_allclose(ours.centers, theirs.cluster_centers_, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(ours.labels, theirs.labels_)
    assert ours.inertia == pytest.approx(theirs.inertia_)


def test_threads_and_repeats_change_nothing(rng):
    rows, weights = rng.normal(size=(500, 3)), rng.random(500)
    runs = [kmeans(rows, weights, 7, 5, np.random.default_rng(3), n_jobs=n_jobs) for n_jobs in (1, 1, 3)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.centers, runs[0].centers)
        np.testing.assert_array_equal(run.labels, runs[0].labels)


def test_a_weight_counts_as_so_many_rows(rng):
    rows, weights = rng.normal(size=(200, 2)), rng.integers(0, 4, 200)
    start = rows[:6]
    weighted = kmeans(rows, weights.astype(float), 6, 0, rng, [start])
    repeated = kmeans(np.repeat(rows, weights, axis=0), np.ones(weights.sum()), 6, 0, rng, [start])
    # The tolerance follows the variance of the rows that are there, as scikit-learn's does.
    assert weighted.inertia == pytest.approx(repeated.inertia, rel=1e-2)


def test_a_large_offset_costs_nothing(rng):
    rows = rng.normal(size=(300, 3))
    near, far = (kmeans(rows + offset, np.ones(300), 5, 3, np.random.default_rng(0)) for offset in (0.0, 2.0**24))
    np.testing.assert_array_equal(near.labels, far.labels)


def test_fewer_distinct_rows_than_clusters(core, rng):
    rows = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], 5, axis=0)
    found = kmeans(rows, np.ones(15), 6, 2, rng)
    assert found.inertia == pytest.approx(0, abs=1e-20)
    assert np.isfinite(found.centers).all()
    assert {tuple(center) for center in found.centers.round(9)} == {(0, 0), (1, 0), (0, 2)}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(bad, rng):
    rows = rng.normal(size=(20, 2))
    rows[3, 1] = bad
    with pytest.raises(ValueError, match="finite"):
        kmeans(rows, np.ones(20), 3, 1, rng)
    with pytest.raises(ValueError, match="weights"):
        kmeans(rng.normal(size=(20, 2)), np.zeros(20), 3, 1, rng)


def test_without_the_library_numpy_clusters():
    code = (
        "import numpy as np\n"
        "from qckm.clustering.centroids import kmeans\n"
        "rng = np.random.default_rng(0)\n"
        "rows = np.repeat(9 * np.eye(3), 50, axis=0) + rng.normal(size=(150, 3))\n"
        "found = kmeans(rows, np.ones(150), 3, 3, rng).centers\n"
        "assert (np.abs(found[:, None] - 9 * np.eye(3)).max(axis=2).min(axis=0) < 1).all(), found\n"
        "print('ok')"
    )
    environment = {**os.environ, "QCKM_INSTRUCTIONS": "numpy"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "ok", done.stderr
