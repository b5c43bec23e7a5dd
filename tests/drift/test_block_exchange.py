"""Rows that depend on their neighbours: windows in parts."""

import numpy as np
import pytest

import qckm
from qckm.errors import SketchError


@pytest.fixture(scope="module")
def op():
    return qckm.SketchOperator.draw(2, 50, 1.0, random_state=0)


def sessions(op, seed, count, shift=0.0, size=200):
    """Parts of rows that share a place of their own: far from independent."""
    rng = np.random.default_rng(seed)
    return [op.sketch(rng.normal(size=2) * 0.3 + shift + rng.normal(size=(size, 2))) for _ in range(count)]


def test_dependent_rows_are_false_alarms_until_they_come_in_parts(op):
    alone = parts = 0
    for seed in range(20):
        a, b = sessions(op, seed, 8), sessions(op, seed + 100, 8)
        alone += qckm.compare(sum(a), sum(b)).drifted
        parts += qckm.compare(a, b).drifted
    assert alone >= 15
    assert parts <= 4


def test_a_change_is_found_all_the_same(op):
    found = qckm.compare(sessions(op, 0, 10), sessions(op, 1, 10, shift=1.5))
    assert found.drifted
    assert (found.statistic_name, found.n_blocks) == ("blocks", (10, 10))
    assert "10 and 10 blocks" in found.summary()
    reference = np.random.default_rng(2).normal(size=(2000, 2)) * 1.05
    assert qckm.compare(sessions(op, 0, 10), sessions(op, 1, 10, shift=1.5), reference).drifted


def test_weights_of_any_kind_may_be_compared_in_parts(op):
    rng = np.random.default_rng(0)
    parts = [op.sketch(rng.normal(size=(100, 2)), sample_weight=rng.random(100)) for _ in range(10)]
    assert qckm.compare(parts[:5], parts[5:]).statistic_name == "blocks"


def test_one_window_may_be_compared_with_many(op):
    usual = sessions(op, 0, 30)
    assert qckm.compare(usual, sessions(op, 5, 1, shift=4.0)).pvalue == pytest.approx(1 / 31)


def test_too_few_or_uneven_parts_are_refused(op):
    with pytest.raises(SketchError, match="exchanged in 10 ways"):
        qckm.compare(sessions(op, 0, 3), sessions(op, 1, 3))
    with pytest.raises(SketchError, match="about as many rows"):
        qckm.compare(sessions(op, 0, 8), sessions(op, 1, 8, size=20))


def test_a_part_that_is_there_twice_is_refused(op):
    a, b = sessions(op, 0, 5), sessions(op, 1, 5)
    with pytest.raises(SketchError, match="in parts 2 and 8 of 10: was a file given twice"):
        qckm.compare(a, [*b[:2], a[1], *b[3:]])
