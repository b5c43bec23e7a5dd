"""The linear algebra of the C core beside that of NumPy and SciPy. (test_same_floats.py: the same on every machine.)"""

import numpy as np
import pytest

from qckm.kernels import algebra, library, matrices
from qckm.kernels.matrices import Values


@pytest.fixture(params=["C", "NumPy"])
def either(request, monkeypatch):
    """The C core, and NumPy in its place."""
    if request.param == "NumPy":
        monkeypatch.setattr(library, "load", lambda: None)


@pytest.mark.parametrize(
    "left, right",
    [((1, 1), (1, 1)), ((3, 5), (5, 7)), ((17, 300), (300, 20)), ((1, 1000), (1000, 33)), ((100, 600), (600, 1)),
     ((5, 257), (257, 16)), ((9,), (9,)), ((9,), (9, 4)), ((4, 9), (9,)), ((0, 3), (3, 2)), ((2, 0), (0, 3))],
    ids=str,
)  # fmt: skip
def test_products(core, left, right, rng):
    a, b = rng.normal(size=left), rng.normal(size=right)
    found = algebra.product(a, b)
    assert found.shape == (a @ b).shape
    np.testing.assert_allclose(found, a @ b, atol=1e-11)
    np.testing.assert_array_equal(algebra.product(np.asfortranarray(a), b), found)


def test_products_of_what_does_not_fit_are_refused():
    with pytest.raises(ValueError, match="expected a second factor of 3 rows, got 4"):
        algebra.product(np.ones((2, 3)), np.ones((4, 2)))


def test_a_row_of_a_product_is_the_product_of_the_row(core, rng):
    """So that sharing rows out to threads changes nothing."""
    a, b = rng.normal(size=(13, 700)), rng.normal(size=(700, 21))
    whole = algebra.product(a, b)
    for row in range(13):
        np.testing.assert_array_equal(algebra.product(a[row], b), whole[row])


def test_threads_change_no_product(rng, monkeypatch):
    a, b = rng.normal(size=(51, 300)), rng.normal(size=(300, 20))
    table = Values(rng.integers(-9, 9, (301, 50)).astype(np.int16), 0.1)
    vectors, weights = rng.normal(size=(2, 50)), rng.normal(size=(2, 301))
    alone = algebra.product(a, b), table.times(vectors), table.times_rows(weights)
    for module, least in ((algebra, "_WORTH_THREADS"), (matrices, "_VALUES_WORTH_THREADS")):
        monkeypatch.setattr(module, least, 1)
        monkeypatch.setattr(module, "count_threads", lambda n_jobs: 5)
    for one, five in zip(alone, (algebra.product(a, b), table.times(vectors), table.times_rows(weights)), strict=True):
        np.testing.assert_array_equal(one, five)


@pytest.mark.parametrize("number", [np.float32, np.int16])
@pytest.mark.parametrize("shape", [(1, 1), (3, 9), (300, 70), (1025, 5)], ids=str)
def test_small_numbers_are_multiplied_as_doubles(either, number, shape, rng):
    matrix = (100 * rng.normal(size=shape)).astype(number)
    made, exact = Values(matrix, 0.25), 0.25 * matrix.astype(np.float64)
    vectors, weights = rng.normal(size=(3, shape[1])), rng.normal(size=(3, shape[0]))
    np.testing.assert_allclose(made.times(vectors), vectors @ exact.T, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(made.times_rows(weights), weights @ exact, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(made.squares(2), (exact[:, :2] ** 2).sum(axis=1), rtol=1e-12)


def test_small_numbers_want_vectors_of_their_length():
    with pytest.raises(ValueError, match="expected vectors of 4 numbers, got 5"):
        Values(np.ones((3, 4), np.float32)).times(np.ones((1, 5)))


def test_exponentials_and_logarithms_are_those_of_libm(core, rng):
    x = np.concatenate([200 * rng.normal(size=3000), rng.normal(size=3000), [0.0, 709.7, -708.0]])
    np.testing.assert_allclose(algebra.exp(x), np.exp(x), rtol=5e-16)
    y = np.concatenate(
        [np.exp(x[np.abs(x) < 600]), 1 + rng.normal(size=999) / 1e3, [5e-324, 1e-310, 2.3e-308, 1.7e308]]
    )
    np.testing.assert_allclose(algebra.log(y), np.log(y), rtol=5e-16, atol=1e-18)


def test_exponentials_and_logarithms_at_their_ends(core):
    np.testing.assert_array_equal(
        algebra.exp([710.0, 1e4, np.inf, -746.0, -1e9, -np.inf, np.nan, 0.0, -0.0]),
        [np.inf, np.inf, np.inf, 0, 0, 0, np.nan, 1, 1],
    )
    assert 0 < algebra.exp(-745.0) < 1e-322
    np.testing.assert_array_equal(
        algebra.log([0.0, -0.0, -1.0, -np.inf, np.inf, np.nan, 1.0]),
        [-np.inf, -np.inf, np.nan, np.nan, np.inf, np.nan, 0],
    )


def test_sines_and_cosines(core, rng):
    x = np.concatenate([4 * rng.normal(size=5000), np.arange(-8, 9) * np.pi / 4])
    np.testing.assert_allclose(algebra.sine(x), np.sin(x), rtol=0, atol=2e-13)
    np.testing.assert_allclose(algebra.cosine(x), np.cos(x), rtol=0, atol=2e-13)
    far = 1e6 * rng.normal(size=5000)
    np.testing.assert_allclose(algebra.sine(far), np.sin(far), rtol=0, atol=2e-9)
    assert np.isnan(algebra.sine([np.nan, np.inf])).all()


def test_functions_keep_the_shape_of_what_they_are_given(either):
    assert algebra.exp(0.0).shape == ()
    assert algebra.log(np.ones((2, 0, 3))).shape == (2, 0, 3)
    assert algebra.cosine([[0.0]]).tolist() == [[1.0]]


def test_softmax_of_any_size(either):
    for offset in (0.0, 1e5, -1e5):
        weights, normaliser = algebra.softmax(offset + np.array([0.0, np.log(3), -np.inf]))
        np.testing.assert_allclose(weights, [0.25, 0.75, 0], rtol=1e-9)
        assert normaliser == pytest.approx(offset + np.log(4), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 30, 100])
def test_systems_are_solved(either, n, rng):
    factor = rng.normal(size=(n, n + 2))
    matrix, right = factor @ factor.T, rng.normal(size=(n, 3))
    np.testing.assert_allclose(algebra.cholesky(matrix), np.linalg.cholesky(matrix), atol=1e-8)
    found = algebra.solve_positive(matrix, right)
    np.testing.assert_allclose(matrix @ found, right, atol=1e-7)
    np.testing.assert_allclose(algebra.solve_positive(matrix, right[:, 1]), found[:, 1], rtol=1e-12)


@pytest.mark.parametrize("matrix", [[[1.0, 2.0], [2.0, 1.0]], [[0.0]], [[np.nan]], [[np.inf]]], ids=str)
def test_what_is_not_positive_definite_is_refused(core, matrix):
    with pytest.raises(np.linalg.LinAlgError):
        algebra.cholesky(np.array(matrix))
