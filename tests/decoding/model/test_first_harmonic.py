import numpy as np
import pytest
from scipy.optimize import check_grad

import qckm
from qckm.decoding.model.sketch_model import FirstHarmonicModel, loops
from qckm.operator.signatures import SIGNATURES


def model_of(signature, dither, rng, n=3, scale=2.0, origin=None):
    op = qckm.SketchOperator.draw(n, 40, scale=scale, signature=signature, dither=dither, origin=origin, random_state=1)
    return FirstHarmonicModel.of(op.sketch(rng.normal(size=(200, n)) * scale))


@pytest.mark.parametrize("signature", sorted(SIGNATURES))
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_gradients_are_those_of_finite_differences(signature, dither, rng):
    model = model_of(signature, dither, rng)
    waves, points, weights = model.waves(model.z), rng.normal(size=(2, 3)), np.array([0.3, 0.6])

    def misfit(v):
        return loops().misfit(waves, v[:6].reshape(2, 3), v[6:], np.zeros(2), np.zeros((2, 0, 3)))

    def gradient(v):
        return np.concatenate([misfit(v).by_points.ravel(), misfit(v).by_weights])

    assert check_grad(lambda v: misfit(v).value, gradient, np.concatenate([points.ravel(), weights])) < 1e-4
    correlate = lambda part: lambda u: loops().correlation(waves, u)[part]  # noqa: E731
    assert check_grad(correlate(0), correlate(1), points[0]) < 1e-5


@pytest.mark.parametrize("signature", sorted(SIGNATURES))
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_an_atom_is_the_first_harmonic_of_a_row(signature, dither):
    """Averaged over many dithers, what a row contributes correlates with its atom as f₁ with itself: ‖f₁‖² = 2|F₁|²."""
    op = qckm.SketchOperator.draw(
        2, 40_000, scale=1.0, signature=signature, dither=dither, origin=[5.0, -7.0], random_state=2
    )
    op = qckm.SketchOperator.from_frequencies(
        op.frequencies, signature, dither, phases=np.linspace(0, 2 * np.pi, 40_000), origin=op.origin, steps=op.steps
    )
    row = np.array([[5.5, -6.75]])
    model = FirstHarmonicModel.of(op.sketch(row))
    atom = model.atoms(model.to_points(row))[0]
    assert (model.z * atom).mean() == pytest.approx((atom**2).mean(), rel=0.02)


def test_atoms_of_the_exponential_are_the_sketch_of_a_point():
    op = qckm.SketchOperator.draw(3, 50, scale=2.0, signature="exponential", origin=[1.0, 2.0, 3.0], random_state=0)
    row = np.array([[1.25, 2.5, 1.0]])  # a whole number of steps: nothing is rounded
    model = FirstHarmonicModel.of(op.sketch(row))
    np.testing.assert_allclose(model.atoms(model.to_points(row))[0], model.z, atol=2e-3)


def test_coordinates_do_not_depend_on_units(rng):
    small, large = model_of("one-bit", "paired", rng, scale=1e-6), model_of("one-bit", "paired", rng, scale=1e6)
    for model in (small, large):
        assert (model.frequencies**2).sum(axis=0).mean() == pytest.approx(1.0)
    points = rng.normal(size=(4, 3))
    np.testing.assert_allclose(large.to_points(large.to_centers(points)), points)


def test_the_norm_of_an_atom_is_constant_in_pairs_only(rng):
    points = rng.normal(size=(50, 3))
    paired = np.linalg.norm(model_of("one-bit", "paired", rng).atoms(points), axis=1)
    single = np.linalg.norm(model_of("one-bit", "single", rng).atoms(points), axis=1)
    np.testing.assert_allclose(paired, paired[0])
    assert np.ptp(single) > 0.1
