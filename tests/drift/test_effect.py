"""How large a drift is: at least which share of the rows has changed."""

import numpy as np
import pytest

import qckm

OP = qckm.SketchOperator.draw(3, 200, 2.0, "gaussian", random_state=0)


def window(seed, count, changed=0.0):
    """Rows of which a share is far away from where all rows usually are: the distance of the two laws is that share."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 3))
    rows[: int(changed * count)] += 8.0
    return rows


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.3])
def test_the_effect_is_the_share_of_rows_that_moved(share):
    """Twenty pairs of windows, seeds fixed: a normal error is beyond three deviations once in 370."""
    for seed in range(20):
        found = qckm.compare(OP.sketch(window([seed, 0], 20_000)), OP.sketch(window([seed, 1], 20_000, share)))
        assert found.effect <= share + 3 * found.effect_error  # it is a lower bound
        assert found.effect >= 0.8 * share - 3 * found.effect_error  # and not far below
        assert 0 < found.effect_error < 0.006


@pytest.mark.parametrize("signature", ["exponential", "triangle", "2-bit"])
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_other_signatures_bound_it_too(signature, dither):
    op = qckm.SketchOperator.draw(3, 200, 2.0, random_state=0, signature=signature, dither=dither)
    found = qckm.compare(op.sketch(window(0, 50_000)), op.sketch(window(1, 50_000, 0.2)))
    assert 0.1 < found.effect <= 0.2 + 3 * found.effect_error


def test_parts_that_differ_among_themselves_make_a_larger_error():
    rng = np.random.default_rng(0)
    walk = [OP.sketch(window([0, part], 1000) + rng.normal(size=3)) for part in range(16)]
    by_parts = qckm.compare(walk[:8], walk[8:])
    by_rows = qckm.compare(sum(walk[:8]), sum(walk[8:]))
    assert by_parts.effect_error > 3 * by_rows.effect_error
    assert by_parts.effect <= by_rows.effect


def test_windows_without_a_row_in_common_place_have_changed_altogether():
    found = qckm.compare(OP.sketch(np.zeros((1000, 3))), OP.sketch(np.full((1000, 3), 5.0)))
    assert found.effect == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, True, "0.1"])
def test_a_least_effect_is_a_share(wrong):
    sketch = OP.sketch(window(0, 100))
    with pytest.raises(qckm.errors.QckmError, match="min_effect between 0 and 1"):
        qckm.compare(sketch, sketch, min_effect=wrong)
