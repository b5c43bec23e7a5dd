import itertools
import warnings

import numpy as np
import pytest

import qckm
from qckm.decoding.targets.n_clusters import _has_valley, _settled
from qckm.errors import DecodeError, PoorFitWarning, SaturationWarning


def ring(n_clusters, seed=0, signature="one-bit", rows=8000):
    """Sketch K round clusters of deviation 1 on a circle, whose neighbours are six deviations apart."""
    rng = np.random.default_rng(seed)
    turns = 2 * np.pi * np.arange(n_clusters) / n_clusters
    centers = 3 / np.sin(np.pi / n_clusters) * np.column_stack([np.cos(turns), np.sin(turns)])
    X = centers[rng.integers(n_clusters, size=rows)] + rng.normal(size=(rows, 2))
    return qckm.SketchOperator.draw(2, 60, 1.6, "concentrated-radius", signature, random_state=seed).sketch(X)


def shaped(shape, rng, rows=6000):
    """Draw a uniform, exponential, Gaussian or t cluster of deviation 1."""
    if shape == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), (rows, 2))
    if shape == "exponential":
        return rng.exponential(size=(rows, 2)) - 1
    return rng.normal(size=(rows, 2)) if shape == "gaussian" else rng.standard_t(4, (rows, 2)) / np.sqrt(2)


@pytest.mark.parametrize("true, signature", [(2, "exponential"), (3, "one-bit"), (5, "one-bit")])
def test_the_true_number_is_chosen(true, signature):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = qckm.choose_n_clusters(ring(true, signature=signature), ks=range(1, true + 3), random_state=0)
    assert found.n_clusters == true
    assert found.clustering.centers.shape == (true, 2)
    assert found.groups.tolist() == [*range(1, true + 1), true, true]
    assert (np.diff(found.variance_explained) > 0).all()
    assert found.agreement >= 0.8
    assert found.doubt == ""
    assert repr(found) == f"ClusterCount(n_clusters={true}, of 1 to {true + 2} tried, clear)"


@pytest.mark.parametrize("shape", ["uniform", "exponential", "gaussian", "t"])
@pytest.mark.parametrize("with_rows", [True, False])
def test_the_shape_of_clusters_does_not_matter(shape, with_rows):
    rng = np.random.default_rng(0)
    parts = [shaped(shape, rng) * size + np.array(at) for size, at in ((1, [0, 0]), (1.5, [10, 0]), (1, [0, 9]))]
    X = np.concatenate(parts)
    sketch = qckm.SketchOperator.from_pilot(X, 6, random_state=0).sketch(X)
    rows = X[::6] if with_rows else None
    assert qckm.choose_n_clusters(sketch, range(1, 7), rows=rows, random_state=0).n_clusters == 3
    one = sketch.operator.sketch(X[:6000])
    rows = X[:6000:3] if with_rows else None
    assert qckm.choose_n_clusters(one, range(1, 7), rows=rows, random_state=0).n_clusters == 1


def test_one_octave_is_chosen():
    rng = np.random.default_rng(1)
    X = np.array([[0, 0], [10, 0], [0, 10]])[rng.integers(3, size=20_000)] + rng.normal(size=(20_000, 2))
    op = qckm.SketchOperator.draw(2, 60, 0.5, "concentrated-radius", octaves=4, random_state=1)
    found = qckm.choose_n_clusters(op.sketch(X), range(2, 6), random_state=1)
    assert found.n_clusters == 3
    assert found.clustering.octave is not None


def test_more_clusters_than_were_tried_are_told():
    with pytest.warns(PoorFitWarning, match="more clusters than the 2 tried"):
        found = qckm.choose_n_clusters(ring(5), ks=[1, 2], random_state=0)
    assert found.n_clusters == 2
    assert "more clusters" in found.doubt
    with pytest.warns(PoorFitWarning, match="5 separate clusters, a number that was not tried"):
        assert qckm.choose_n_clusters(ring(5), ks=[2, 4, 8], random_state=0).n_clusters == 4


def test_tight_clusters_and_rows_alike_are_counted():
    rng = np.random.default_rng(0)
    X = 0.01 * rng.normal(size=(3000, 2)) + 8 * rng.integers(0, 3, size=(3000, 1))
    sketch = qckm.CompressiveKMeans(3, random_state=0).fit(X).sketch_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert qckm.choose_n_clusters(sketch, range(1, 5), random_state=0).n_clusters == 3
        warnings.simplefilter("ignore", PoorFitWarning)  # a point is narrower than any cluster
        same = sketch.operator.sketch(np.tile(X[:1], (100, 1)))
        assert qckm.choose_n_clusters(same, range(1, 4), random_state=0).n_clusters == 1


def test_real_weights_will_do_and_clipped_rows_are_told_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2)) + 8 * rng.integers(0, 3, size=(3000, 1))
    op = qckm.SketchOperator.draw(2, 60, 1.8, random_state=0)
    assert qckm.choose_n_clusters(op.sketch(X, np.full(3000, 0.5)), [2, 3], random_state=0).n_clusters == 3
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        qckm.choose_n_clusters(op.sketch(np.r_[X, [[1e9, 1e9]]]), [2, 3], random_state=0)
    assert [warning.category for warning in caught].count(SaturationWarning) == 1


def test_only_as_many_clusters_as_rows_are_tried():
    op = qckm.SketchOperator.draw(2, 60, 1.6, random_state=0)
    assert qckm.choose_n_clusters(op.sketch([[1.0, 2.0]]), random_state=0).ks.tolist() == [1]
    with pytest.raises(DecodeError, match="2 row"):
        qckm.choose_n_clusters(op.sketch([[1.0, 2.0]] * 2), ks=[5, 6])


@pytest.mark.parametrize("ks", [range(1, 10**12), itertools.count(1), (True, 3)])
def test_what_cannot_be_meant_is_not_tried(ks):
    with pytest.raises(DecodeError, match="at most 1000 whole numbers of clusters"):
        qckm.choose_n_clusters(ring(2), ks)


def test_how_is_passed_on_to_decode():
    found = qckm.choose_n_clusters(ring(3), ks=[4, 2, 3], decoder="clompr", n_init=2, random_state=1)
    again = qckm.decode(ring(3), 3, decoder="clompr", n_init=2, random_state=1)
    assert found.ks.tolist() == [2, 3, 4]
    np.testing.assert_array_equal(found.clustering.centers, again.centers)


def test_a_valley_is_what_both_sides_are_above_of():
    rng = np.random.default_rng(0)
    alike = np.ones(4000)
    assert _has_valley(np.r_[rng.normal(-1, 0.3, 2000), rng.normal(1, 0.3, 2000)], alike)
    assert not _has_valley(rng.normal(0, 1, 4000), alike)
    assert not _has_valley(rng.uniform(-1.5, 1.5, 4000), alike)
    assert not _has_valley(rng.exponential(0.7, 4000) - 1.5, alike)  # falls, and does not rise again
    few = np.r_[-1.0, 1.0]
    assert not _has_valley(few, np.ones(2))  # two points prove nothing


@pytest.mark.parametrize(
    "groups, number, agreement",
    [
        ([1, 2, 3, 3, 3], 3, 1.0),
        ([1, 1, 1, 1, 1], 1, 1.0),
        ([1, 2, 2, 3, 3], 3, 1.0),  # an outlier had the third centroid
        ([1, 2, 3, 2, 1], 3, 0.0),
    ],
)
def test_groups_settle_where_they_no_longer_grow(groups, number, agreement):
    assert _settled(np.arange(1, 6), np.array(groups)) == (number, agreement)


def test_nothing_to_choose_from_is_refused():
    with pytest.raises(DecodeError, match="got none"):
        qckm.choose_n_clusters(ring(3), ks=[])
    with pytest.raises(DecodeError, match="n_clusters"):
        qckm.choose_n_clusters(ring(3), ks=[0, 2])
    with pytest.raises(DecodeError, match="such as range"):
        qckm.choose_n_clusters(ring(3), ks=5)
    with pytest.raises(DecodeError, match="such as range"):
        qckm.choose_n_clusters(ring(3), ks="123")
    with pytest.raises(DecodeError, match="Expected a Sketch"):
        qckm.choose_n_clusters("x")
