import numpy as np
import pytest
from scipy.optimize import check_grad

import qckm
from qckm.decoding.model.loops import Climb
from qckm.decoding.model.sketch_model import SketchModel, loops
from qckm.operator.signatures import SIGNATURES


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
    atom = loops().atoms(model.waves, model.to_points(center[np.newaxis]), tau, np.zeros((1, 0, 2)))[0]
    assert np.abs(atom - model.waves.z).max() < 0.015


@pytest.mark.parametrize("dither", ["paired", "single"])
@pytest.mark.parametrize("signature", ["one-bit", "exponential"])
def test_an_atom_with_axes_is_that_of_a_long_cluster(signature, dither):
    rng = np.random.default_rng(3)
    op = qckm.SketchOperator.draw(3, 50, 3.0, "concentrated-radius", signature, dither, random_state=0)
    center, axes = np.array([1.7, 0.2, -1.0]), np.array([[1.5, 1.0, 0.0], [0.0, 0.4, 0.8]])
    rows = center + 0.9 * rng.normal(size=(200_000, 3)) + rng.normal(size=(200_000, 2)) @ axes
    model = SketchModel.of(op.sketch(rows))
    shape = (
        model.to_points(center[np.newaxis]),
        np.array([(0.9 / model.spread) ** 2]),
        axes[np.newaxis] / model.length,
    )
    assert np.abs(loops().atoms(model.waves, *shape)[0] - model.waves.z).max() < 0.015


@pytest.mark.parametrize("signature", ["exponential", "one-bit", "modulo"])
@pytest.mark.parametrize("dither", ["paired", "single"])
@pytest.mark.parametrize("n_axes", [0, 1, 2])
def test_gradients_are_those_of_finite_differences(signature, dither, n_axes, rng):
    waves = model_of(signature, dither, rng).waves
    start = np.concatenate([rng.normal(size=6), [0.3, 0.6], [0.4, 0.9], 0.5 * rng.normal(size=6 * n_axes)])

    def parts(v):
        value, *slopes = loops().misfit(waves, v[:6].reshape(2, 3), v[6:8], v[8:10], v[10:].reshape(2, n_axes, 3))
        return value, np.concatenate([slope.ravel() for slope in slopes])

    slope = parts(start)[1]
    assert check_grad(lambda v: parts(v)[0], lambda v: parts(v)[1], start) < 1e-4 * np.linalg.norm(slope)


def test_the_gradient_that_points_climb_is_that_of_finite_differences(rng):
    waves = model_of("one-bit", "paired", rng).waves
    damping, far = np.exp(-waves.halves), np.full(3, 100.0)

    def correlate(u):
        _, values, slopes = loops().ascend(waves, u.reshape(1, 3), Climb(waves.z, damping, 0.0, 0, -far, far))
        return values[0], slopes[0]

    start = rng.normal(size=3)
    slope = correlate(start)[1]
    assert check_grad(lambda u: correlate(u)[0], lambda u: correlate(u)[1], start) < 1e-4 * np.linalg.norm(slope)
    climb = Climb(waves.z, damping, 0.5, 30, -far, far)
    (reached,), (value,), _ = loops().ascend(waves, start[np.newaxis], climb)
    assert value > correlate(start)[0]
    assert value == pytest.approx(correlate(reached)[0])


def test_points_of_no_width_through_the_first_harmonic_are_the_papers_atoms(rng):
    from qckm.decoding.model.sketch_model import FirstHarmonicModel

    op = qckm.SketchOperator.draw(3, 30, scale=2.0, signature="exponential", random_state=1)
    sketch = op.sketch(rng.normal(size=(200, 3)))
    wide, paper = SketchModel.of(sketch), FirstHarmonicModel.of(sketch)
    points = rng.normal(size=(4, 3))
    measured = loops().atoms(wide.waves, points, np.zeros(4), np.zeros((4, 0, 3)))[:, :, : op.n_frequencies]
    np.testing.assert_allclose(measured.reshape(4, -1), paper.atoms(points), atol=1e-9)


@pytest.mark.parametrize("dither", ["paired", "single"])
@pytest.mark.parametrize("signature", ["one-bit", "exponential", "modulo"])
def test_at_the_frequency_zero_only_weights_that_sum_to_one_fit(rng, signature, dither):
    op = qckm.SketchOperator.draw(3, 90, scale=2.0, signature=signature, dither=dither, random_state=1)
    model = SketchModel.of(op.sketch(rng.normal(size=(200, 3))))
    at_zero = loops().atoms(model.waves, rng.normal(size=(4, 3)), rng.random(4), rng.normal(size=(4, 1, 3)))[
        :, :, op.n_frequencies :
    ]
    assert at_zero.shape[2] == 3
    for atom in at_zero:
        np.testing.assert_allclose(atom, model.waves.z[:, op.n_frequencies :], atol=1e-9)
    assert model.energy == (model.waves.z[:, : op.n_frequencies] ** 2).sum()
