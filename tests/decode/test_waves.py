import numpy as np
import pytest
from scipy.optimize import check_grad

import qckm
from qckm.decode.model import SketchModel
from qckm.decode.waves import atoms, correlations, misfit
from qckm.signatures import SIGNATURES


def model_of(signature, dither, rng, n=3, m=30):
    op = qckm.SketchOperator.draw(n, m, scale=2.0, signature=signature, dither=dither, random_state=1)
    return SketchModel.of(op.sketch(rng.normal(size=(200, n)) * 2))


@pytest.mark.parametrize("signature", sorted(SIGNATURES))
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_an_atom_is_the_mean_contribution_of_a_cluster(signature, dither):
    """Against a sketch of 200 000 rows of N(c, τI), within what 200 000 rows allow and four harmonics leave."""
    rng = np.random.default_rng(3)
    op = qckm.SketchOperator.draw(
        2, 50, 1.5, "concentrated-radius", signature, dither, origin=[1.0, -1.0], random_state=0
    )
    center, deviation = np.array([1.7, 0.2]), 1.1
    sketch = op.sketch(center + deviation * rng.normal(size=(200_000, 2)))
    model = SketchModel.of(sketch)
    tau = np.array([(deviation / model.spread) ** 2])
    atom = atoms(model.waves, model.to_points(center[np.newaxis]), tau)[0]
    assert np.abs(atom - model.waves.z).max() < 0.015


@pytest.mark.parametrize("signature", ["exponential", "one-bit", "modulo"])
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_gradients_are_those_of_finite_differences(signature, dither, rng):
    waves = model_of(signature, dither, rng).waves
    start = np.concatenate([rng.normal(size=6), [0.3, 0.6], [0.4, 0.9]])

    def parts(v):
        return misfit(waves, v[:6].reshape(2, 3), v[6:8].copy(), v[8:].copy())

    def gradient(v):
        _, by_points, by_weights, by_widths = parts(v)
        return np.concatenate([by_points.ravel(), by_weights, by_widths])

    assert check_grad(lambda v: parts(v)[0], gradient, start) < 1e-4 * np.linalg.norm(gradient(start))
    damping = np.exp(-waves.halves)
    slopes = correlations(waves, start[:6].reshape(2, 3), waves.z, damping)[1]
    value = lambda u: correlations(waves, u.reshape(1, 3), waves.z, damping)[0][0]  # noqa: E731
    assert check_grad(value, lambda u: slopes[0], start[:3]) < 1e-4 * np.linalg.norm(slopes[0])


def test_points_of_no_width_through_the_first_harmonic_are_the_papers_atoms(rng):
    from qckm.decode.points import FirstHarmonicModel

    op = qckm.SketchOperator.draw(3, 30, scale=2.0, signature="exponential", random_state=1)
    sketch = op.sketch(rng.normal(size=(200, 3)))
    wide, paper = SketchModel.of(sketch), FirstHarmonicModel.of(sketch)
    points = rng.normal(size=(4, 3))
    measured = atoms(wide.waves, points, np.zeros(4))[:, :, : op.n_frequencies]
    np.testing.assert_allclose(measured.reshape(4, -1), paper.atoms(points), atol=1e-9)


@pytest.mark.parametrize("dither", ["paired", "single"])
@pytest.mark.parametrize("signature", ["one-bit", "exponential", "modulo"])
def test_at_the_frequency_zero_only_weights_that_sum_to_one_fit(rng, signature, dither):
    op = qckm.SketchOperator.draw(3, 90, scale=2.0, signature=signature, dither=dither, random_state=1)
    model = SketchModel.of(op.sketch(rng.normal(size=(200, 3))))
    at_zero = atoms(model.waves, rng.normal(size=(4, 3)), rng.random(4))[:, :, op.n_frequencies :]
    assert at_zero.shape[2] == 3
    for atom in at_zero:
        np.testing.assert_allclose(atom, model.waves.z[:, op.n_frequencies :], atol=1e-9)
    assert model.objective(model.waves.z) == model.energy()
