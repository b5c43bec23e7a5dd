import numpy as np
import pytest

import qckm
from qckm.errors import DecodeError


def ring(n_clusters, seed=0, signature="one-bit", rows=8000):
    """Sketch K round clusters of deviation 1 on a circle, whose neighbours are five deviations apart."""
    rng = np.random.default_rng(seed)
    turns = 2 * np.pi * np.arange(n_clusters) / n_clusters
    centers = 2.5 / np.sin(np.pi / n_clusters) * np.column_stack([np.cos(turns), np.sin(turns)])
    X = centers[rng.integers(n_clusters, size=rows)] + rng.normal(size=(rows, 2))
    return qckm.SketchOperator.draw(2, 60, 1.6, "concentrated-radius", signature, random_state=seed).sketch(X)


@pytest.mark.parametrize("true, signature", [(2, "exponential"), (3, "one-bit"), (5, "one-bit")])
def test_the_true_number_is_chosen_where_it_is_known(true, signature):
    found = qckm.choose_n_clusters(ring(true, signature=signature), ks=range(true - 1, true + 2), random_state=0)
    assert found.n_clusters == true
    assert found.clustering.centers.shape == (true, 2)
    assert found.objectives[1] < found.noise


def test_one_cluster_is_one():
    X = np.random.default_rng(0).normal(size=(8000, 2))
    sketch = qckm.SketchOperator.draw(2, 60, 1.6, "concentrated-radius", random_state=0).sketch(X)
    assert qckm.choose_n_clusters(sketch, ks=[3, 1, 2, 1], random_state=0).n_clusters == 1


def test_what_is_returned_belongs_together():
    sketch = ring(3)
    found = qckm.choose_n_clusters(sketch, ks=[4, 2, 3], random_state=0)
    assert found.ks.tolist() == [2, 3, 4]
    assert [len(one.centers) for one in found.clusterings] == [2, 3, 4]
    np.testing.assert_allclose(found.explained, 1 - found.objectives / (sketch.values() ** 2).sum())
    assert found.noise == sketch.sampling_noise()
    assert found.criterion.argmin() == 1
    # Two clusters for three are far from the noise; the third is what takes the misfit below it.
    assert found.objectives[0] > 10 * found.noise > 10 * found.objectives[1]


def test_how_is_passed_on_to_decode():
    found = qckm.choose_n_clusters(ring(3), ks=[2, 3], decoder="clompr", n_init=2, random_state=1)
    again = qckm.decode(ring(3), 3, decoder="clompr", n_init=2, random_state=1)
    np.testing.assert_array_equal(found.clusterings[1].centers, again.centers)
    assert not found.clusterings[0].spreads.any()


def test_nothing_to_choose_from_is_refused():
    with pytest.raises(DecodeError, match="at least one number"):
        qckm.choose_n_clusters(ring(3), ks=[])
    with pytest.raises(DecodeError, match="n_clusters"):
        qckm.choose_n_clusters(ring(3), ks=[0, 2])
