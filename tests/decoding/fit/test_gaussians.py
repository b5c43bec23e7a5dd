"""Derivatives of the fit of Gaussian clusters are those of its misfit, for every shape of covariances."""

import numpy as np
import pytest

import qckm
from qckm.decoding.fit.gaussians import Problem
from qckm.decoding.model.gaussian_model import Measured
from qckm.decoding.model.gaussian_shapes import Shape

SHAPES = {
    "full": Shape.full,
    "diag": Shape.diag,
    "spherical": lambda frequencies: Shape.spherical(frequencies, np.array([1.0, 2.0, 0.5])),
    "low rank": lambda frequencies: Shape.low_rank(frequencies, 2),
}


@pytest.mark.parametrize("dither", ["paired", "single"])
@pytest.mark.parametrize("name", SHAPES)
def test_derivatives(name, dither, rng):
    op = qckm.SketchOperator.draw(3, 40, 1.0, dither=dither, signature="modulo", random_state=0)
    measured = Measured.of(op.sketch(rng.normal(size=(500, 3))))
    shape = SHAPES[name](measured.frequencies)
    problem = Problem(measured, shape, 2)
    x = rng.normal(size=2 * (4 + shape.unknowns))
    gaussians = problem.unpack(x)
    left, atoms, along = problem.residual(gaussians)
    derivatives = problem.derivatives(gaussians, atoms, along)
    steps = 1e-6 * np.eye(x.size)
    numeric = [problem.residual(problem.unpack(x + e))[0] - problem.residual(problem.unpack(x - e))[0] for e in steps]
    np.testing.assert_allclose(derivatives, np.reshape(numeric, (x.size, -1)) / 2e-6, atol=1e-7)
    np.testing.assert_allclose(problem.gradient(gaussians, atoms, along, left), derivatives @ left.ravel(), atol=1e-10)


@pytest.mark.parametrize("name", ["full", "diag", "spherical"])
def test_entries_and_covariances_are_one(name, rng):
    shape = SHAPES[name](rng.normal(size=(3, 40)))
    entries = 1 + rng.random((2, shape.unknowns))
    covariances = shape.covariances(entries)
    np.testing.assert_allclose(shape.covariances(shape.entries(covariances)), covariances)
