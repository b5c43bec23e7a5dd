"""The laws every sketch must obey, whatever its operator, and whoever computes it."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

import qckm
from qckm.operator.laws import LAWS
from qckm.operator.signatures import SIGNATURES
from qckm.sketch import files


@st.composite
def operators(draw, signature=None):
    """An operator of any signature, dither, law, shape and origin."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 20))
    seed = draw(st.integers(0, 2**32 - 1))
    return qckm.SketchOperator.draw(
        n_features=n,
        n_frequencies=m,
        scale=draw(st.sampled_from([0.01, 0.7, 1.0, 4.0, 1000.0])),
        law=draw(st.sampled_from(sorted(LAWS))),
        signature=signature or draw(st.sampled_from(sorted(SIGNATURES))),
        dither=draw(st.sampled_from(["paired", "single"])),
        origin=np.random.default_rng(seed).normal(size=n) * draw(st.sampled_from([0.0, 1.0, 1e6])),
        random_state=seed,
    )


@st.composite
def rows_for(draw, operator, max_rows=40):
    """Rows around the operator's origin, some of them far outside what it can code."""
    count, seed = draw(st.integers(0, max_rows)), draw(st.integers(0, 2**32 - 1))
    spread = draw(st.sampled_from([0.1, 1.0, 50.0])) * operator.scale
    X = operator.origin + spread * np.random.default_rng(seed).standard_normal((count, operator.n_features))
    return X.astype(draw(st.sampled_from([np.float32, np.float64])))


def check_identical(one, other):
    """Whether sums, counts and notes are all equal, to the last bit; bounds as far as a file keeps them."""
    assert one == other
    assert one.total.dtype == other.total.dtype
    assert (one.count, one.saturated) == (other.count, other.saturated)
    np.testing.assert_array_equal(one.coded_bounds, other.coded_bounds)
    assert files.dumps(one) == files.dumps(other)


def check_merging(operator, A, B, C):
    a, b, c = operator.sketch(A), operator.sketch(B), operator.sketch(C)
    check_identical(a + b, b + a)
    check_identical((a + b) + c, a + (b + c))
    check_identical(a + operator.empty(), a)
    check_identical(a + b, operator.sketch(np.concatenate([A, B])))
    assert (a + b) - b == a
    check_identical(((a + b) - b).without_bounds(), a.without_bounds())
    check_identical(a - a, operator.empty())


def check_batches(operator, X, sizes=(1, 7, 8192)):
    whole = operator.sketch(X)
    for size in sizes:
        parts = (X[start : start + size] for start in range(0, len(X), size))
        check_identical(qckm.sketch_batches(operator, parts), whole)


def check_weights_are_repeats(operator, X, weights):
    """A note says that there were weights, for privacy's sake; all else is equal."""
    weighted = operator.sketch(X, weights)
    assert weighted.weighted == weighted.count
    check_identical(replace(weighted, weighted=0), operator.sketch(np.repeat(X, weights, axis=0)))


def check_bits(operator, X):
    bits = operator.encode(X)
    assert bits.shape == (len(X), -(-operator.n_measurements // 8))
    assert operator.pool(bits) == operator.sketch(X)
