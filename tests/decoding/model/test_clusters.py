import numpy as np
import pytest

import qckm
from qckm.decoding.model.mixture import Mixture, Problem
from qckm.decoding.model.sketch_model import SketchModel, loops

ROUND = np.zeros((4, 0, 3))


@pytest.fixture
def made():
    """A sketch that is exactly that of known clusters, and these."""
    rng = np.random.default_rng(1)
    op = qckm.SketchOperator.draw(3, 80, scale=2.0, random_state=0)
    waves = SketchModel.of(op.sketch(rng.normal(size=(10, 3)))).waves
    truth = Mixture(3 * rng.normal(size=(4, 3)), np.array([0.4, 0.3, 0.2, 0.1]), np.full(4, 0.5), ROUND, 0.0)
    return made_of(waves, truth), truth


def made_of(waves, truth):
    exact = np.tensordot(truth.weights, loops().atoms(waves, *truth.shape), 1)
    return Problem(waves._replace(z=exact), np.full(3, -20.0), np.full(3, 20.0))


def off(truth, rng):
    return Mixture(
        truth.points + 0.3 * rng.normal(size=truth.points.shape), np.full(4, 0.25), np.full(4, 0.8), ROUND, 0.0
    )


@pytest.mark.parametrize("widths", ["shared", "own"])
def test_known_clusters_are_found_back(made, widths, rng):
    problem, truth = made
    found, evaluations = problem.fit(off(truth, rng), 1000, widths, tolerance=1e-9)
    assert found.misfit < 1e-6
    np.testing.assert_allclose(found.points, truth.points, atol=1e-2)
    np.testing.assert_allclose(found.weights, truth.weights, atol=1e-2)
    np.testing.assert_allclose(found.widths, truth.widths, atol=2e-2)
    assert evaluations < 1100


def test_fixed_widths_stay(made, rng):
    problem, truth = made
    start = off(truth, rng)
    found, _ = problem.fit(start, 50, "fixed")
    np.testing.assert_array_equal(found.widths, start.widths)


def test_bounds_hold(made, rng):
    problem, truth = made
    lower, upper = truth.points.min(axis=0) + 0.5, truth.points.max(axis=0) - 0.5
    boxed = Problem(problem.waves, lower, upper)
    found, _ = boxed.fit(off(truth, rng), 200, "own")
    assert (found.points >= lower).all()
    assert (found.points <= upper).all()
    assert (found.weights >= 0).all()
    assert (found.widths > 0).all()
    assert (found.widths <= boxed.widest).all()


def test_a_fit_never_ends_above_its_start(made, rng):
    problem, _ = made
    for _ in range(5):
        start = Mixture(5 * rng.normal(size=(4, 3)), rng.random(4), np.full(4, 0.5), ROUND, 0.0)
        before, _ = problem.fit(start, 0, "fixed")
        after, _ = problem.fit(start, 30)
        assert after.misfit <= before.misfit


def test_evenness_holds_widths_together(made, rng):
    problem, truth = made
    free, _ = problem.fit(off(truth, rng), 15, "own")
    tied, _ = problem.fit(off(truth, rng), 15, "own", evenness=1e3)
    assert np.ptp(np.log(tied.widths)) < 0.1 * np.ptp(np.log(free.widths)) + 1e-3


def test_axes_are_found_back(made, rng):
    """Up to their sign, and what the width takes from them: covariances are compared."""
    problem, truth = made
    long = truth._replace(axes=rng.normal(size=(4, 1, 3)))
    start = long._replace(points=long.points + 0.2 * rng.normal(size=(4, 3)), axes=0.3 * rng.normal(size=(4, 1, 3)))
    found, _ = made_of(problem.waves, long).fit(start, 3000, "own", tolerance=1e-10)
    assert found.misfit < 1e-6
    np.testing.assert_allclose(covariances(found), covariances(long), atol=0.05)


def covariances(mixture):
    return mixture.widths[:, None, None] * np.eye(3) + np.einsum("kri,krj->kij", mixture.axes, mixture.axes)


def test_rows_drawn_have_the_moments_of_the_mixture(rng):
    points, weights = np.array([[0.0, 0.0], [8.0, 1.0]]), np.array([0.5, 1.5])
    mixture = Mixture(points, weights, np.array([0.5, 2.0]), np.array([[[2.0, 1.0]], [[0.0, 0.0]]]), 0.0)
    rows = mixture.draw(40_000, rng)
    left = rows[:, 0] < 4
    assert left.mean() == pytest.approx(0.25, abs=0.03)  # a few of either cluster are on the other's side
    right = rows[~left]
    np.testing.assert_allclose(right.mean(axis=0), points[1], atol=0.1)
    np.testing.assert_allclose(np.cov(right.T), 2 * np.eye(2), atol=0.3)


def test_all_numbers_of_a_mixture_are_unknown():
    mixture = Mixture(np.arange(6.0).reshape(3, 2), np.arange(3.0), np.arange(3.0), np.zeros((3, 1, 2)), 1.0)
    assert mixture.unknowns == 6 + 3 + 3 + 6
