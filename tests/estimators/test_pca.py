"""CompressivePCA: the directions that rows vary in come back."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import check_estimator

import qckm
from qckm.errors import DecodeError, PoorFitWarning, RowsError, SaturationWarning
from qckm.kernels.reference import code_rows


def rows_of(count=8000, n=6, seed=0):
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(n, 2)))[0] * [3.0, 2.0]
    return rng.normal(size=(count, 2)) @ axes.T + 0.4 * rng.normal(size=(count, n)) + 10


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks():
    check_estimator(qckm.CompressivePCA(random_state=0))


def angle(one, other):
    """Return the sine of the largest angle between two spaces, of rows."""
    return np.sin(subspace_angles(one.T, other.T).max())


@pytest.mark.parametrize("name", ["one-bit", "exponential"])
def test_components_of_merged_sketches_are_those_of_all_rows_to_the_last_digit(name):
    X = np.round(rows_of() * 64) / 64  # rows that are coded as they are
    operator = qckm.SketchOperator.draw(6, 20, 8.0, signature=name, origin=np.full(6, 10.0), random_state=0)
    merged = sum(operator.sketch(part) for part in np.array_split(X, 7))
    found, exact = qckm.CompressivePCA(2).fit_sketch(merged - operator.sketch(X[:0])), PCA(2).fit(X)
    assert found.source_ == "columns"
    assert found.converged_
    assert angle(found.components_, exact.components_) < 1e-12
    np.testing.assert_allclose(found.mean_, exact.mean_, rtol=1e-13)
    np.testing.assert_allclose(found.explained_variance_, exact.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(found.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=1e-12)


def test_the_components_of_digits_are_exact():
    X = load_digits().data
    found = qckm.CompressivePCA(3, random_state=0).fit(X)
    assert found.source_ == "columns"
    assert angle(found.components_, PCA(3).fit(X).components_) < 1e-6


def test_clipped_rows_are_told():
    X = np.vstack([rows_of(), np.full((1, 6), 1e9)])
    sketch = qckm.SketchOperator.draw(6, 100, 8.0, origin=np.full(6, 10.0), random_state=0).sketch(X)
    with pytest.warns(SaturationWarning):
        found = qckm.CompressivePCA(2).fit_sketch(sketch)
    assert not found.converged_


def without_products(X, **options):
    """Fit to a sketch that knows nothing of its columns: what sensors send."""
    fitted = qckm.CompressivePCA(2, random_state=0, **options).fit(X)
    again = qckm.CompressivePCA(2, random_state=0, **options)
    return again.fit_sketch(fitted.sketch_.without_column_sums())


@pytest.mark.parametrize("signature", ["one-bit", "exponential"])
def test_components_are_fitted_where_columns_are_not_known(signature):
    X = rows_of()
    found, exact = without_products(X, signature=signature), PCA(2).fit(X)
    assert found.converged_
    assert found.source_ == "gaussian"
    assert angle(found.components_, exact.components_) < found.sine_high_ < 0.1
    assert np.linalg.svd(found.components_ @ exact.components_.T)[1].min() > 0.999
    np.testing.assert_allclose(found.mean_, exact.mean_, atol=0.1)
    np.testing.assert_allclose(found.explained_variance_, exact.explained_variance_, rtol=0.05)
    np.testing.assert_allclose(found.explained_variance_ratio_, exact.explained_variance_ratio_, atol=0.02)


def test_directions_of_one_variance_are_not_to_be_told_and_flagged():
    X = np.random.default_rng(0).normal(size=(3000, 6))
    with pytest.warns(PoorFitWarning, match="turned"):
        found = without_products(X)
    assert found.sine_high_ > 0.5


def test_rows_of_clusters_say_how_far_off_they_may_be():
    rng = np.random.default_rng(0)
    X = rows_of(20_000) + 12 * rng.integers(0, 2, size=(20_000, 1)) * np.eye(6)[0]
    sketch = qckm.CompressivePCA(2, random_state=0).fit(X).sketch_.without_column_sums()
    found = qckm.CompressivePCA(2, random_state=0).fit_sketch(sketch, rows=X[:3000])
    assert found.source_ == "rows"
    assert angle(found.components_, PCA(2).fit(X).components_) < found.sine_high_ < 0.1


def test_rows_there_and_back():
    X = rows_of()
    found = qckm.CompressivePCA(2, random_state=0).fit(X)
    back = found.inverse_transform(found.transform(X))
    assert ((back - X) ** 2).mean() < 0.4**2
    with pytest.raises(RowsError, match="2 column"):
        found.inverse_transform(X)


def test_a_stream_and_a_sketch_give_the_same():
    X = rows_of()
    stream = qckm.CompressivePCA(2, random_state=0).partial_fit(X[:4000]).partial_fit(X[4000:])
    alone = qckm.CompressivePCA(2, random_state=0).fit_sketch(stream.sketch_)
    np.testing.assert_allclose(np.abs((stream.components_ * alone.components_).sum(axis=1)), 1, atol=1e-3)


def test_too_few_frequencies_are_refused_or_flagged():
    X = rows_of()
    with pytest.raises(DecodeError, match="unknowns"):
        assert without_products(X, n_frequencies=10).converged_
    with pytest.warns(PoorFitWarning):
        assert not without_products(X, n_frequencies=20).converged_


def test_more_components_than_columns_are_refused():
    with pytest.raises(RowsError, match="n_components"):
        qckm.CompressivePCA(7).fit(rows_of(100))


def test_one_row_has_no_variance():
    with pytest.raises(DecodeError, match=r"one row .* has no variance"):
        qckm.CompressivePCA(random_state=0).fit(np.ones((1, 3)))


def test_columns_are_standardised_after_the_fact():
    X = np.random.default_rng(0).normal(size=(3000, 4)) @ np.diag([1.0, 10.0, 100.0, 0.5]) + [[1], [2]] * 1500
    sketch = qckm.CompressivePCA(2, random_state=0).fit(X).sketch_
    found = qckm.CompressivePCA(2, standardize=True).fit_sketch(sketch)
    codes = code_rows(X, sketch.operator.steps, sketch.operator.origin)[0] * sketch.operator.steps
    deviations = codes.std(axis=0, ddof=1)
    expected = PCA(2).fit(codes / deviations)
    np.testing.assert_allclose(found.deviations_, deviations)
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_)
    np.testing.assert_allclose(found.explained_variance_ratio_, expected.explained_variance_ratio_)
    np.testing.assert_allclose(np.abs((found.components_ * expected.components_).sum(axis=1)), 1)
    whole = qckm.CompressivePCA(4, standardize=True).fit_sketch(sketch)
    np.testing.assert_allclose(whole.inverse_transform(whole.transform(X)), X)
