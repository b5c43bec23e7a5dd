import numpy as np
import pytest

import qckm
from qckm.decoding.model.mixture import Mixture, Problem
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.search.expectation import expected_misfit

CENTERS = np.array([[-4.0, -3.0], [4.0, -3.0], [0.0, 4.0]])
N_ROWS = 3000


def fitted(seed, signature="one-bit", axis=0.0, n_axes=0):
    """Fit three clusters, begun at the truth; return model, mixture and whether its rows are long to one side."""
    rng = np.random.default_rng(seed)
    rows = CENTERS[rng.integers(3, size=N_ROWS)] + rng.normal(size=(N_ROWS, 2))
    rows += axis * rng.normal(size=(N_ROWS, 1)) * np.array([0.6, 0.8])
    op = qckm.SketchOperator.draw(2, 40, 2.0, "balanced-radius", signature, random_state=seed)
    sketch = op.sketch(rows)
    model = SketchModel.of(sketch)
    lower, upper = (model.to_points(bound) for bound in sketch.bounds)
    widths = np.full(3, 1 / model.spread**2)
    axes = 0.3 * rng.normal(size=(3, n_axes, 2))
    start = Mixture(model.to_points(CENTERS), np.full(3, 1 / 3), widths, axes, np.inf)
    found, _ = Problem(model.waves, lower, upper).fit(start, 5000, "own", tolerance=1e-9)
    return model, found


@pytest.mark.parametrize("signature", ["one-bit", "exponential"])
@pytest.mark.parametrize("n_axes", [0, 1])
def test_the_misfit_is_what_it_should_be(signature, n_axes):
    """Over twenty sketches: its mean to a third, its deviation to a factor, and all but one below the goal."""
    misfits, means, deviations, within = [], [], [], 0
    for seed in range(20):
        model, mixture = fitted(seed, signature, axis=1.0 * n_axes, n_axes=n_axes)
        expected = expected_misfit(model, mixture, False, np.random.default_rng(0))
        misfits.append(mixture.misfit)
        means.append(expected.mean)
        deviations.append(expected.deviation)
        within += mixture.misfit <= expected.goal
    assert np.mean(misfits) == pytest.approx(np.mean(means), rel=0.33)
    assert 0.4 < np.std(misfits) / np.mean(deviations) < 2.5
    assert within >= 19


def test_a_cluster_that_is_not_there_is_noticed():
    for seed in range(5):
        model, mixture = fitted(seed)
        off = mixture._replace(points=mixture.points + np.array([[0.5], [0.0], [0.0]]) / model.spread)
        box = np.full(2, -50.0), np.full(2, 50.0)
        wrong, _ = Problem(model.waves, *box).fit(off, 0, "fixed")
        assert wrong.misfit > expected_misfit(model, wrong, False, np.random.default_rng(0)).goal


def test_long_clusters_are_no_round_ones():
    for seed in range(5):
        model, mixture = fitted(seed, axis=2.0)
        assert mixture.misfit > expected_misfit(model, mixture, False, np.random.default_rng(0)).goal


def test_a_shared_width_follows_less():
    model, mixture = fitted(0)
    shared, own = (expected_misfit(model, mixture, which, np.random.default_rng(0)).mean for which in (True, False))
    assert shared > own
