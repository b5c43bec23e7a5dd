import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans

import qckm
from qckm.decoding.search.search import _apart
from qckm.decoding.targets.kmeans import decode_hinted
from qckm.errors import PoorFitWarning, SaturationWarning
from qckm.planning.pilot import Pilot


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


def test_long_clusters_are_explained():
    """Each four times longer in a direction of its own: K clusters with axes, and not a word of warning."""
    rng = np.random.default_rng(1)
    centers, axes = 5 * rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    axes *= 4 / np.linalg.norm(axes, axis=1, keepdims=True)
    which = rng.integers(5, size=10_000)
    X = centers[which] + rng.normal(size=(10_000, 4)) + rng.normal(size=(10_000, 1)) * axes[which]
    km = qckm.CompressiveKMeans(5, n_frequencies=150, init="sketch", compute_labels=False, random_state=0).fit(X)
    assert ratio(X, km.cluster_centers_) < 1.03
    assert km.objective_ < km.sketch_.sampling_noise()
    assert km.converged_


def test_centroids_of_clusters_that_overlap_are_those_of_k_means():
    """Two Gaussians one deviation from each other's middle: k-means cuts between, its centroids are further apart."""
    rng = np.random.default_rng(0)
    X = np.array([[-1.0, 0.0], [1.0, 0.0]])[rng.integers(2, size=20_000)] + rng.normal(size=(20_000, 2))
    km = qckm.CompressiveKMeans(2, n_frequencies=60, init="sketch", compute_labels=False, random_state=0).fit(X)
    assert ratio(X, km.cluster_centers_) < 1.005


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


def hints_of(X, rows, n_clusters=4):
    centers = KMeans(n_clusters, n_init=5, random_state=0).fit(rows).cluster_centers_
    return Pilot(rows, np.ones(len(rows)), centers, X.std(axis=0))


def skewed_rows(seed=0, n_rows=8000):
    """Clusters that are no Gaussians: exponential tails to one side."""
    rng = np.random.default_rng(seed)
    return 6 * rng.integers(0, 2, size=(n_rows, 2)) + rng.exponential(size=(n_rows, 2))


def test_a_pilot_is_improved_by_the_sketch_of_all_rows():
    """Clusters that are no Gaussians; twenty samples of 200 rows, better with their weights in nearly all of them."""
    X, better = skewed_rows(), 0
    sketch = qckm.SketchOperator.draw(2, 100, scale=2.0, random_state=0).sketch(X)
    for seed in range(20):
        hints = hints_of(X, np.random.default_rng(seed).permutation(X)[:200])
        found = decode_hinted(sketch, 4, hints, random_state=0)
        assert found.converged
        assert found.n_iter == 0  # nothing was searched for
        better += ratio(X, found.centers) < ratio(X, hints.centers)
    assert better >= 17


def test_a_pilot_that_misses_a_cluster_is_mended():
    """Two clusters taken for one, and one for two: a local minimum of its k-means, though its rows are like all."""
    rng = np.random.default_rng(0)
    centers = 10 * rng.uniform(-1, 1, size=(6, 10))
    X = centers[rng.integers(6, size=10_000)] + rng.normal(size=(10_000, 10))
    wrong = np.concatenate(
        [centers[:1] + 0.5, centers[:1] - 0.5, centers[1:4], centers[4:].mean(axis=0, keepdims=True)]
    )
    sketch = qckm.CompressiveKMeans(6, init="sketch", compute_labels=False, random_state=0).fit(X).sketch_
    hints = Pilot(X[:2000], np.ones(2000), wrong, X.std(axis=0))
    assert ratio(X, hints.centers) > 1.5
    assert ratio(X, decode_hinted(sketch, 6, hints, random_state=0).centers) < 1.01


def test_a_misleading_pilot_does_no_harm():
    """All of its rows are of one cluster: they cannot reproduce the sketch, and points are drawn besides."""
    X = clusters(4, 3, 0)
    sketch = qckm.SketchOperator.draw(3, 60, scale=2.0, random_state=0).sketch(X)
    nearest = np.linalg.norm(X - X[0], axis=1).argsort()[:300]
    hints = hints_of(X, X[nearest])
    for init in ("auto", "sketch", "pilot"):
        found = decode_hinted(sketch, 4, hints, init, random_state=0)
        assert ratio(X, found.centers) < 1.02
        assert found.n_iter > 0


def test_where_decoding_starts_is_where_it_starts():
    """From centroids that leave out a cluster, K Gaussians are fitted in fewer evaluations than from nothing."""
    X = clusters(4, 3, 0)
    sketch = qckm.SketchOperator.draw(3, 60, scale=2.0, random_state=0).sketch(X)
    hints = hints_of(X, X[::10])
    taken = {init: decode_hinted(sketch, 4, hints, init, random_state=0).n_iter for init in ("auto", "pilot", "sketch")}
    assert 0 == taken["auto"] < taken["pilot"] < taken["sketch"]


@pytest.mark.filterwarnings("ignore::qckm.errors.SaturationWarning")
def test_the_verdict_tells_a_failure():
    """At frequencies far too high a sketch is noise: nothing can be found, and that is said."""
    X = clusters(10, 5, 0)
    op = qckm.SketchOperator.draw(5, 200, scale=2.5, law="concentrated-radius", random_state=0)
    good = qckm.decode(op.sketch(X), 10, random_state=0)
    assert good.converged
    assert ratio(X, good.centers) < 1.02
    far = qckm.SketchOperator.draw(5, 200, scale=0.15, law="concentrated-radius", random_state=0)  # sees noise only
    with pytest.warns(PoorFitWarning, match="may be wrong"):
        poor = qckm.decode(far.sketch(X), 10, random_state=0)
    assert not poor.converged
    assert qckm.decode(op.sketch(X), 10, decoder="clompr", random_state=0).converged is None


@pytest.mark.parametrize("rows", [[[1.0, 2.0]], [[0.0, 0.0], [4.0, 4.0]] * 5])
def test_degenerate_rows(rows):
    op = qckm.SketchOperator.draw(2, 40, scale=3.0, random_state=0)
    found = qckm.decode(op.sketch(rows), 1, random_state=0)
    np.testing.assert_allclose(found.centers, [np.mean(rows, axis=0)], atol=0.2)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_unit_of_weights_does_not_matter(unit, rng):
    """Weights that sum to a twentieth of a thousandth are no sketch of no rows."""
    X = clusters(4, 3, 0)
    op = qckm.SketchOperator.draw(3, 60, scale=2.0, random_state=0)
    found = qckm.decode(op.sketch(X, unit * rng.uniform(0.5, 1.5, len(X))), 4, random_state=0)
    assert ratio(X, found.centers) < 1.02
    assert found.converged


@pytest.mark.filterwarnings("ignore::qckm.errors.PoorFitWarning")
@pytest.mark.parametrize(("n", "m", "n_clusters"), [(1, 1, 1), (1, 2, 5), (2, 1, 2)])
def test_hardly_any_measurements(n, m, n_clusters, rng):
    """Nothing can come of it, but centroids within the data do."""
    X = rng.normal(size=(50, n))
    for dither in ("paired", "single"):
        op = qckm.SketchOperator.draw(n, m, scale=1.5, dither=dither, random_state=0)
        found = qckm.decode(op.sketch(X), n_clusters, random_state=0)
        assert ((found.centers >= X.min(axis=0)) & (found.centers <= X.max(axis=0))).all()


@pytest.mark.filterwarnings("ignore::qckm.errors.PoorFitWarning")
def test_more_clusters_than_distinct_rows():
    op = qckm.SketchOperator.draw(2, 50, 3.0, "gaussian", random_state=0)
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


def test_warnings_point_at_the_line_that_asked_for_centroids():
    X = clusters(4, 3, 0)
    op = qckm.SketchOperator.draw(3, 60, scale=2.0, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        qckm.decode(op.sketch(X + 1000), 4, random_state=0)
    assert {warning.category for warning in caught} >= {SaturationWarning}
    assert "5000 of 5000 rows" in str(caught[0].message)
    assert {warning.filename for warning in caught} == {__file__}


def test_explained_is_what_k_clusters_explain():
    X = clusters(8, 3, 0)
    sketch = qckm.SketchOperator.draw(3, 200, scale=2.0, random_state=0).sketch(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few, enough = (qckm.decode(sketch, K, random_state=0) for K in (2, 8))
    assert few.explained < 0.98 < 0.99 < enough.explained
    assert few.objective < 0.5 * (1 - few.explained) * (sketch.values() ** 2).sum()  # of a density of more clusters


@pytest.mark.parametrize("signature", ["2-bit", "4-bit", "modulo"])
def test_saw_teeth_at_low_frequencies_do_not_misplace_clusters(signature):
    centers = np.array([[-4, 0], [4, 1], [0, 5]])
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.7, (w, 2)) for c, w in zip(centers, (3000, 1500, 500), strict=True)])
    for seed in (2, 4):  # operators with frequencies so low that harmonics beyond the fourth are seen
        op = qckm.SketchOperator.draw(2, 100, scale=1.5, signature=signature, random_state=seed)
        found = qckm.decode(op.sketch(X), 3, random_state=seed).centers
        assert np.linalg.norm(found - centers, axis=1).max() < 0.15


@pytest.mark.filterwarnings("ignore::qckm.errors.PoorFitWarning")  # one in twenty of these is flagged (decoder near)
@pytest.mark.parametrize("n", [2, 5])
def test_near_clusters_among_far_and_small_ones_are_found(n):
    rng = np.random.default_rng(1000)
    near, far = 3 * rng.normal(size=(3, n)), 60 * rng.normal(size=(5, n))
    centers = np.repeat(np.concatenate([near, far]), [2000] * 3 + [100] * 5, axis=0)
    X = centers + rng.normal(size=centers.shape)
    km = qckm.CompressiveKMeans(8, init="sketch", compute_labels=False, random_state=1001).fit(X)
    assert ratio(X, km.cluster_centers_) < 1.02
