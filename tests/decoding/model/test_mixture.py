import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans

import qckm
from qckm.decoding.model.mixture import Density, best_octave, predict, scores

K, N = 3, 2


def rows(seed=0, size=1.0, n_rows=4000):
    """Three clusters of unit deviation, times `size`."""
    rng = np.random.default_rng(seed)
    centers = np.array([[-5.0, -3.0], [5.0, -3.0], [0.0, 5.0]])
    return size * (centers[rng.integers(K, size=n_rows)] + rng.normal(size=(n_rows, N)))


def draw(**how):
    wishes = {"n_features": N, "n_frequencies": 40, "scale": 0.5, "law": "gaussian", "octaves": 5, "random_state": 0}
    return qckm.SketchOperator.draw(**{**wishes, **how})


def ratio(X, centers):
    sse = ((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()
    return sse / KMeans(len(centers), n_init=5, random_state=0).fit(X).inertia_


@pytest.mark.parametrize("signature", ["one-bit", "exponential", "modulo"])
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_the_prediction_is_what_rows_of_the_clusters_would_give(signature, dither):
    """100 000 rows of two unequal clusters: each measurement within 5 standard errors."""
    rng = np.random.default_rng(1)
    centers, weights = np.array([[-2.0, 0.0], [1.0, 3.0]]), np.array([0.7, 0.3])
    spreads, units = np.array([1.0, 0.5]), np.array([1.0, 10.0])
    which = rng.choice(2, p=weights, size=100_000)
    axes = np.array([[[0.0, 0.0]], [[0.6, -0.8]]])
    along = rng.normal(size=(100_000, 1)) * axes[which, 0]
    X = (centers[which] + along + spreads[which, None] * rng.normal(size=(100_000, N))) * units
    op = draw(signature=signature, dither=dither, units=units, origin=[0.3, -20.0], scale=0.3, octaves=4)
    measured = op.sketch(X).values()
    np.testing.assert_allclose(
        predict(op, Density(centers * units, weights, spreads, axes * units)), measured, atol=5 / np.sqrt(100_000)
    )


@pytest.mark.parametrize("size", [0.25, 1.0, 4.0])
def test_wherever_the_scale_is_in_the_ladder_the_clusters_are_found(size):
    """Scales from 0.5 to 8: rows of sizes for which the right one, about 2.2 deviations, is the last to the first."""
    op, X = draw(), rows(size=size)
    found = qckm.decode(op.sketch(X), K, random_state=0)
    assert ratio(X, found.centers) < 1.02
    assert found.converged
    assert 0.6 < op.octave(found.octave).scale / size < 11


def test_clusters_are_looked_for_in_one_octave():
    sketch = draw().sketch(rows())
    found = qckm.decode(sketch, K, random_state=3)
    alone = qckm.decode(sketch.octave(found.octave), K, random_state=3)
    assert alone.octave is None
    assert ratio(rows(), alone.centers) < 1.02
    assert ratio(rows(), found.centers) < 1.02
    km = qckm.CompressiveKMeans(K, random_state=3).fit_sketch(sketch)
    assert ratio(rows(), km.cluster_centers_) < 1.02


def test_the_papers_decoder_gets_the_octave_too():
    sketch = draw(n_frequencies=100).sketch(rows())
    found = qckm.decode(sketch, K, decoder="clompr", random_state=0)
    assert found.octave is not None
    alone = qckm.decode(sketch.octave(found.octave), K, decoder="clompr", random_state=0)
    np.testing.assert_array_equal(found.centers, alone.centers)


def test_rows_need_no_octave():
    X, op = rows(), draw()
    found = qckm.decode(op.sketch(X), K, rows=X[:500], random_state=0)
    assert found.octave is None
    assert ratio(X, found.centers) < 1.02


@pytest.mark.filterwarnings("ignore::qckm.errors.SaturationWarning")
def test_neither_noise_nor_one_cluster_for_all_is_chosen():
    X = rows()
    for scale in (0.08, 1.25):  # … 2.56, all but the last two too fine; … 40, all but the first three too coarse
        op = draw(scale=scale, octaves=6)
        found = qckm.decode(op.sketch(X), K, random_state=0)
        # Clusters of unit variance: of the scales on offer, the one that suits is within a factor of 2 and a bit.
        suits = qckm.CompressiveKMeans(K, compute_labels=False, random_state=0).fit(X).operator_.scale
        assert 1 / 2.5 < op.octave(found.octave).scale / suits < 2.5
        assert ratio(X, found.centers) < 1.02


def test_a_ladder_that_is_all_too_fine_is_no_success():
    op = draw(scale=0.001, octaves=3)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = qckm.decode(op.sketch(rows()), K, random_state=0)
    assert found.converged is False  # the rows are beyond the operator's reach: that is where their centroids are
    assert any(issubclass(one.category, qckm.errors.PoorFitWarning) for one in said)


def test_errors_count_less_in_finer_octaves_and_more_where_they_were_fitted():
    errors = np.array([[1.0, 3.0, 3.0], [1.0, 3.0, 1.0], [5.0, 5.0, 0.1]])
    np.testing.assert_allclose(scores(errors, [0, 0, 0]), [1 + 3 / 2 + 3 / 4, 1 + 3 / 2 + 1 / 4, 5 + 5 / 2 + 0.1 / 4])
    np.testing.assert_allclose(scores(errors, [0.5, 0, 0])[0], 4 * 1 + 3 / 2 + 3 / 4)
    assert np.isfinite(scores(errors, [1, 2, 3])).all()


def test_the_true_clusters_are_the_best():
    sketch = draw().sketch(rows())
    parts = [sketch.octave(j) for j in range(5)]
    truth = Density(
        np.array([[-5.0, -3.0], [5.0, -3.0], [0.0, 5.0]]), np.full(3, 1 / 3), np.ones(3), np.zeros((3, 0, 2))
    )
    wrong = [truth._replace(centers=truth.centers + np.array([1.0, 0.0])), truth._replace(weights=np.zeros(3))] * 3
    for j in range(5):
        assert best_octave(parts, [*wrong[:j], truth, *wrong[j + 1 : 5]]) == j
