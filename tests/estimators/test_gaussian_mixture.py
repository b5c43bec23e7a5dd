"""CompressiveGaussianMixture: the mixture that rows were drawn from comes back, whatever the covariances."""

import pickle

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import check_estimator

import qckm
from qckm.errors import DecodeError, PoorFitWarning, RowsError
from qckm.models.gaussian_density import GaussianDensity

WEIGHTS, MEANS = np.array([0.7, 0.3]), np.array([[0.0, 0.0], [5.0, 2.0]])
COVARIANCES = {
    "spherical": np.array([1.0, 0.5]),
    "diag": np.array([[1.0, 0.3], [0.5, 2.0]]),
    "full": np.array([[[1.0, 0.6], [0.6, 0.9]], [[0.5, -0.3], [-0.3, 2.0]]]),
}


def rows_of(kind, count=8000, seed=0):
    return GaussianDensity(WEIGHTS, MEANS, COVARIANCES[kind]).sample(count, np.random.default_rng(seed))[0]


@pytest.fixture(scope="module")
def fitted():
    return qckm.CompressiveGaussianMixture(2, random_state=0).fit(rows_of("full"))


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks():
    check_estimator(qckm.CompressiveGaussianMixture(covariance_type="diag", random_state=0))


@pytest.mark.parametrize("kind", COVARIANCES)
@pytest.mark.parametrize("init", ["auto", "sketch"])
def test_the_mixture_comes_back(kind, init):
    found = qckm.CompressiveGaussianMixture(2, covariance_type=kind, init=init, random_state=0).fit(rows_of(kind))
    assert found.converged_
    np.testing.assert_allclose(found.weights_, WEIGHTS, atol=0.02)
    np.testing.assert_allclose(found.means_, MEANS, atol=0.15)
    np.testing.assert_allclose(found.covariances_, COVARIANCES[kind], atol=0.2)


def test_it_answers_as_scikit_learns_does(fitted):
    X, theirs = rows_of("full", 200, seed=1), fitted.to_sklearn()
    np.testing.assert_allclose(fitted.score_samples(X), theirs.score_samples(X))
    np.testing.assert_allclose(fitted.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(X), theirs.predict(X))
    assert fitted.score(X) == pytest.approx(theirs.score(X))


def test_samples_are_of_the_mixture(fitted):
    rows, which = fitted.sample(4000)
    np.testing.assert_allclose(np.bincount(which) / 4000, fitted.weights_, atol=0.03)
    np.testing.assert_allclose(rows[which == 0].mean(axis=0), fitted.means_[0], atol=0.1)
    with pytest.raises(RowsError, match="n_samples"):
        fitted.sample(0)


def test_batches_and_files_give_what_the_rows_give(fitted, tmp_path):
    X = rows_of("full")
    stream = qckm.CompressiveGaussianMixture(2, random_state=0)
    for batch in np.array_split(X[np.random.default_rng(0).permutation(len(X))], 3):
        stream.partial_fit(batch)
    np.testing.assert_allclose(stream.means_, fitted.means_, atol=0.1)
    fitted.sketch_.save(tmp_path / "all.qckm")
    alone = qckm.CompressiveGaussianMixture(2, random_state=0).fit_sketch(qckm.load(tmp_path / "all.qckm"))
    np.testing.assert_allclose(alone.means_, fitted.means_, atol=0.05)
    assert not len(pickle.loads(pickle.dumps(stream))._hints.rows)


def test_rows_that_dask_holds_are_labelled_alike(fitted):
    dask_array = pytest.importorskip("dask.array")
    X = rows_of("full", 500, seed=1)
    labels = fitted.predict(dask_array.from_array(X, chunks=(100, 2)))
    np.testing.assert_array_equal(labels.compute(scheduler="synchronous"), fitted.predict(X))


@pytest.mark.parametrize("signature", ["exponential", "modulo", "2-bit"])
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_every_signature_and_dither(signature, dither):
    op = qckm.SketchOperator.draw(2, 100, 2.0, signature=signature, dither=dither, random_state=0)
    X = rows_of("full")
    found = qckm.CompressiveGaussianMixture(2, random_state=0).fit_sketch(op.sketch(X), rows=X[:1000])
    assert found.converged_
    np.testing.assert_allclose(found.means_, MEANS, atol=0.25)


def test_rows_give_what_em_of_all_rows_gives_also_where_no_cluster_is_gaussian():
    rng = np.random.default_rng(0)
    long, beside = rng.uniform(-1, 1, (40_000, 2)) * [6, 1], rng.exponential(1, (40_000, 2))
    X = np.concatenate([long, beside + np.array([0, 3])])
    theirs = GaussianMixture(3, n_init=2, random_state=0).fit(X)
    found = qckm.CompressiveGaussianMixture(3, random_state=0).fit(X)
    assert found.score(X) > theirs.score(X) - 0.01
    assert 0 < found.excess_ < found.excess_high_ < 0.02
    assert found.converged_


def test_of_all_rows_nothing_is_lost():
    found = qckm.CompressiveGaussianMixture(2, random_state=0).fit(rows_of("full"))
    assert (found.excess_, found.excess_high_) == (0, 0)


def test_rows_unlike_those_that_were_sketched_are_left_aside():
    op = qckm.SketchOperator.draw(2, 100, 2.0, random_state=0)
    found = qckm.CompressiveGaussianMixture(2, random_state=0).fit_sketch(op.sketch(rows_of("full")), rows=np.eye(2))
    np.testing.assert_allclose(found.means_, MEANS, atol=0.15)


def test_few_rows_and_many_unknowns_are_flagged_without_rows():
    X = np.random.default_rng(0).normal(size=(300, 10)) * np.linspace(1, 2, 10)
    with pytest.warns(PoorFitWarning, match="much less likely"):
        found = qckm.CompressiveGaussianMixture(2, init="sketch", random_state=0).fit(X)
    assert found.excess_high_ > 0.2
    assert not found.converged_


def test_too_few_measurements_are_refused_with_the_number_needed():
    op = qckm.SketchOperator.draw(2, 10, 2.0, random_state=0)
    sketch = op.sketch(rows_of("full", 100))
    with pytest.raises(DecodeError, match=r"23 unknowns.*46 measurements.*n_frequencies >= 23"):
        qckm.CompressiveGaussianMixture(4).fit_sketch(sketch)


def test_bad_rows_are_refused():
    X = rows_of("full", 50)
    with pytest.raises(RowsError, match="n_samples=3 should be >= n_components=4"):
        qckm.CompressiveGaussianMixture(4).fit(X[:3])
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        qckm.CompressiveGaussianMixture(1).fit(X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("X", [np.ones((1, 2)), np.column_stack([np.arange(50.0), np.full(50, 3.0)])])
def test_one_row_and_a_constant_column_have_a_floor(X):
    found = qckm.CompressiveGaussianMixture(1, random_state=0).fit(X)
    assert (np.linalg.eigvalsh(found.covariances_[0]) > 0).all()
    assert np.isfinite(found.score(X))
