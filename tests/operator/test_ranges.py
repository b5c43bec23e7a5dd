"""Operators from public ranges: what they reach, and that no row is needed."""

import numpy as np
import pytest

import qckm
from qckm.errors import OperatorError


@pytest.mark.parametrize("n, n_clusters", [(1, 1), (1, 50), (2, 5), (10, 10), (100, 3), (400, 20)])
def test_the_reach_is_one_to_two_times_the_ranges_where_frequencies_allow(n, n_clusters):
    op = qckm.SketchOperator.from_ranges(np.zeros(n), np.full(n, 7.0), n_clusters, 50, random_state=0)
    lower, upper = op.reach
    assert (lower <= 0).all()
    assert (upper >= 7 - op.steps).all()
    assert np.allclose(op.origin, 3.5, atol=op.steps.max())


def test_octaves_begin_with_clusters_that_fill_the_ranges():
    op = qckm.SketchOperator.from_ranges([0.0, 0.0], [1.0, 1.0], n_clusters=4, random_state=0)
    width = 1 / np.sqrt(12) / 2  # of each of four clusters, in one direction
    assert op.octaves == 5
    assert op.octave(0).scale == pytest.approx(width * np.sqrt(2) / 0.65)
    assert op.octave(4).scale == pytest.approx(op.octave(0).scale / 16)


def test_sketches_that_are_to_be_private_have_fewer_frequencies():
    alone, private = (
        qckm.SketchOperator.from_ranges([0, 0], [1, 1], 10, random_state=0, private=private).n_frequencies
        for private in (False, True)
    )
    assert (alone, private) == (4 * 400, 4 * 100)  # of four octaves


def test_units_of_ranges_count_columns_alike():
    wide = qckm.SketchOperator.from_ranges([0, 0], [1, 1000], 3, units=[1, 1000], random_state=0)
    assert wide.frequencies.std(axis=1) * [1, 1000] == pytest.approx(np.full(2, wide.frequencies[0].std()), rel=0.2)


def test_the_same_seed_gives_the_same_operator_and_ranges_travel(tmp_path):
    op, again = (qckm.SketchOperator.from_ranges([-1, 0], [1, 9], 3, random_state=5) for _ in range(2))
    assert op == again
    op.empty().save(tmp_path / "op.qckm")
    loaded = qckm.load(tmp_path / "op.qckm").operator
    assert loaded == op
    assert np.array_equal(loaded.ranges, op.ranges)


@pytest.mark.parametrize("lower, upper", [([0, 0], [1, 0]), ([0], [np.inf]), ([np.nan], [1]), ([0, 0], [1, 2, 3])])
def test_ranges_that_are_none_are_refused(lower, upper):
    with pytest.raises(OperatorError):
        qckm.SketchOperator.from_ranges(lower, upper, 3)
