import numpy as np
import pytest
from sklearn.cluster import KMeans

import qckm
from qckm.decode import decode_from
from qckm.decode.density import _apart


def clusters(n_clusters, n, seed, n_rows=5000, apart=3.0):
    rng = np.random.default_rng(seed)
    centers = apart * rng.normal(size=(n_clusters, n))
    return centers[rng.integers(n_clusters, size=n_rows)] + rng.normal(size=(n_rows, n))


def ratio(X, centers):
    sse = ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()
    return sse / KMeans(len(centers), n_init=5, random_state=0).fit(X).inertia_


@pytest.mark.parametrize("signature", ["exponential", "one-bit", "3-bit", "triangle", "modulo"])
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_clusters_are_found_with_every_signature_and_dither(signature, dither):
    X = clusters(5, 4, seed=2)
    m = 60 if dither == "paired" else 120  # 3·n·K, where CL-OMPR asks for 5 to 10
    op = qckm.SketchOperator.draw(
        4, m, scale=2.4, law="concentrated-radius", signature=signature, dither=dither, random_state=0
    )
    found = qckm.decode(op.sketch(X), 5, decoder="matched", random_state=0)
    assert ratio(X, found.centers) < 1.02
    np.testing.assert_allclose(found.spreads, 1.0, atol=0.25)
    assert found.weights.sum() == pytest.approx(1)
    assert (np.diff(found.weights) <= 0).all()
    assert found.explained > 0.98


def test_one_bit_at_twice_the_unknowns():
    """m = 2·n·K one-bit frequencies, five data sets: all are solved."""
    for seed in range(5):
        X = clusters(5, 5, seed)
        km = qckm.CompressiveKMeans(5, n_frequencies=50, init="sketch", compute_labels=False, random_state=seed).fit(X)
        assert ratio(X, km.cluster_centers_) < 1.2


def test_clusters_that_are_no_gaussians():
    """Squares of different sizes: a richer density is fitted, and clustered."""
    rng = np.random.default_rng(4)
    corners, sides = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0], [9.0, 9.0]]), np.array([1.0, 4.0, 2.0, 5.0])
    which = rng.integers(4, size=20_000)
    X = corners[which] + sides[which, None] * (rng.random((20_000, 2)) - 0.5)
    for init in ("sketch", "auto"):
        km = qckm.CompressiveKMeans(4, n_frequencies=150, init=init, compute_labels=False, random_state=0).fit(X)
        assert ratio(X, km.cluster_centers_) < 1.1


def test_decoding_is_repeatable():
    sketch = qckm.SketchOperator.draw(3, 60, scale=2.0, random_state=0).sketch(clusters(4, 3, 0))
    one, two = (qckm.decode(sketch, 4, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(one.centers, two.centers)
    assert one.objective == two.objective


def test_a_start_is_kept_where_it_is_good():
    X = clusters(4, 3, 0)
    truth = KMeans(4, n_init=5, random_state=0).fit(X).cluster_centers_
    sketch = qckm.SketchOperator.draw(3, 60, scale=2.0, random_state=0).sketch(X)
    assert ratio(X, qckm.decode(sketch, 4, init=truth, random_state=0).centers) < 1.01


def test_the_best_of_several_starts_is_kept_and_a_perfect_one_is_the_last():
    X = clusters(4, 3, 0)
    truth = KMeans(4, n_init=5, random_state=0).fit(X).cluster_centers_
    sketch = qckm.SketchOperator.draw(3, 60, scale=2.0, random_state=0).sketch(X)
    alone = qckm.decode(sketch, 4, init=truth, random_state=0)
    assert alone.objective < sketch.sampling_noise()
    perfect_first = decode_from(sketch, 4, [truth, "never looked at"], random_state=0)
    assert perfect_first.objective == alone.objective
    poor = np.tile(X.mean(axis=0), (4, 1))
    assert decode_from(sketch, 4, [poor, truth], random_state=0).objective <= alone.objective * 1.01
    with pytest.raises(ValueError, match="at least one start"):
        decode_from(sketch, 4, [])


@pytest.mark.parametrize("rows", [[[1.0, 2.0]], [[1.0, 2.0]] * 9, [[0.0, 0.0], [4.0, 4.0]] * 5])
def test_degenerate_rows(rows):
    op = qckm.SketchOperator.draw(2, 40, scale=3.0, random_state=0)
    found = qckm.decode(op.sketch(rows), 1, random_state=0)
    np.testing.assert_allclose(found.centers, [np.mean(rows, axis=0)], atol=0.2)


def test_more_clusters_than_distinct_rows():
    op = qckm.SketchOperator.draw(2, 50, scale=3.0, random_state=0)
    found = qckm.decode(op.sketch([[0.0, 0.0], [4.0, 4.0]] * 5), 4, random_state=0)
    for row in ([0.0, 0.0], [4.0, 4.0]):
        assert np.linalg.norm(found.centers - row, axis=1).min() < 0.6


def test_a_wrong_spread_is_refused():
    op = qckm.SketchOperator.draw(2, 10, scale=1.0, random_state=0)
    with pytest.raises(ValueError, match="spread"):
        qckm.decode(op.sketch(np.eye(2)), 1, spread=[1.0])


def test_apart_keeps_the_first_of_neighbours():
    points = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    assert _apart(points, 2, 1.0).tolist() == [[0.0], [5.0]]
    assert _apart(points, 9, 1.0).tolist() == [[0.0], [5.0], [9.0]]
