import numpy as np
import pytest

from qckm.operator import signatures
from qckm.operator.request import choose_n_frequencies
from qckm.planning.held_rows import ArrayRows, draw_pilot
from qckm.planning.pilot import PILOT_ROWS, choose_law, choose_settings

ONE_BIT, EXPONENTIAL = signatures.get("one-bit"), signatures.get("exponential")


def settings(X, weights=None, n_clusters=4, seed=0):
    rng = np.random.default_rng(seed)
    return choose_settings(draw_pilot(ArrayRows(np.asarray(X), weights, None), rng), n_clusters, rng)


@pytest.fixture
def clusters(rng):
    centers = 10 * rng.normal(size=(4, 5))
    return centers[rng.integers(4, size=3000)] + rng.normal(size=(3000, 5))


def test_the_scale_follows_the_width_of_the_clusters(rng):
    centers = 3 * np.eye(5)[:4]
    close = centers[rng.integers(4, size=3000)] + rng.normal(size=(3000, 5))
    # Unit variance in five columns, at 0.65 radians per deviation.
    assert settings(close).scale == pytest.approx(np.sqrt(5) / 0.65, rel=0.1)
    assert settings(3 * close).scale == pytest.approx(3 * np.sqrt(5) / 0.65, rel=0.1)


def test_or_their_distances_where_these_are_much_larger(rng):
    for distance in (20, 200):
        centers = distance / np.sqrt(2) * np.eye(10)
        rows = centers[rng.integers(10, size=3000)] + rng.normal(size=(3000, 10))
        assert settings(rows, n_clusters=10).scale == pytest.approx(distance / 2.5, rel=0.2)


def test_a_scale_of_distances_is_at_most_that_of_all_rows_as_one_cluster(rng):
    rows = np.concatenate([rng.normal(size=(5000, 2)), rng.normal(size=(5, 2)) + 1e4])
    of_all = settings(rows, n_clusters=1).scale
    assert settings(rows, n_clusters=2).scale == pytest.approx(of_all, rel=0.01)


def test_near_clusters_among_far_ones_are_still_told_apart(rng):
    near = 6 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    centers = np.concatenate([near, 100 * rng.uniform(-1, 1, size=(6, 2))])
    rows = centers[rng.integers(10, size=5000)] + rng.normal(size=(5000, 2))
    assert settings(rows, n_clusters=10).scale < 10


def test_a_few_rows_far_away_do_not_make_the_scale(rng):
    rows = np.concatenate([rng.normal(size=(2000, 3)), rng.normal(size=(3, 3)) + 1000])
    assert settings(rows, n_clusters=2).scale < 200  # 690, if it were a fraction of their distance


@pytest.mark.parametrize("factor", [2.0**-60, 2.0**-8, 1.0, 2.0**40])
def test_equivariant_to_powers_of_two_exactly(clusters, factor):
    plain, scaled = settings(clusters), settings(clusters * factor)
    assert scaled.scale == plain.scale * factor
    np.testing.assert_array_equal(scaled.origin, plain.origin * factor)


@pytest.mark.parametrize("factor, shift", [(100.0, 0.0), (1e-5, 3.0), (1.0, 1e6)])
def test_equivariant_to_any_factor_and_shift(clusters, factor, shift):
    plain, moved = settings(clusters), settings(clusters * factor + shift)
    assert moved.scale == pytest.approx(plain.scale * factor, rel=0.02)
    np.testing.assert_allclose(moved.origin, plain.origin * factor + shift, atol=moved.scale)


def test_weights_count_as_repeats(clusters):
    X = clusters[:200]
    weights = np.arange(200) % 4
    weighted, repeated = settings(X, weights), settings(np.repeat(X, weights, axis=0)[::-1])
    assert weighted.scale == repeated.scale
    np.testing.assert_array_equal(weighted.origin, repeated.origin)
    np.testing.assert_allclose(weighted.centers, repeated.centers, rtol=1e-12)


def test_a_pilot_has_its_own_centroids(rng):
    places = np.array([[0.0, 0.0], [0.0, 80.0], [50.0, 0.0]])
    X = np.repeat(places, [100, 300, 600], axis=0) + rng.normal(size=(1000, 2))
    centers = settings(X, n_clusters=3).centers
    np.testing.assert_allclose(centers[np.lexsort(centers.T[::-1].round())], places, atol=1)


def test_a_large_pilot_follows_the_weights(rng):
    X = np.arange(20_000.0)[:, None]
    pilot = draw_pilot(ArrayRows(X, np.where(X[:, 0] < 1000, 100.0, 1.0), None), rng)
    assert len(pilot.rows) == PILOT_ROWS
    heavy = pilot.rows[:, 0] < 1000
    assert heavy.sum() == 1000
    assert pilot.weights[~heavy].sum() == pytest.approx(19_000, rel=0.1)  # six standard deviations of 4000 draws
    assert len(draw_pilot(ArrayRows(X, None, None), rng).rows) == PILOT_ROWS


@pytest.mark.parametrize("X", [np.zeros((5, 2)), np.full((5, 2), -1e9), [[3.0, 4.0]], [[0.0, 0.0], [1.0, 1.0]] * 3])
def test_degenerate_pilots_have_a_scale(X):
    chosen = settings(X)
    assert chosen.scale > 0
    assert np.isfinite(chosen.origin).all()
    assert chosen.centers.shape == (4, 2)
    assert np.isin(chosen.centers, X).all()


def test_all_but_a_hundredth_of_the_pilot_is_within_reach(rng):
    centers = 20 * np.arange(30)[:, np.newaxis]
    rows = centers[rng.integers(30, size=5000)] + 0.01 * rng.normal(size=(5000, 1))
    near, far = settings(rows, n_clusters=30), settings(np.append(rows, [[1e6]], axis=0), n_clusters=30)
    assert 80 * near.scale > 280
    assert 80 * far.scale < 1e5
    for found, furthest in ((near, 290), (far, 1e6)):
        assert found.extent > 1.5 * furthest


def test_m_grows_with_n_and_k():
    assert choose_n_frequencies(10, 10) == 500
    assert choose_n_frequencies(10, 10, alone=True) == 2000
    assert choose_n_frequencies(1, 2) == 100


@pytest.mark.parametrize("signature", [ONE_BIT, EXPONENTIAL])
def test_few_frequencies_and_many_clusters_want_equal_lengths(signature):
    few, many_clusters = choose_law(10, 10, 299, signature), choose_law(10, 60, 60_000, signature)
    assert few == many_clusters
    assert few[0] == "integer-concentrated"
    assert choose_law(10, 10, 300, signature)[0] != "integer-concentrated"


def test_a_signature_without_harmonics_wants_higher_frequencies():
    (law, radians), (with_harmonics, fewer) = (choose_law(10, 10, 300, one) for one in (EXPONENTIAL, ONE_BIT))
    assert (law, with_harmonics) == ("integer-gaussian", "integer-balanced")
    assert radians > fewer
    assert choose_law(10, 10, 300, signatures.get("triangle")) == (with_harmonics, fewer)


@pytest.mark.parametrize("signature", [ONE_BIT, EXPONENTIAL])
def test_first_rows_are_not_trusted_with_the_scale(signature):
    assert choose_law(10, 10, 300, signature, of_all=False) == ("integer-gaussian", 0.65)


def test_a_law_that_is_asked_for_is_kept():
    assert choose_law(10, 10, 300, ONE_BIT, "folded-gaussian") == ("folded-gaussian", 0.65)


def test_the_seeded_law_has_the_scale_of_any_other():
    for m in (20, 1000):
        assert choose_law(3, 5, m, ONE_BIT, "seeded") == ("seeded", choose_law(3, 5, m, ONE_BIT)[1])
