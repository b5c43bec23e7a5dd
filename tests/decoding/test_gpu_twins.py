"""K-means and calibration on a GPU: what their twins on the CPU give, to rounding. Skipped where there is none.

Sums are of float32 there, and k-means draws its starts by the generator of CuPy: no two bits need be the same.
"""

import numpy as np
import pytest

import qckm
from qckm.clustering.weighted_kmeans import kmeans
from qckm.decoding.clouds.contributions import contributions_of
from qckm.decoding.clouds.gpu_kmeans import cluster_on_gpu
from qckm.kernels.placement import computing_on

cupy = pytest.importorskip("cupy", reason="no CuPy")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    pytest.skip("no GPU", allow_module_level=True)


@pytest.mark.parametrize("signature", ["one-bit", "exponential", "triangle"])
@pytest.mark.parametrize("which", [None, np.arange(1, 60, 2)])
def test_contributions_are_those_of_the_cpu(signature, which):
    rng = np.random.default_rng(0)
    operator = qckm.SketchOperator.draw(4, 60, 2.0, signature=signature, random_state=0)
    rows, beside = rng.normal(size=(300, 4)), rng.normal(size=(300, 3)).astype(np.float32)
    here = contributions_of(operator, rows, which, beside)
    with computing_on("cuda"):
        there = contributions_of(operator, rows, which, beside)
    weights, direction = rng.dirichlet(np.ones(300)), rng.normal(size=here.mean(np.ones(300)).size)
    np.testing.assert_allclose(there.mean(weights), here.mean(weights), atol=1e-5)
    np.testing.assert_allclose(there.squares(40), here.squares(40), rtol=1e-5)
    for found, expected in zip(there.through(weights, direction), here.through(weights, direction), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("n_clusters", [1, 7])
def test_kmeans_from_given_starts_ends_where_the_cpu_does(n_clusters):
    rng = np.random.default_rng(1)
    means = 20 * rng.normal(size=(n_clusters, 3))
    rows = means[rng.integers(n_clusters, size=2000)] + rng.normal(size=(2000, 3))
    rows, weights, start = rows - rows.mean(axis=0), 1 + rng.random(2000), means - rows.mean(axis=0) + 0.5
    expected = kmeans(rows, weights, n_clusters, 0, rng, [start])
    centers, labels = cluster_on_gpu(rows, weights, n_clusters, [start], 0, 0, 0)
    np.testing.assert_allclose(centers, expected.centers, atol=1e-6)
    assert np.array_equal(labels, expected.labels)


def test_kmeans_afresh_finds_clusters_that_are_apart():
    """Greedy k-means++ misses one of seven such clusters with a chance below 1e-9 in ten runs."""
    rng = np.random.default_rng(2)
    means = 100 * np.array([[i % 3, i // 3] for i in range(7)], float)
    rows = means[np.arange(1400) % 7] + rng.normal(size=(1400, 2))
    rows -= rows.mean(axis=0)
    centers, labels = cluster_on_gpu(rows, np.ones(1400), 7, [], 10, 3, 0)
    assert (np.bincount(labels) == 200).all()
    assert ((rows - centers[labels]) ** 2).mean() < 1.1
