"""Decoding where the noise is known."""

from dataclasses import replace

import numpy as np
import pytest

import qckm
from qckm.decoding.expectation import expected_misfit
from qckm.decoding.fitting import Mixture
from qckm.decoding.sketch_model import SketchModel
from qckm.sketch.ledger import Ledger

LEDGER = Ledger(1.0, 0.0, 0.1, None, 1e-6, "gaussian", "add-remove", 1, ("test",))
CENTERS = np.array([[-4.0, 0.0], [4.0, 0.0], [0.0, 5.0]])


def noisy(sketch, deviation, seed=0):
    """Return a sketch with noise of a seed: the same in every run, as that of a release is not."""
    rng = np.random.default_rng(seed)
    total = sketch.total + np.rint(deviation * rng.standard_normal(sketch.total.size)).astype(np.int64)
    bounds = np.full(2, -10.0), np.full(2, 10.0)
    return replace(sketch, total=total, bounds=bounds, ledger=replace(LEDGER, sum_variance=float(deviation) ** 2))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return CENTERS[rng.integers(3, size=5000)] + rng.normal(size=(5000, 2))


@pytest.fixture(scope="module")
def operator():
    return qckm.SketchOperator.draw(2, 100, scale=2.0, random_state=0)


def near(found):
    return all(np.linalg.norm(found - center, axis=1).min() < 0.5 for center in CENTERS)


def test_centroids_are_found_in_noise(rows, operator):
    found = qckm.decode(noisy(operator.sketch(rows), 200), 3, random_state=0)
    assert near(found.centers)
    assert found.converged


def test_noise_that_hides_the_clusters_is_told(rows, operator):
    with pytest.warns(qckm.errors.PoorFitWarning):
        found = qckm.decode(noisy(operator.sketch(rows), 4000), 3, random_state=0)
    assert found.converged is False


def test_octaves_are_decoded_in_noise(rows):
    op = qckm.SketchOperator.from_ranges([-10, -10], [10, 10], 3, n_frequencies=60, octaves=3, random_state=0)
    found = qckm.decode(noisy(op.sketch(rows), 200), 3, random_state=0)
    assert near(found.centers)
    assert found.octave is not None


def test_a_misfit_s_expectation_counts_the_noise(rows, operator):
    """Of the truth, what is left is near its mean: over 5 draws of noise, within the chance that is allowed for."""
    exact = operator.sketch(rows)
    for seed in range(5):
        sketch = noisy(exact, 300, seed)
        model = SketchModel.of(sketch)
        points = model.to_points(CENTERS)
        mixture = Mixture(points, np.full(3, 1 / 3), np.full(3, 1 / model.spread**2), np.zeros((3, 0, 2)), np.inf)
        expected = expected_misfit(model, mixture, True, np.random.default_rng(0))
        left = sketch.values() - exact.values()
        assert abs(left @ left - expected.mean) < 5 * expected.deviation


def test_the_noise_is_in_the_sampling_noise_and_in_calibration(rows, operator):
    exact = operator.sketch(rows)
    sketch = noisy(exact, 300)
    added = (300 / 5000) ** 2 * operator.n_measurements
    assert sketch.sampling_noise() == pytest.approx(exact.sampling_noise() + added, rel=0.05)
    weighed = qckm.calibrate(sketch, rows[:500])
    assert weighed.matched
    # Noise is not followed: weights stay as even as those for the exact sketch, or nearly.
    assert weighed.effective_size > 0.8 * qckm.calibrate(exact, rows[:500]).effective_size
