"""Decoding knows the noise of a private sketch: in its search, in what it believes, and in the errors it tells."""

from dataclasses import replace

import numpy as np
import pytest

import qckm
from qckm.errors import PoorFitWarning
from qckm.privacy import release

N_ROWS = 20_000
RANGES = ([-12.0, -12.0], [12.0, 12.0])
# Two of the five clusters are in one place: noise may bring about a fifth cluster anywhere.
PLACES = np.array([[-6.0, -2.0], [-2.0, 6.0], [3.0, -2.0], [6.0, 6.0], [6.0, 6.0]])


def clusters(seed):
    rng = np.random.default_rng(seed)
    return PLACES[rng.integers(len(PLACES), size=N_ROWS)] + rng.normal(size=(N_ROWS, 2))


def noisy(rows, epsilon, seed):
    """Return a private sketch whose noise is drawn from a seed, so that the test does the same each time."""
    op = qckm.SketchOperator.draw(2, 100, 2.2, "balanced-radius", random_state=seed)
    exact = op.sketch(rows)
    public = release(exact, epsilon=epsilon, delta=1e-6, operator_is_public=True, ranges=RANGES)
    noise = np.random.default_rng(seed).normal(size=exact.total.size) * public.ledger.sum_variance**0.5
    return replace(public, total=exact.total + np.rint(noise).astype(np.int64), count=exact.count)


def sse(rows, centers):
    return float(((rows[:, np.newaxis] - centers) ** 2).sum(axis=2).min(axis=1).sum())


def best(rows):
    from sklearn.cluster import KMeans

    return KMeans(len(PLACES), n_init=5, random_state=0).fit(rows).inertia_


@pytest.mark.parametrize("seed", [1000, 1003])
def test_no_centroid_is_spent_on_a_cluster_that_noise_has_brought_about(seed):
    rows = clusters(seed)
    found = qckm.decode(noisy(rows, 0.1, seed), len(PLACES), random_state=seed)
    assert sse(rows, found.centers) < 1.05 * best(rows)
    assert found.weights.min() > 0.1  # half of a fifth


def test_an_estimate_of_the_sse_has_an_error_that_knows_the_noise():
    rows = clusters(1002)
    errors = []
    for epsilon in (0.05, 0.5):
        found = qckm.decode(noisy(rows, epsilon, 1002), len(PLACES), random_state=0)
        truth = sse(rows, found.centers)
        assert abs(found.inertia - truth) < 4 * found.inertia_error
        errors.append(found.inertia_error / truth)
    assert errors[0] > 2 * errors[1] > 0


def test_a_sketch_that_is_hardly_more_than_noise_is_flagged():
    rows = clusters(1003)
    with pytest.warns(PoorFitWarning):
        found = qckm.decode(noisy(rows, 0.002, 1003), len(PLACES), random_state=0)
    assert not found.converged


@pytest.mark.parametrize("seed", [1000, 1001, 1002])
def test_noise_that_hides_clusters_is_told_even_if_what_is_found_is_found_again(seed):
    with pytest.warns(PoorFitWarning, match="Several different sets"):
        found = qckm.decode(noisy(clusters(seed), 0.0005, seed), len(PLACES), random_state=seed)
    assert not found.converged
