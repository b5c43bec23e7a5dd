"""No row changes a sketch by more than the formula says: searched for over every phase of every table."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qckm
from qckm.privacy.mechanisms import Sensitivity, gaussian, laplace, of_one_row

SIGNATURES = ("one-bit", "exponential", "2-bit", "3-bit", "triangle", "modulo")


def operator(signature, dither, n_frequencies=5, seed=0):
    return qckm.SketchOperator.draw(
        n_features=2, n_frequencies=n_frequencies, scale=1.0, signature=signature, dither=dither, random_state=seed
    )


@pytest.mark.parametrize("dither", ["paired", "single"])
@pytest.mark.parametrize("signature", SIGNATURES)
def test_the_formula_is_the_exhaustive_maximum_over_phases(signature, dither):
    op = operator(signature, dither)
    table = op.signature.table.astype(int)
    worst = np.zeros(3)
    for phase in range(4096):
        pair = [table[phase]] + [table[(phase + 1024) % 4096]] * (dither == "paired")
        worst = np.maximum(worst, [np.abs(pair).sum(), np.square(pair).sum(), np.abs(pair).max()])
    found = of_one_row(op)
    assert found == (5 * worst[0], 5 * worst[1], worst[2])


@pytest.mark.parametrize("signature", SIGNATURES)
@settings(max_examples=20, deadline=None)
@given(
    rows=st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=1, max_size=20), seed=st.integers(0, 99)
)
def test_no_row_moves_a_sketch_further(signature, rows, seed):
    op = operator(signature, "paired", seed=seed)
    bound = of_one_row(op)
    for row in rows:
        total = op.sketch([row]).total
        assert np.abs(total).sum() <= bound.l1
        assert (total**2).sum() <= bound.l2_squared
        assert np.abs(total).max() <= bound.largest


def test_the_numbers_of_the_issue():
    one_bit, tone = of_one_row(operator("one-bit", "paired", 50)), of_one_row(operator("exponential", "paired", 50))
    assert one_bit == (100, 100, 1)
    S = 32767
    assert tone.l1 / (50 * S) == pytest.approx(1.4143, abs=1e-4)
    assert np.sqrt(tone.l2_squared / 50) / S == pytest.approx(1.00004, abs=2e-5)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("counted", [True, False])
def test_noise_is_that_of_sums_and_count_together(rows, counted):
    """The count is multiplied by a weight that makes it a 64th of all that a row can change, and changes with it."""
    pytest.importorskip("opendp.prelude")
    one = Sensitivity(l1=64 * 5, l2_squared=64 * 9, largest=1)
    noise = gaussian(one, rows, counted, rho=0.5)
    assert noise.count_weight == 3
    assert noise.variance == pytest.approx(rows**2 * (64 * 9 + 9 * counted), rel=1e-6)  # the squared distance / 2ρ
    noise = laplace(one, rows, counted, epsilon=2.0)
    assert noise.count_weight == 5
    scale = rows * (64 * 5 + 5 * counted) / 2.0
    assert noise.variance == pytest.approx(1 / (2 * math.sinh(1 / scale / 2) ** 2), rel=1e-6)
    assert (noise.epsilon, noise.rho) == pytest.approx((2.0, 2.0))  # pure ε is ε²/2-zCDP
