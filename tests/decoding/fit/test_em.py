"""EM of weighted points: what scikit-learn's EM does with the points repeated."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from qckm.decoding.fit.em import likelihoods, race, refined


def points_of_two(count=3000, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0, 1, (count, 2)) * [3, 1], rng.normal(4, 1, (count, 2))])


@pytest.mark.parametrize("kind", ["spherical", "diag", "full"])
def test_whole_weights_are_repeats(kind):
    points, rng = points_of_two(), np.random.default_rng(1)
    repeats = rng.integers(0, 4, len(points))
    found = race(points, repeats / repeats.sum(), 2, kind, 1, rng)
    theirs = GaussianMixture(2, covariance_type=kind, tol=1e-5, max_iter=500, random_state=0)
    theirs.fit(np.repeat(points, repeats, axis=0))
    assert found.likelihood == pytest.approx(theirs.lower_bound_, abs=1e-3)
    order, other = np.argsort(found.means[:, 1]), np.argsort(theirs.means_[:, 1])
    np.testing.assert_allclose(found.means[order], theirs.means_[other], atol=0.05)
    np.testing.assert_allclose(found.weights[order], theirs.weights_[other], atol=0.01)


@pytest.mark.parametrize("kind", ["spherical", "full"])
def test_units_and_offsets_do_not_matter(kind):
    points, even = points_of_two(500), np.full(1000, 1e-3)
    found = race(points, even, 2, kind, 1, np.random.default_rng(0))
    moved = race(1e6 + 1e-3 * points, even, 2, kind, 1, np.random.default_rng(0))
    np.testing.assert_allclose(moved.means, 1e6 + 1e-3 * found.means, atol=1e-6)
    assert moved.likelihood == pytest.approx(found.likelihood - 2 * np.log(1e-3), abs=1e-3)
    assert even @ likelihoods(points, found) == pytest.approx(found.likelihood)


def test_more_steps_never_make_points_less_likely_and_points_alike_have_a_width():
    points, weights = points_of_two(500), np.full(1000, 1e-3)
    rough = race(points[:50], weights[:50], 2, "full", 1, np.random.default_rng(0))
    assert refined(points, weights, rough, "full").likelihood > weights @ likelihoods(points, rough)
    same = race(np.tile(points[:3], (10, 1)), np.full(30, 1 / 30), 3, "full", 1, np.random.default_rng(0))
    assert (np.linalg.eigvalsh(same.covariances) > 0).all()
