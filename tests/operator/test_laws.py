from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

import qckm
from qckm.errors import OperatorError
from qckm.operator.laws import LAWS, draw_frequencies

N_DRAWN = 20_000


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("n", [1, 3, 20])
def test_scale_means_the_same_for_every_law(law, n):
    omega = draw_frequencies(n, N_DRAWN, 2.5, law, np.random.default_rng(1))
    squares = (omega**2).sum(axis=0)
    # sqrt(n / E‖ω‖²) = 2.5, within five standard errors of the mean: a false alarm in 10⁶.
    assert abs(squares.mean() - n / 2.5**2) < 5 * squares.std() / np.sqrt(N_DRAWN)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_gaussian_law_is_a_gaussian(n):
    omega = draw_frequencies(n, N_DRAWN, 2.0, "gaussian", np.random.default_rng(2))
    for component in omega:
        assert kstest(2.0 * component, "norm").pvalue > 1e-4


def test_folded_gaussian_radii_are_folded_gaussians():
    omega = draw_frequencies(5, N_DRAWN, np.sqrt(5), "folded-gaussian", np.random.default_rng(3))
    assert kstest(np.linalg.norm(omega, axis=0), "halfnorm").pvalue > 1e-4


def test_adapted_radius_has_the_density_of_the_paper():
    law = LAWS["adapted-radius"]
    density = lambda r: np.sqrt(r**2 + r**4 / 4) * np.exp(-(r**2) / 2)  # noqa: E731
    mass = quad(density, 0, 40)[0]
    assert law.mean_square(3) == pytest.approx(quad(lambda r: r**2 * density(r), 0, 40)[0] / mass, rel=1e-9)
    grid = np.linspace(0, 12, 4001)
    cumulative = np.concatenate([[0], np.cumsum([quad(density, a, b)[0] for a, b in pairwise(grid)])]) / mass
    radii = law.draw_radii(3, N_DRAWN, np.random.default_rng(4))
    assert kstest(radii, lambda r: np.interp(r, grid, cumulative)).pvalue > 1e-4


def test_concentrated_radii_are_close_to_each_other():
    norms = np.linalg.norm(draw_frequencies(3, N_DRAWN, 1.0, "concentrated-radius", np.random.default_rng(5)), axis=0)
    assert norms.std() / norms.mean() == pytest.approx(0.1, abs=0.01)


def test_a_law_of_ones_own():
    unit = qckm.Law("equal-radius", lambda n, m, rng: np.ones(m), lambda n: 1.0)
    op = qckm.SketchOperator.draw(4, 30, scale=2.0, law=unit, random_state=0)
    assert op.law == "equal-radius"
    np.testing.assert_allclose(np.linalg.norm(op.frequencies, axis=0), 1.0, rtol=1e-3)


def test_an_unknown_law_is_refused_with_the_known_ones():
    with pytest.raises(OperatorError, match="adapted-radius"):
        qckm.SketchOperator.draw(2, 2, scale=1.0, law="cauchy")
