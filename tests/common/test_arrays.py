"""Wide numbers, of two words: Python's own integers are the truth."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from qckm.common.arrays import add_shifted, add_wide, integers_of, is_wide

NUMBERS = st.integers(-(2**92), 2**92)


def of(number):
    """Return one number of two words."""
    return np.array([[number >> 32], [number & (2**32 - 1)]], np.int64)


@given(NUMBERS, NUMBERS)
def test_sums_and_differences_carry(a, b):
    assert integers_of(of(a)) == [a]
    assert integers_of(add_wide(of(a), of(b))) == [a + b]
    assert integers_of(add_wide(of(a), -of(b))) == [a - b]
    assert is_wide(add_wide(of(a), -of(b)), 1)


@given(NUMBERS, st.integers(-(2**50), 2**50), st.integers(0, 40))
def test_values_are_added_times_a_power_of_two(a, value, shift):
    found = add_shifted(of(a), np.array([value]), shift)
    assert integers_of(found) == [a + (value << shift)]
    assert is_wide(found, 1)
