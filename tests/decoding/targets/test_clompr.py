import numpy as np
import pytest
from sklearn.cluster import KMeans

import qckm
from qckm.decoding.model.mixture import non_negative_weights
from qckm.errors import DecodeError, RemarkWarning


def three_clusters(seed=0):
    rng = np.random.default_rng(seed)
    centers = np.array([[-4.0, 0.0], [4.0, 0.0], [0.0, 5.0]])
    return centers[rng.choice(3, 3000, p=[0.5, 0.3, 0.2])] + rng.normal(size=(3000, 2)), centers


def sse(X, centers):
    return ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()


@pytest.mark.parametrize(
    "signature", ["exponential", "one-bit", "2-bit", "4-bit", "triangle", "modulo", lambda t: np.cos(t) ** 3]
)
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_easy_clusters_are_found_with_every_signature_and_dither(signature, dither):
    X, centers = three_clusters()
    op = qckm.SketchOperator.draw(2, 300, scale=3.0, signature=signature, dither=dither, random_state=0)
    found = qckm.decode(op.sketch(X), 3, decoder="clompr", n_init=3, random_state=0)
    assert sse(X, found.centers) < 1.08 * sse(X, centers)
    np.testing.assert_allclose(found.weights, [0.5, 0.3, 0.2], atol=0.05)
    assert found.weights.sum() == pytest.approx(1)
    assert not found.spreads.any()
    assert found.explained > 0.7


def test_shifted_and_rescaled_data_give_shifted_and_rescaled_centroids():
    """Exactly, for powers of two: the whole chain sees the same integers."""
    X, _ = three_clusters()
    X = X.astype(np.float32).astype(np.float64)  # room for the shift in the 53 bits

    def centroids(factor, shift):
        op = qckm.SketchOperator.draw(2, 100, scale=3.0 * factor, origin=[shift, shift], random_state=0)
        return qckm.decode(op.sketch(X * factor + shift), 3, decoder="clompr", random_state=0).centers

    plain = centroids(1.0, 0.0)
    np.testing.assert_allclose(centroids(2.0**20, 0.0), plain * 2.0**20, rtol=1e-12)
    np.testing.assert_allclose(centroids(1.0, 1024.0), plain + 1024.0, rtol=1e-9)


def test_decoding_is_repeatable():
    X, _ = three_clusters()
    sketch = qckm.SketchOperator.draw(2, 60, scale=3.0, random_state=0).sketch(X)
    one, two, other = (qckm.decode(sketch, 3, decoder="clompr", random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.centers, two.centers)
    assert one.objective == two.objective
    assert not np.array_equal(one.centers, other.centers)


def test_more_replicates_are_never_worse():
    X, _ = three_clusters()
    sketch = qckm.SketchOperator.draw(2, 12, scale=2.0, random_state=0).sketch(X)
    objectives = [qckm.decode(sketch, 3, n_init=n, decoder="clompr", random_state=0).objective for n in (1, 3, 6)]
    assert objectives == sorted(objectives, reverse=True)


def test_centroids_stay_in_the_box():
    X, _ = three_clusters()
    sketch = qckm.SketchOperator.draw(2, 60, scale=3.0, random_state=0).sketch(X)
    with pytest.warns(RemarkWarning, match="are in 2 places"):
        found = qckm.decode(sketch, 3, bounds=([-1.0, -1.0], [1.0, 2.0]), decoder="clompr", random_state=0)
    assert (found.centers >= [-1 - 1e-9, -1 - 1e-9]).all()
    assert (found.centers <= [1 + 1e-9, 2 + 1e-9]).all()
    seen = qckm.decode(sketch, 3, decoder="clompr", random_state=0).centers
    assert (seen >= X.min(axis=0) - 1e-9).all()
    assert (seen <= X.max(axis=0) + 1e-9).all()


def test_starting_from_given_centroids_keeps_good_ones():
    X, centers = three_clusters()
    sketch = qckm.SketchOperator.draw(2, 100, scale=3.0, random_state=0).sketch(X)
    found = qckm.decode(sketch, 3, init=centers, decoder="clompr", random_state=0)
    assert sse(X, found.centers) < 1.05 * KMeans(3, n_init=3, random_state=0).fit(X).inertia_


def test_one_cluster_and_one_row():
    op = qckm.SketchOperator.draw(2, 30, scale=3.0, random_state=0)
    found = qckm.decode(op.sketch([[1.0, 2.0]]), 1, decoder="clompr", random_state=0)
    np.testing.assert_allclose(found.centers, [[1.0, 2.0]])
    np.testing.assert_array_equal(found.weights, [1.0])


def test_more_clusters_than_distinct_rows():
    op = qckm.SketchOperator.draw(2, 50, scale=3.0, random_state=0)
    with pytest.warns(RemarkWarning, match="choose a smaller K"):
        found = qckm.decode(op.sketch([[0.0, 0.0], [4.0, 4.0]] * 5), 4, n_init=3, decoder="clompr", random_state=0)
    assert np.isfinite(found.centers).all()
    for row in ([0.0, 0.0], [4.0, 4.0]):
        assert np.linalg.norm(found.centers - row, axis=1).min() < 0.6


def test_non_negative_weights_are_those_of_the_plain_problem(rng):
    from scipy.optimize import nnls

    atoms, z = rng.normal(size=(6, 80)), rng.normal(size=80)
    np.testing.assert_allclose(non_negative_weights(atoms, z)[0], nnls(atoms.T, z)[0], atol=1e-7)
    twice = np.concatenate([atoms, atoms[:1]])
    assert np.isfinite(non_negative_weights(twice, z)[0]).all()


@pytest.mark.parametrize(
    "how, reason",
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 2.0}, "n_clusters"),
        ({"n_clusters": 11}, "10 row"),
        ({"n_init": 0}, "n_init"),
        ({"decoder": "magic"}, "clompr"),
        ({"bounds": ([0.0, 0.0], [1.0, 1.0, 1.0])}, "bounds"),
        ({"bounds": 3}, "bounds"),
        ({"bounds": ([1.0, 1.0], [0.0, 0.0])}, "lower <= upper"),
        ({"bounds": ([np.nan, 1.0], [0.0, 0.0])}, "finite bounds"),
        ({"init": [[1.0, 2.0]]}, "init"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_what_cannot_be_decoded_is_refused_with_a_reason(how, reason, rng):
    op = qckm.SketchOperator.draw(2, 10, scale=1.0, random_state=0)
    with pytest.raises(ValueError, match=reason):
        qckm.decode(op.sketch(rng.normal(size=(10, 2))), **{"n_clusters": 2, **how})


def test_only_sketches_are_decoded():
    with pytest.raises(DecodeError, match=r"op\.sketch"):
        qckm.decode(np.zeros((5, 2)), 2)


def test_an_empty_sketch_is_not_decoded():
    with pytest.raises(DecodeError, match="no rows"):
        qckm.decode(qckm.SketchOperator.draw(2, 10, scale=1.0).empty(), 2)
