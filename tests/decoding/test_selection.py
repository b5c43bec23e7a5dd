import warnings

import numpy as np
import pytest

import qckm
from qckm.errors import DecodeError, PoorFitWarning, SaturationWarning


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
    assert found.objectives[1] < found.by_chance[1] < found.noise


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_one_gaussian_is_one_at_the_scale_of_six(seed):
    X = np.random.default_rng([seed, 5]).normal(size=(20_000, 2))
    km = qckm.CompressiveKMeans(6, n_frequencies=100, compute_labels=False, random_state=seed).fit(X)
    assert qckm.choose_n_clusters(km.sketch_, range(1, 4), random_state=seed).n_clusters == 1


@pytest.mark.parametrize("law", ["gaussian", "concentrated-radius"])
def test_the_lowest_frequencies_do_not_split_clusters(law):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 2)) + 8 * rng.integers(0, 3, size=(3000, 1))
    sketch = qckm.SketchOperator.draw(2, 200, 1.8, law, random_state=1).sketch(X)
    assert qckm.choose_n_clusters(sketch, range(2, 6), random_state=1).n_clusters == 3


def test_one_octave_is_chosen_for_all_numbers():
    rng = np.random.default_rng(1)
    X = np.array([[0, 0], [10, 0], [0, 10]])[rng.integers(3, size=20_000)] + rng.normal(size=(20_000, 2))
    op = qckm.SketchOperator.draw(2, 60, 0.5, "concentrated-radius", octaves=4, random_state=1)
    found = qckm.choose_n_clusters(op.sketch(X), range(2, 6), random_state=1)
    assert found.n_clusters == 3
    assert len({one.octave for one in found.clusterings}) == 1
    assert found.clustering.octave is not None


def test_more_clusters_match_better_and_too_few_are_told():
    with pytest.warns(PoorFitWarning, match="None of the numbers of clusters tried, 1 to 2"):
        found = qckm.choose_n_clusters(ring(3), ks=[1, 2], random_state=0)
    assert (found.objectives > found.by_chance).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = qckm.choose_n_clusters(ring(3), ks=range(1, 7), random_state=0)
    assert (np.diff(found.objectives) < 0.02 * found.noise).all()


def test_tight_clusters_are_no_reason_to_warn():
    rng = np.random.default_rng(0)
    X = 0.01 * rng.normal(size=(3000, 2)) + 8 * rng.integers(0, 3, size=(3000, 1))
    sketch = qckm.CompressiveKMeans(3, random_state=0).fit(X).sketch_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert qckm.choose_n_clusters(sketch, range(1, 5), random_state=0).n_clusters == 3
        same = sketch.operator.sketch(np.tile(X[:1], (100, 1)))
        assert qckm.choose_n_clusters(same, range(1, 4), random_state=0).n_clusters == 1


def test_real_weights_are_told_and_clipped_rows_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2)) + 8 * rng.integers(0, 3, size=(3000, 1))
    op = qckm.SketchOperator.draw(2, 60, 1.8, random_state=0)
    with pytest.warns(PoorFitWarning, match="no whole numbers"):
        qckm.choose_n_clusters(op.sketch(X, np.full(3000, 0.5)), [2, 3], random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        qckm.choose_n_clusters(op.sketch(np.r_[X, [[1e9, 1e9]]]), [2, 3], random_state=0)
    assert [warning.category for warning in caught].count(SaturationWarning) == 1


def test_only_as_many_clusters_as_rows_are_tried():
    op = qckm.SketchOperator.draw(2, 60, 1.6, random_state=0)
    assert qckm.choose_n_clusters(op.sketch([[1.0, 2.0]]), random_state=0).ks.tolist() == [1]
    with pytest.raises(DecodeError, match="2 row"):
        qckm.choose_n_clusters(op.sketch([[1.0, 2.0]] * 2), ks=[5, 6])


def test_one_cluster_is_one():
    X = np.random.default_rng(0).normal(size=(8000, 2))
    sketch = qckm.SketchOperator.draw(2, 60, 1.6, "concentrated-radius", random_state=0).sketch(X)
    assert qckm.choose_n_clusters(sketch, ks=[3, 1, 2, 1], random_state=0).n_clusters == 1


def test_what_is_returned_belongs_together():
    sketch = ring(3)
    found = qckm.choose_n_clusters(sketch, ks=[4, 2, 3], random_state=0)
    assert found.ks.tolist() == [2, 3, 4]
    assert [len(one.centers) for one in found.clusterings] == [2, 3, 4]
    alone = qckm.decode(sketch, 3, random_state=0)
    assert found.explained[1] == found.clusterings[1].explained == pytest.approx(alone.explained, abs=0.01)
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
    with pytest.raises(DecodeError, match="such as range"):
        qckm.choose_n_clusters(ring(3), ks=5)
    with pytest.raises(DecodeError, match="such as range"):
        qckm.choose_n_clusters(ring(3), ks="123")
    with pytest.raises(DecodeError, match="Expected a Sketch"):
        qckm.choose_n_clusters("x")
