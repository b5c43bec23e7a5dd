"""What rows contribute to a sketch, row by row, and the products with it."""

import numpy as np
import pytest

import qckm
from qckm.decoding.clouds.totals import contributions_of, measure


def rows(n_rows, seed=0):
    return 4 * np.random.default_rng(seed).normal(size=(n_rows, 3))


def draw(signature="one-bit", dither="paired", **more):
    return qckm.SketchOperator.draw(3, 80, scale=3.0, signature=signature, dither=dither, random_state=0, **more)


@pytest.mark.parametrize("signature", ["one-bit", "exponential", "triangle", "2-bit"])
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_contributions_add_up_to_the_sketch(signature, dither):
    op, X = draw(signature, dither), rows(3000)
    matrix = measure(op, X)
    np.testing.assert_allclose(matrix.mean(axis=0, dtype=float), op.sketch(X).values(), atol=1e-7)
    some = np.array([0, 5, 79])
    both = np.concatenate([some, some + 80]) if dither == "paired" else some
    np.testing.assert_array_equal(measure(op, X, some), matrix[:, both])


@pytest.mark.parametrize("signature", ["one-bit", "exponential"])
@pytest.mark.parametrize("kind", [{"frequencies": "structured"}, {"law": "seeded"}, {"octaves": 2}], ids=str)
def test_contributions_of_every_kind_of_operator(signature, kind):
    op, X = draw(signature, **kind), rows(500)
    matrix = measure(op, X)
    np.testing.assert_allclose(matrix.mean(axis=0, dtype=float), op.sketch(X).values(), atol=1e-7)
    m = op.n_frequencies
    np.testing.assert_array_equal(measure(op, X, np.array([7, 2])), matrix[:, [7, 2, m + 7, m + 2]])


def test_a_row_beyond_the_reach_of_its_codes_contributes_as_sketches_have_it():
    op = draw("exponential")
    X = np.array([[1e9, 0.0, -1e9]])
    np.testing.assert_allclose(measure(op, X)[0], op.sketch(X).values(), atol=1e-7)


@pytest.mark.parametrize("signature", ["one-bit", "exponential"])
@pytest.mark.parametrize("which", [None, np.array([3, 50, 4])], ids=["all", "some"])
def test_products_are_those_of_the_matrix(signature, which, rng):
    op, X = draw(signature), rows(700)
    columns = rng.normal(size=(700, 5)).astype(np.float32)
    made = contributions_of(op, X, which, columns)
    matrix = np.concatenate([measure(op, X, which), columns], axis=1).astype(np.float64)
    weights, direction = rng.random(700), rng.normal(size=matrix.shape[1])
    np.testing.assert_allclose(made.mean(weights), weights @ matrix, atol=1e-4)
    product, along = made.through(weights, direction)
    np.testing.assert_allclose(along, matrix @ direction, atol=1e-4)
    np.testing.assert_allclose(product, (weights * (matrix @ direction)) @ matrix, atol=1e-2)
    for count in (0, 7, matrix.shape[1] - 5, matrix.shape[1] - 2):
        np.testing.assert_allclose(made.squares(count), (matrix[:, :count] ** 2).sum(axis=1), rtol=1e-5)


def test_without_columns_there_is_nothing_beside_the_measurements():
    made = contributions_of(draw(), rows(10), None, np.empty((10, 0), np.float32))
    assert [part.shape for part in made.parts] == [(10, 160)]


def test_too_many_are_refused_before_any_is_made(monkeypatch):
    monkeypatch.setenv("QCKM_MEMORY", "1M")
    with pytest.raises(qckm.errors.DecodeError, match="Calibrating 8000000 rows by 160 measurements"):
        contributions_of(draw(), np.broadcast_to(0.0, (8_000_000, 3)))
