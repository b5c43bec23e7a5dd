"""The laws of checks.py, over random operators and rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qckm
from checks import check_batches, check_bits, check_merging, check_weights_are_repeats, operators, rows_for
from qckm.errors import MergeError


@given(st.data())
def test_merging_commutes_associates_and_is_undone_by_subtracting(data):
    operator = data.draw(operators())
    check_merging(operator, *(data.draw(rows_for(operator)) for _ in range(3)))


@given(st.data())
def test_batches_do_not_matter(data):
    operator = data.draw(operators())
    check_batches(operator, data.draw(rows_for(operator)))


def test_batches_do_not_matter_for_many_rows(rng):
    operator = qckm.SketchOperator.draw(n_features=12, n_frequencies=100, scale=3.0, random_state=0)
    check_batches(operator, rng.normal(size=(20_000, 12)), sizes=(7, 8192))


@given(st.data())
def test_whole_weights_are_repeats(data):
    operator = data.draw(operators())
    X = data.draw(rows_for(operator))
    weights = np.random.default_rng(data.draw(st.integers(0, 1000))).integers(0, 5, len(X))
    check_weights_are_repeats(operator, X, weights)
    check_weights_are_repeats(operator, X, weights.astype(np.int32))
    assert operator.sketch(X, weights.astype(float)) == operator.sketch(X, weights)


@given(st.data())
def test_bits_pool_to_the_sketch(data):
    operator = data.draw(operators(signature="one-bit"))
    check_bits(operator, data.draw(rows_for(operator)))


@given(st.data())
def test_equal_values_of_float32_and_float64_give_equal_sketches(data):
    operator = data.draw(operators())
    X = data.draw(rows_for(operator)).astype(np.float32)
    assert operator.sketch(X) == operator.sketch(X.astype(np.float64))


@given(operators(), operators())
def test_a_foreign_operator_is_refused(one, other):
    if one.fingerprint == other.fingerprint:
        return
    for verb in ("__add__", "__sub__"):
        with pytest.raises(MergeError, match="different operators"):
            getattr(one.empty(), verb)(other.empty())
