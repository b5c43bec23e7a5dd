import hashlib
import math

import numpy as np
import pytest

import qckm
from qckm.errors import SignatureError
from qckm.operator.signatures import SIGNATURES, Signature, get, multi_bit

ANGLES = 2 * np.pi * (np.arange(4096) + 0.5) / 4096


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_built_in_signatures_are_signatures(name):
    signature = get(name)
    assert signature.name == name
    assert signature.table.shape == (4096,)
    assert signature.table.dtype == np.int16
    assert np.abs(signature.table).max() <= signature.full_scale
    assert abs(signature.harmonics[0]) < 1e-12
    assert signature.amplitude > 0.1


@pytest.mark.parametrize(
    "name, function",
    [
        ("one-bit", lambda t: np.sign(np.cos(t))),
        ("triangle", lambda t: 1 - 2 * np.abs((t + np.pi) % (2 * np.pi) - np.pi) / np.pi),
        ("modulo", lambda t: t / np.pi - 1),
    ],
)
def test_all_entries_of_a_table(name, function):
    signature = get(name)
    np.testing.assert_array_equal(signature.table, np.rint(signature.full_scale * function(ANGLES)))


def test_all_entries_of_the_integer_cosine():
    """The polynomial stays within two units of the cosine, is exactly symmetric, and defines the table for good."""
    table = get("exponential").table.astype(int)
    assert np.abs(table - 32767 * np.cos(ANGLES)).max() < 1.35
    np.testing.assert_array_equal(table, table[::-1])
    np.testing.assert_array_equal(table, -np.roll(table, 2048))
    digest = hashlib.sha256(get("exponential").table.astype("<i2").tobytes()).hexdigest()
    assert digest == "9bbb043348b828c8c0981774bf5135fc12e8b0cb5ff677074df3028038f445c4"
    assert get("exponential").is_pure_tone


def test_one_bit_harmonics_are_those_of_the_square_wave():
    """F_h = (2/πh)(−1)^((h−1)/2) for odd h, 0 for even; 2|F₁| = 4/π, not the 2.22 of a public toolbox."""
    harmonics = get("one-bit").harmonics
    h = np.arange(1, 41)
    expected = np.where(h % 2 == 1, 2 / (np.pi * h) * (-1.0) ** ((h - 1) // 2), 0)
    np.testing.assert_allclose(harmonics[h], expected, atol=1e-14)
    assert get("one-bit").amplitude == pytest.approx(4 / np.pi)


def test_harmonics_of_the_sawtooth_and_the_triangle():
    h = np.arange(1, 20)
    np.testing.assert_allclose(get("modulo").harmonics[h], 1j / (np.pi * h), atol=1e-4)
    np.testing.assert_allclose(get("triangle").harmonics[h], np.where(h % 2 == 1, 4 / (np.pi * h) ** 2, 0), atol=1e-4)


@pytest.mark.parametrize("bits", range(1, 9))
def test_multi_bit_has_its_levels_and_starts_like_one_bit(bits):
    signature = multi_bit(bits)
    levels = np.unique(signature.table) / signature.full_scale
    np.testing.assert_allclose(levels, np.linspace(-1, 1, 2**bits), atol=1e-4)
    assert signature(np.nextafter(-np.pi / 2, 0) + 1e-3) == pytest.approx(1.0)


@pytest.mark.parametrize("bits", [0, 9, -1])
def test_multi_bit_refuses_other_numbers_of_bits(bits):
    with pytest.raises(SignatureError, match="1 to 8 bits"):
        multi_bit(bits)


def test_a_function_of_ones_own_vectorised_or_not():
    smooth = Signature.from_function(lambda t: (np.cos(t) + 0.3 * np.sin(2 * t)) / 1.3)
    assert smooth.harmonics[1] == pytest.approx(0.5 / 1.3, abs=1e-4)
    assert smooth.harmonics[2] == pytest.approx(-0.15j / 1.3, abs=1e-4)
    np.testing.assert_array_equal(get(lambda t: math.cos(t) ** 3).table, get(lambda t: np.cos(t) ** 3).table)


@pytest.mark.parametrize(
    "function, reason",
    [
        (lambda t: np.cos(t) + 0.1, "in \\[-1, 1\\]"),
        (lambda t: 0.5 * np.cos(t) + 0.1, "centred"),
        (lambda t: np.cos(2 * t), "F₁ = 0"),
        (lambda t: 0 * t, "F₁ = 0"),
        (lambda t: np.where(t < 3, np.nan, 1.0), "finite"),
        (lambda t: 2.0 * (np.floor(t / (2 * np.pi)) % 2) - 1, "period 2π"),  # the paper's printed quantiser
        (lambda t: np.exp(1j * t), "real numbers"),
        (lambda t: "high", "real numbers"),
        (lambda t: t[:7], "real numbers"),
    ],
)
def test_what_is_no_signature_is_refused_with_a_reason(function, reason):
    with pytest.raises(SignatureError, match=reason):
        get(function)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(SignatureError, match="triangle"):
        get("sine")


def test_only_the_exponential_pair_goes_without_dither():
    draw = lambda **how: qckm.SketchOperator.draw(2, 10, scale=1.0, random_state=0, **how)  # noqa: E731
    assert not draw(signature="exponential").phases.any()
    assert draw(signature="exponential", dither="single").phases.all()
    assert draw(signature="one-bit").phases.all()
