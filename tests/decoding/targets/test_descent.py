import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

import qckm
from qckm.decoding.model.sketch_model import FirstHarmonicModel, loops
from qckm.decoding.targets.clompr import fit_points, match_point


def model_of(dither, seed=0):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(-2, 0.5, (500, 3)), rng.normal(2, 0.5, (500, 3))])
    return FirstHarmonicModel.of(qckm.SketchOperator.draw(3, 40, 2.0, dither=dither, random_state=seed).sketch(X))


@pytest.mark.parametrize("dither", ["paired", "single"])
def test_step_1_climbs_as_high_as_scipy(dither):
    model, box = model_of(dither), (np.full(3, -5.0), np.full(3, 5.0))
    waves = model.waves(model.z)
    for seed in range(5):
        start = np.random.default_rng(seed).uniform(*box)
        point, cost, evaluations = match_point(waves, start, *box)
        peer = minimize(lambda u: -loops().correlation(waves, u)[0], start, bounds=Bounds(*box))
        assert cost == pytest.approx(-loops().correlation(waves, point)[0])
        # The top of a hill, whichever it is: no slope is left but out of the box, and SciPy climbs no higher.
        slope = loops().correlation(waves, point)[1]
        free = (point > box[0]) & (point < box[1])
        assert np.abs(slope[free]).max(initial=0) < 1e-3 * abs(peer.fun)
        assert (np.sign(slope[~free]) == np.sign(point[~free])).all()
        again = minimize(lambda u: -loops().correlation(waves, u)[0], point, bounds=Bounds(*box))
        assert cost == pytest.approx(again.fun, rel=1e-5)
        assert cost < -loops().correlation(waves, start)[0]
        assert evaluations < 200


@pytest.mark.parametrize("dither", ["paired", "single"])
def test_step_5_descends_as_low_as_scipy(dither):
    model = model_of(dither)
    waves = model.waves(model.z)
    start = np.array([-1.5, -1.6, -1.2, 1.4, 1.9, 1.2, 0.4, 0.4])
    low, high = np.append(np.full(6, -5.0), [0, 0]), np.append(np.full(6, 5.0), [np.inf, np.inf])

    def objective(x):
        found = loops().misfit(waves, x[:6].reshape(2, 3), x[6:], np.zeros(2), np.zeros((2, 0, 3)))
        return found.value, np.concatenate([found.by_points.ravel(), found.by_weights])

    found, value, _ = fit_points(waves, 2, start, low, high)
    peer = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=Bounds(low, high))
    assert value == pytest.approx(objective(found)[0])
    assert value == pytest.approx(peer.fun, rel=1e-5)
    np.testing.assert_allclose(found, peer.x, atol=1e-2)


def test_bounds_are_kept_and_active_where_the_way_down_leads_out():
    model = model_of("paired")
    low, high = np.append(np.full(6, -0.5), [0.0, 0.0]), np.append(np.full(6, 0.5), [0.3, 0.3])
    found, _, _ = fit_points(model.waves(model.z), 2, np.append(np.linspace(-9, 9, 6), [1.0, -1.0]), low, high)
    assert (found >= low).all()
    assert (found <= high).all()
    assert ((found == low) | (found == high)).any()
