"""CompressivePCA: the directions that rows vary in come back."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import check_estimator

import qckm
from qckm.errors import DecodeError, PoorFitWarning, RowsError


def rows_of(count=8000, n=6, seed=0):
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(n, 2)))[0] * [3.0, 2.0]
    return rng.normal(size=(count, 2)) @ axes.T + 0.4 * rng.normal(size=(count, n)) + 10


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks():
    check_estimator(qckm.CompressivePCA(random_state=0))


@pytest.mark.parametrize("signature", ["one-bit", "exponential"])
def test_components_are_those_of_all_rows(signature):
    X = rows_of()
    found, exact = qckm.CompressivePCA(2, signature=signature, random_state=0).fit(X), PCA(2).fit(X)
    assert found.converged_
    assert found.source_ == "gaussian"
    assert np.linalg.svd(found.components_ @ exact.components_.T)[1].min() > 0.999
    np.testing.assert_allclose(found.mean_, exact.mean_, atol=0.1)
    np.testing.assert_allclose(found.explained_variance_, exact.explained_variance_, rtol=0.05)
    np.testing.assert_allclose(found.explained_variance_ratio_, exact.explained_variance_ratio_, atol=0.02)


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
        qckm.CompressivePCA(2, n_frequencies=10, random_state=0).fit(X)
    with pytest.warns(PoorFitWarning):
        assert not qckm.CompressivePCA(2, n_frequencies=20, random_state=0).fit(X).converged_


def test_more_components_than_columns_are_refused():
    with pytest.raises(RowsError, match="n_components"):
        qckm.CompressivePCA(7).fit(rows_of(100))


def test_one_row_has_no_variance():
    with pytest.raises(DecodeError, match=r"one row .* has no variance"):
        qckm.CompressivePCA(random_state=0).fit(np.ones((1, 3)))
