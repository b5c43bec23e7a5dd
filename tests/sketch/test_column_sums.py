"""Sums of the columns beside a sketch: exact, whatever the partition, and there only where they are of all rows."""

from dataclasses import replace

import numpy as np
import pytest

import qckm
from qckm.common.arrays import add_wide, integers_of
from qckm.errors import MergeError, SketchError
from qckm.kernels.portable import PortableSketcher
from qckm.kernels.reference import code_rows
from qckm.sketch import files
from qckm.sketch.columns import ColumnSums


def operator(n=3, signature="one-bit"):
    """Return an operator of n columns."""
    return qckm.SketchOperator.draw(n, 20, scale=1.0, signature=signature, random_state=0)


def rows(count=1000, n=3, seed=0):
    """Return rows of which some are clipped."""
    return np.random.default_rng(seed).standard_t(1.5, (count, n)) * 10 + 5


def truth(op, X, weights=None):
    """Return Σq and Σq² of each column, as Python's integers."""
    codes = code_rows(X, op.steps, op.origin)[0].astype(object)
    weights = np.ones(len(X), object) if weights is None else np.asarray(weights).astype(object)
    return (weights @ codes).tolist(), (weights @ codes**2).tolist()


def covariances(op, X):
    """Return the covariances of rows as they are coded, as integers give them."""
    codes = code_rows(X, op.steps, op.origin)[0].astype(object)
    count = len(codes)
    found = count * (codes.T @ codes) - np.multiply.outer(codes.sum(axis=0), codes.sum(axis=0))
    return (found / count**2).astype(float) * np.multiply.outer(op.steps, op.steps)


def numbers(sketch):
    """Return the sums of a sketch."""
    return integers_of(sketch.column_sums.codes), integers_of(sketch.column_sums.squares)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 10, 15, 16, 33])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_they_are_the_sums_of_codes(n, dtype):
    op, X = operator(n), np.clip(rows(1234, n), -30000, 30000).astype(dtype)
    assert numbers(op.sketch(X)) == truth(op, X)


@pytest.mark.parametrize("most", [1, 3, 2**20, 2**40 - 1])
def test_whole_weights_count_rows_and_nothing_wraps(most):
    op, X = operator(), rows()
    weights = np.random.default_rng(1).integers(0, most, 1000, endpoint=True)
    assert numbers(op.sketch(X, weights)) == truth(op, X, weights)
    assert weights.sum() < 2**62
    found = PortableSketcher(op.measurement).sum(X, weights)
    assert ColumnSums(found.codes, found.squares, found.products) == op.sketch(X, weights).column_sums


@pytest.mark.parametrize("signature", ["exponential", "triangle"])
def test_any_partition_gives_the_same(signature):
    op, X = operator(signature=signature), rows()
    whole = op.sketch(X)
    assert sum(op.sketch(part) for part in np.array_split(X, 7)).column_sums == whole.column_sums
    assert (op.empty() + whole).column_sums == (whole + op.empty()).column_sums == whole.column_sums
    assert (whole - op.sketch(X[:400])).column_sums == op.sketch(X[400:]).column_sums
    assert (whole - whole).column_means is None


def test_means_and_variances_are_exact():
    X = np.random.default_rng(0).integers(0, 4, (999, 3)) / 4 + 100.0
    sketch = qckm.SketchOperator.draw(3, 20, scale=1.0, origin=np.full(3, 100.0), random_state=0).sketch(X)
    assert sketch.operator.steps.max() <= 0.25  # such rows are coded as they are
    np.testing.assert_allclose(sketch.column_means, X.mean(axis=0), rtol=1e-15)
    np.testing.assert_allclose(sketch.column_variances, X.var(axis=0), rtol=1e-13)


def test_they_are_of_all_rows_or_not_there():
    op, X = operator(), rows()
    whole, bits = op.sketch(X), op.pool(op.encode(X))
    assert whole == bits == whole.without_column_sums()
    assert bits.column_sums is bits.column_means is bits.column_variances is None
    assert (whole + bits).column_sums is (bits + whole).column_sums is (whole + whole - bits).column_sums is None
    assert op.sketch(X, np.full(len(X), 0.5)).column_sums is None


def test_a_release_has_none():
    op = qckm.SketchOperator.from_ranges([-9] * 3, [9] * 3, n_clusters=2, random_state=0)
    exact = op.sketch(rows().clip(-9, 9))
    released = qckm.privacy.release(exact, epsilon=1.0, delta=1e-6)
    assert exact.column_sums is not None
    assert released.column_sums is None
    assert "column sums" not in files.sizes(files.dumps(released))


def test_files_and_octaves_have_them():
    op, X = qckm.SketchOperator.draw(3, 20, scale=1.0, octaves=2, random_state=0), rows()
    loaded = files.loads(files.dumps(op.sketch(X)))
    assert loaded.column_sums == op.sketch(X).column_sums == loaded.octave(1).column_sums
    assert loaded.octave(1).column_sums == op.octave(1).sketch(X).column_sums


def test_rows_that_were_never_added_are_not_forgotten():
    op = qckm.SketchOperator.draw(1, 100, scale=0.5, random_state=0)
    low, high = op.sketch([[0.0], [2.0]]), op.sketch([[1.0]])
    with pytest.raises(MergeError, match="never added"):
        low - high


@pytest.mark.parametrize("change", [(0, 1, 0), (1, 1, -1), (1, 0, 10**9), (0, 0, 10**9)])
def test_sums_that_no_rows_have_are_refused(change):
    word, which, by = change
    op = operator()
    sums = op.sketch(rows()).column_sums
    parts = [sums.codes.copy(), sums.squares.copy()]
    parts[which][word, 0] = by if which or word else parts[which][word, 0] + 10**9
    if change == (0, 1, 0):
        parts[1][:, 0] = 0
    wrong = qckm.Sketch(
        *(getattr(op.sketch(rows()), name) for name in ("operator", "total", "count", "saturated", "bounds"))
    )
    object.__setattr__(wrong, "column_sums", ColumnSums(*parts))
    with pytest.raises(SketchError, match="columns"):
        files.dumps(wrong)


@pytest.mark.parametrize("n", [1, 2, 10, 64])
def test_covariances_are_those_of_the_rows_as_they_are_coded(n):
    op, X = operator(n), rows(777, n)
    whole = sum(op.sketch(part) for part in np.array_split(X, 5))
    np.testing.assert_allclose(whole.column_covariances, covariances(op, X), rtol=1e-14)
    np.testing.assert_allclose(np.diag(whole.column_covariances), whole.column_variances)
    left = whole - op.sketch(X[:300])
    np.testing.assert_allclose(left.column_covariances, covariances(op, X[300:]), rtol=1e-14)
    loaded = files.loads(files.dumps(whole))
    assert np.array_equal(loaded.column_covariances, whole.column_covariances)


def test_a_large_mean_costs_no_digits():
    X = np.random.default_rng(0).integers(0, 4, (999, 3)) / 4 + np.array([1.0, 2.0, 3.0])
    sketch = qckm.SketchOperator.draw(3, 20, scale=1.0, origin=np.full(3, -15.0), random_state=0).sketch(X)
    np.testing.assert_allclose(sketch.column_covariances, np.cov(X.T, ddof=0), rtol=1e-12, atol=1e-16)


def test_of_many_columns_and_without_them_there_are_no_products():
    assert operator(65).sketch(rows(100, 65)).column_covariances is None
    sketch = operator().sketch(rows())
    bare = sketch.without_products()
    assert bare == sketch
    assert bare.column_covariances is None
    assert np.array_equal(bare.column_means, sketch.column_means)
    assert (bare + sketch).column_covariances is None
    assert bare.without_column_sums().without_products().column_sums is None


@pytest.mark.parametrize("by", [1, 10**6, -(10**6)])
def test_products_that_no_rows_have_are_refused(by):
    op = operator(2)
    one = op.sketch([[1.0, 2.0]])
    words = one.column_sums.products.copy()
    words[1, 0] += by * 1000
    wrong = replace(one, column_sums=replace(one.column_sums, products=add_wide(words, np.zeros((2, 1), np.int64))))
    with pytest.raises(SketchError, match="columns"):
        wrong.require_consistent()


def test_huge_weights_do_not_wrap_products():
    op, X = operator(), np.full((3, 3), 1e6) * np.array([[1], [-1], [1]])  # codes at their limits
    weights = np.array([2**40 - 1, 2**40 - 1, 2**39])
    found = op.sketch(X, weights)
    assert integers_of(found.column_sums.products) == [32767**2 * int(weights.sum())] * 3
    slowly = PortableSketcher(op.measurement).sum(X, weights)
    assert ColumnSums(slowly.codes, slowly.squares, slowly.products) == found.column_sums
