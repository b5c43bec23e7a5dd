"""Products of signs: the same to the last bit with every instruction set, by NumPy, and in any number of threads."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qckm.kernels import library, matrices
from qckm.kernels.matrices import CompiledSigns, PortableSigns, pack_signs

SHAPES = [(1, 1), (5, 7), (33, 31), (32, 32), (31, 65), (100, 257), (300, 1023), (1500, 40)]


def bits_of(shape, rng):
    return rng.integers(0, 256, (shape[0], -(-shape[1] // 8)), np.uint8)


def written_out(bits, n_columns):
    return 1.0 - 2.0 * np.unpackbits(bits, axis=1, count=n_columns, bitorder="little")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_are_those_of_numpy_to_the_last_bit(core, shape, rng):
    bits = bits_of(shape, rng)
    for which in (None, rng.integers(0, shape[1], 1 + shape[1] // 3)):
        ours, twin = CompiledSigns.of_bits(bits, shape[1], which), PortableSigns.of_bits(bits, shape[1], which)
        for count, size in ((1, 1.0), (2, 1e-300), (3, 1e300), (2, 5e-324)):
            vectors = size * rng.normal(size=(count, twin.shape[1])) ** 3
            np.testing.assert_array_equal(ours.times(vectors), twin.times(vectors))
            weights = size * np.exp(3 * rng.normal(size=(count, twin.shape[0])))
            np.testing.assert_array_equal(ours.times_rows(weights), twin.times_rows(weights))


@given(st.integers(1, 700), st.integers(1, 700), st.integers(0, 2**32 - 1))
def test_products_are_as_near_as_sums_of_float32(n_rows, n_columns, seed):
    rng = np.random.default_rng(seed)
    bits = bits_of((n_rows, n_columns), rng)
    vector, matrix = rng.normal(size=n_columns), written_out(bits, n_columns)
    found = pack_signs(bits, n_columns).times(vector[np.newaxis])[0]
    bound = n_columns * 2.0**-30 * max(np.add.reduceat(np.abs(vector), np.arange(0, n_columns, 256)))
    np.testing.assert_allclose(found, matrix @ vector, rtol=0, atol=bound)


@pytest.mark.parametrize("numbers", [[2.0**-1074] * 300, [2.0**1000] * 300, [2.0**1023, 0.0, -1.0], [0.0] * 5, [-3.0]])
def test_numbers_of_any_size(core, numbers):
    bits = np.zeros((40, -(-len(numbers) // 8)), np.uint8)
    found = CompiledSigns.of_bits(bits, len(numbers), None).times(np.array([numbers]))
    np.testing.assert_array_equal(found, PortableSigns.of_bits(bits, len(numbers), None).times(np.array([numbers])))
    np.testing.assert_allclose(found, sum(numbers), rtol=1e-6, atol=2.0**-999)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_gives_nan_to_its_own_products_only(core, bad):
    vectors = np.ones((3, 10))
    vectors[1, 4] = bad
    for kind in (CompiledSigns, PortableSigns):
        found = kind.of_bits(np.zeros((5, 2), np.uint8), 10, None).times(vectors)
        assert np.isnan(found[1]).all()
        assert (found[[0, 2]] == 10).all()


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
def test_threads_change_nothing(n_threads, rng, monkeypatch):
    monkeypatch.setattr(matrices, "_WORTH_THREADS", 1)
    bits = bits_of((1003, 170), rng)
    made = pack_signs(bits, 170)
    vectors, weights = rng.normal(size=(3, 170)), rng.normal(size=(3, 1003))
    shared = dataclasses.replace(made, n_threads=n_threads) if library.load() else made
    twin = PortableSigns.of_bits(bits, 170, None)
    np.testing.assert_array_equal(shared.times(vectors), twin.times(vectors))
    np.testing.assert_array_equal(shared.times_rows(weights), twin.times_rows(weights))


def test_no_vectors_have_no_products():
    made = pack_signs(np.zeros((5, 2), np.uint8), 10)
    assert made.times(np.empty((0, 10))).shape == (0, 5)
    assert made.times_rows(np.empty((0, 5))).shape == (0, 10)


def test_vectors_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"expected vectors of 10 numbers, got 9|mismatch"):
        pack_signs(np.zeros((5, 2), np.uint8), 10).times(np.ones((1, 9)))
