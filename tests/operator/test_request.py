"""What may be asked of an operator: the last value that is taken, and the first that is not."""

import re

import numpy as np
import pytest

from qckm.errors import OperatorError
from qckm.operator import request


@pytest.mark.parametrize("value", [1, np.int64(7), np.uint8(255)])
def test_counts_are_whole_numbers_from_one_on(value):
    count = request.as_count("m", value)
    assert (count, type(count)) == (int(value), int)


@pytest.mark.parametrize("value", [0, -3, 2.0, "2", None, True, np.True_, np.float64(2)])
def test_what_is_no_count_is_refused_by_name(value):
    with pytest.raises(OperatorError, match="Expected m to be a whole number >= 1"):
        request.as_count("m", value)


def test_one_number_is_meant_for_every_feature():
    assert request.per_feature("units", 2.5, 3, 1.0).tolist() == [2.5, 2.5, 2.5]
    assert request.per_feature("units", None, 3, 7.0).tolist() == [7.0, 7.0, 7.0]
    given = np.array([1.0, 2.0])
    array = request.per_feature("units", given, 2, 1.0)
    array[0] = 9.0  # a copy: it does not write through
    assert given.tolist() == [1.0, 2.0]


def test_numbers_by_feature_have_one_each_and_are_finite():
    with pytest.raises(OperatorError, match=r"units of shape \(3,\), got \(2,\)"):
        request.per_feature("units", [1.0, 2.0], 3, 1.0)
    for wrong in (np.nan, -np.inf):
        with pytest.raises(OperatorError, match="finite units"):
            request.per_feature("units", [1.0, wrong], 2, 1.0)


@pytest.mark.parametrize("name, check", [("units", request.as_units), ("steps", request.as_steps)])
def test_lengths_are_positive_and_their_squares_are_numbers(name, check):
    assert check(None, 2).tolist() == [1.0, 1.0]
    assert check([2.0**-498, 2.0**498], 2).tolist() == [2.0**-498, 2.0**498]
    for wrong in (2.0**-499, 2.0**499):
        with pytest.raises(OperatorError, match=re.escape(f"Expected {name} from 1e-150 to 1e+150, got {wrong}")):
            check([1.0, wrong], 2)
    for wrong in (0.0, -2.0):
        with pytest.raises(OperatorError, match=f"Expected {name}"):
            check([1.0, wrong], 2)


def test_units_need_not_be_powers_of_two_but_steps_must():
    assert request.as_units([0.3, 7.0], 2).tolist() == [0.3, 7.0]
    for wrong in (0.3, 0.75, np.nextafter(0.5, 1)):
        with pytest.raises(OperatorError, match="powers of two"):
            request.as_steps([1.0, wrong], 2)


@pytest.mark.parametrize("scale", [1e-150, 1e150, 1, np.float32(2.5)])
def test_a_scale_is_a_number(scale):
    found = request.as_scale(scale)
    assert (found, type(found)) == (float(scale), float)


@pytest.mark.parametrize("scale", [9e-151, 1.1e150, 0, -1.0, np.nan, np.inf, "1", None, True, [1.0]])
def test_what_is_no_scale_is_refused(scale):
    with pytest.raises(OperatorError, match="Expected a scale from 1e-150 to"):
        request.as_scale(scale)


def test_an_extent_may_be_nothing_but_not_less():
    assert request.as_extent([0.0, 3.0], 2).tolist() == [0.0, 3.0]
    with pytest.raises(OperatorError, match="extent >= 0"):
        request.as_extent([3.0, -1e-9], 2)


def test_names_are_as_many_different_strings():
    assert request.as_names(None, 2) is None
    assert request.as_names(["a", "b"], 2) == ("a", "b")
    for wrong in (["a"], ["a", "b", "c"], ["a", "a"], ["a", 1]):
        with pytest.raises(OperatorError, match="2 different feature names"):
            request.as_names(wrong, 2)


def test_phases_are_finite_and_one_a_frequency():
    assert request.per_frequency("phases", [1, 2], 2).tolist() == [1.0, 2.0]
    for wrong in ([1.0], [[1.0, 2.0]], [1.0, np.nan], 1.0):
        with pytest.raises(OperatorError, match=r"finite phases of shape \(2,\)"):
            request.per_frequency("phases", wrong, 2)


def test_an_origin_is_the_nearest_whole_number_of_steps():
    steps = np.array([0.25, 8.0])
    assert request.as_origin([0.3, -13.0], steps).tolist() == [0.25, -16.0]
    assert request.as_origin(None, steps).tolist() == [0.0, 0.0]


def test_an_origin_too_far_away_for_the_steps_is_refused():
    steps = np.array([2.0**-498])
    assert request.as_origin([1e150], steps).tolist() == [1e150]
    with pytest.raises(OperatorError, match="too far away"):
        request.as_origin([1e300], steps)


def test_the_power_of_two_below_is_exact_to_the_last_bit():
    powers = np.ldexp(1.0, np.arange(-1000, 1000, 7))
    np.testing.assert_array_equal(request.power_of_two_below(powers), powers)
    np.testing.assert_array_equal(request.power_of_two_below(np.nextafter(powers, np.inf)), powers)
    np.testing.assert_array_equal(request.power_of_two_below(np.nextafter(powers, 0)), powers / 2)
