"""The arithmetic, step by step, on numbers worked out by hand or by Python's own unbounded integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from qckm.kernels import reference


def test_codes_round_to_even_and_clip():
    X = np.array([[0.5, 1.5], [-0.5, 2.5], [1e300, -1e300], [32767.4, 0.0], [32768.0, 0.0]])
    codes, clipped = reference.code_rows(X, np.array([1.0, 1.0]), np.array([0.0, 0.0]))
    assert codes.tolist() == [[0, 2], [0, 2], [32767, -32767], [32767, 0], [32767, 0]]
    assert clipped.tolist() == [False, False, True, False, True]


def test_codes_count_from_the_origin_in_steps():
    codes, _ = reference.code_rows(np.array([[1e6 + 0.75]]), np.array([0.25]), np.array([1e6]))
    assert codes.tolist() == [[3]]


def test_a_value_that_overflows_when_divided_is_clipped_like_any_other():
    codes, clipped = reference.code_rows(np.array([[1e308]]), np.array([2.0**-30]), np.array([0.0]))
    assert codes.tolist() == [[32767]]
    assert clipped.all()


@given(st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_the_float64_product_is_exact(n, seed):
    """At the extremes of int16, against unbounded integers."""
    rng = np.random.default_rng(seed)
    extremes = np.array([-32767, -32766, -1, 0, 1, 32766, 32767], np.int16)
    codes, frequencies = rng.choice(extremes, (3, n)), rng.choice(extremes, (n, 4))
    dither = rng.integers(0, 2**24, 4).astype(np.int32)
    phases = reference.project(codes, frequencies, dither)
    for i in range(3):
        for j in range(4):
            exact = sum(int(q) * int(w) for q, w in zip(codes[i], frequencies[:, j], strict=True)) + int(dither[j])
            assert phases[i, j] == exact % 2**24


def test_one_bit_is_bit_23_of_the_phase_a_quarter_turn_on():
    from qckm.operator.signatures import get

    phases = np.random.default_rng(0).integers(0, 2**24, (1, 100_000))
    measured = reference.measure(phases, get("one-bit").table, paired=True)
    quarter = 1 << 22
    for k, half in enumerate(np.split(measured[0], 2)):
        bit = ((phases[0] + (k + 1) * quarter) >> 23) & 1
        np.testing.assert_array_equal(half, 1 - 2 * bit)


def test_bits_are_packed_little_bit_first():
    contributions = np.array([[1, -1, 1, 1, 1, 1, 1, 1, -1]], np.int16)
    assert reference.pack_bits(contributions).tolist() == [[0b10, 0b1]]


def test_no_rows_have_no_phases():
    signs = np.ones((2, 3, 128), np.int8)
    assert reference.mix(np.empty((0, 5), np.int16), signs, np.ones(5, np.int32), 200).shape == (0, 200)
