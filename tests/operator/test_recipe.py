"""Frequencies from a recipe: the same integers everywhere, of the law that was asked for."""

import numpy as np
import pytest
from scipy import stats

import qckm
from golden.twenty_operators import DIGEST, digest_of, twenty_operators
from qckm.errors import OperatorError
from qckm.operator.codes import Recipe, philox, quantiles


def test_philox_gives_its_published_vectors():
    ones = 2**32 - 1
    pi = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0x299F31D0A4093822)
    assert [int(word) for word in philox(ones, ones, ones, ones, 2**64 - 1)] == [
        *(0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)
    ]
    assert [int(word) for word in philox(*pi)] == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def test_one_digest_of_twenty_operators():
    operators = twenty_operators()
    assert len({op.fingerprint for op in operators}) == 20
    assert digest_of(operators) == DIGEST


def test_the_first_frequency_by_the_letter_of_the_specification():
    """In Python's own integers, which have no width to overflow."""
    from math import isqrt

    n, degrees, seed, gain, j = 5, 15, 2**40 + 9, 1000 << 16, 7
    table = quantiles().tolist()
    words = [int(word) for i in range(2) for word in philox(i, j, 0, 0, seed)]
    halves = [half for word in words[2:] for half in (word & 0xFFFF, word >> 16)]
    drawn = []
    for half in halves[:n]:
        c = half >> 7 & 255
        g = 2 * (table[c] + ((table[c + 1] - table[c]) * (2 * (half & 127) + 1) >> 8)) + 1
        drawn.append(-g if half >> 15 else g)
    c = words[0] >> 23 & 255
    z = table[c] + ((table[c + 1] - table[c]) * (words[0] >> 7 & 0xFFFF) >> 16)
    d = z * isqrt(2**33 // (9 * degrees)) + 2048 >> 12
    t = max(4096, 2**16 - 2**17 // (9 * degrees) + (-d if words[0] >> 31 else d))
    f = (t * isqrt(t << 16) >> 16) * isqrt(n << 40) // isqrt(sum(g * g for g in drawn) << 14)
    expected = [(gain * ((f * g + 4096) >> 13) + 2**31) >> 32 for g in drawn]
    recipe = Recipe(n, 20, seed, degrees, np.full(n, gain))
    assert recipe.frequencies()[:, j].tolist() == expected
    assert recipe.dither()[j] == words[1] >> 8


def test_a_frequency_is_known_without_the_others():
    many, few = (Recipe(10, m, 5, 30, np.full(10, 900 << 16)) for m in (500, 3))
    assert np.array_equal(many.frequencies()[:, :3], few.frequencies())
    assert np.array_equal(many.dither()[:3], few.dither())


@pytest.mark.parametrize("n", [3, 10, 40])
def test_norms_and_directions_are_those_of_the_law(n):
    op = qckm.SketchOperator.draw(n, 20_000, 2.0, "integer-balanced", random_state=n, frequencies="dense")
    norms = np.linalg.norm(op.frequencies, axis=0)
    assert stats.kstest(norms * 2 * np.sqrt(3), stats.chi(3 * n).cdf).statistic < 0.02
    assert np.sqrt(n / (norms**2).mean()) == pytest.approx(2, rel=0.01)
    directions = op.frequencies / norms
    assert np.abs(directions @ directions.T / 20_000 * n - np.eye(n)).max() < 0.1


def test_octaves_double_and_structured_ones_have_the_scale():
    op = qckm.SketchOperator.draw(4, 50, 1.0, "integer-balanced", octaves=3, random_state=0)
    assert (op.octaves, op.n_frequencies) == (3, 150)
    assert np.array_equal(op.frequency_codes[:, 50:], 2 * op.frequency_codes[:, :100])
    large = qckm.SketchOperator.draw(300, 1000, 2.0, "integer-balanced", random_state=0)
    assert large.arithmetic.endswith("structured")
    assert np.sqrt(300 / (large.frequencies**2).sum(axis=0).mean()) == pytest.approx(2, rel=0.02)


def test_what_does_not_fit_is_refused():
    with pytest.raises(OperatorError, match="smaller steps, or a larger scale"):
        qckm.SketchOperator.draw(2, 50, 1.0, "integer-balanced", steps=0.5, random_state=0)
    with pytest.raises(OperatorError, match="octaves"):
        Recipe(2, 5, 0, 6, np.ones(2, np.int64), octaves=2)
