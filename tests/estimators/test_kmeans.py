import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import qckm
from qckm import CompressiveKMeans
from qckm.errors import RemarkWarning, RowsError, SaturationWarning


@parametrize_with_checks([CompressiveKMeans(), CompressiveKMeans(signature="exponential")])
@pytest.mark.filterwarnings("ignore")  # scikit-learn's own checks fit degenerate data on purpose
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def clusters():
    rng = np.random.default_rng(5)
    labels = rng.integers(4, size=4000)
    return 6 * rng.normal(size=(4, 3))[labels] + rng.normal(size=(4000, 3)), labels


@pytest.fixture(scope="module")
def fitted(clusters):
    return CompressiveKMeans(4, random_state=0).fit(clusters[0])


def test_weights_are_the_shares_of_the_labels_also_where_clusters_are_no_gaussians():
    rng = np.random.default_rng(0)
    X = 6 * rng.choice(2, p=[0.8, 0.2], size=(20_000, 2)) + rng.exponential(size=(20_000, 2))
    km = CompressiveKMeans(6, random_state=0).fit(X)
    np.testing.assert_allclose(km.cluster_weights_, np.bincount(km.labels_, minlength=6) / len(X), atol=0.03)


def test_clipped_rows_are_told_once_also_with_centroids_to_begin_from(clusters):
    X = np.concatenate([clusters[0], [[1e9, 0, 0]]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CompressiveKMeans(4, init=X[:4], compute_labels=False, random_state=0).fit(X)
    assert [warning.category for warning in caught].count(SaturationWarning) == 1
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.filterwarnings("ignore::qckm.errors.PoorFitWarning")  # frequencies are low here: the verdict is careful
@pytest.mark.parametrize("init", ["auto", "sketch"])
def test_many_clusters_far_apart_in_few_columns_are_within_reach(rng, init):
    centers = 20 * np.arange(20)[:, np.newaxis]
    rows = centers[rng.integers(0, 20, 20_000)] + rng.normal(size=(20_000, 1))
    km = CompressiveKMeans(20, init=init, random_state=0).fit(rows)
    assert km.sketch_.saturated == 0
    assert km.explained_ > 0.95
    assert km.inertia_ < 1.05 * ((rows - 20 * np.rint(rows / 20)) ** 2).sum()


def test_the_pilot_is_kept_where_a_sketch_hardly_tells_one_division_from_another(rng):
    rows = rng.uniform(-1, 1, size=(60_000, 2))
    how = {"n_frequencies": 500, "law": "concentrated-radius", "scale": 0.12, "random_state": 0}
    km = CompressiveKMeans(50, **how).fit(rows)
    assert km.inertia_ < 1.1 * KMeans(50, n_init=1, random_state=0).fit(rows).inertia_


def test_it_clusters_like_kmeans(clusters, fitted):
    X, labels = clusters
    assert fitted.inertia_ < 1.05 * KMeans(4, n_init=5, random_state=0).fit(X).inertia_
    assert adjusted_rand_score(labels, fitted.labels_) > 0.9
    assert fitted.inertia_ == pytest.approx(((X - fitted.cluster_centers_[fitted.labels_]) ** 2).sum())
    assert fitted.score(X) == pytest.approx(-fitted.inertia_)
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    assert fitted.transform(X[:7]).shape == (7, 4)
    np.testing.assert_allclose(
        fitted.transform(X[:7]).min(axis=1) ** 2,
        ((X[:7] - fitted.cluster_centers_[fitted.labels_[:7]]) ** 2).sum(axis=1),
    )
    assert fitted.sketch_.count == 4000
    assert fitted.sketch_.operator is fitted.operator_


def test_batches_give_the_fit_of_all_rows(clusters):
    """The same operator and the same rows: the same sketch, whatever the batches, and so the same centroids."""
    X, _ = clusters
    one = CompressiveKMeans(4, random_state=0)
    one.partial_fit(X[:1000])
    for start in range(1000, 4000, 700):
        one.partial_fit(X[start : start + 700])
    assert one.sketch_ == one.operator_.sketch(X)
    two = CompressiveKMeans(4, random_state=0).partial_fit(X[:1000]).partial_fit(X[1000:])
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)


def test_partial_fit_decodes_when_asked(clusters):
    X, _ = clusters
    km = CompressiveKMeans(4, random_state=0).partial_fit(X[:2000])
    assert "_found" not in vars(km)
    before = km.cluster_centers_
    assert km.partial_fit(X[2000:]).sketch_.count == 4000
    assert not np.array_equal(km.cluster_centers_, before)
    assert not hasattr(km, "labels_")
    assert km.predict(X).shape == (4000,)


@pytest.mark.parametrize(
    "batch, weights",
    [
        ([[np.nan, 0, 0]], None),
        ([[0, np.inf, 0]], None),
        ([[0, 0]], None),
        ([["a", "b", "c"]], None),
        (np.empty((0, 3)), None),
        (np.zeros((2, 3)), [1.0, -1.0]),
        (np.zeros((2, 3)), [0.0, 0.0]),
        (np.zeros((2, 3)), [1.0]),
        (scipy.sparse.csr_array(np.ones((2, 3))), None),
    ],
)
def test_a_failed_partial_fit_changes_nothing(clusters, batch, weights):
    km = CompressiveKMeans(4, random_state=0).partial_fit(clusters[0])
    before, centers = km.sketch_, km.cluster_centers_
    with pytest.raises((ValueError, TypeError)):
        km.partial_fit(batch, sample_weight=weights)
    assert km.sketch_ is before
    assert km.cluster_centers_ is centers


def test_bad_values_are_named_by_row_and_column(clusters, fitted):
    X = clusters[0].copy()
    X[3210, 1] = np.nan
    for verb in (
        CompressiveKMeans(4).fit,
        CompressiveKMeans(4).partial_fit,
        fitted.predict,
        fitted.transform,
        fitted.score,
    ):
        with pytest.raises(RowsError, match="NaN at row 3210, column 1"):
            verb(X)


def test_too_few_rows():
    with pytest.raises(ValueError, match=r"n_samples=3 should be >= n_clusters=8"):
        CompressiveKMeans().fit(np.eye(3))
    with pytest.raises(ValueError, match="first batch sets the scale"):
        CompressiveKMeans().partial_fit(np.eye(3))
    assert CompressiveKMeans(scale=1.0).partial_fit(np.eye(3)).sketch_.count == 3


def test_one_row_one_cluster_and_constant_features():
    np.testing.assert_allclose(CompressiveKMeans(1, random_state=0).fit([[3.0, 4.0]]).cluster_centers_, [[3.0, 4.0]])
    X = np.column_stack([np.r_[np.zeros(50), np.ones(50)], np.full(100, 7.0)])
    centers = CompressiveKMeans(2, random_state=0).fit(X).cluster_centers_
    np.testing.assert_allclose(sorted(centers.tolist()), [[0, 7], [1, 7]], atol=0.05)


def test_more_clusters_than_distinct_rows_warns():
    with pytest.warns(ConvergenceWarning, match="distinct rows"), pytest.warns(RemarkWarning, match="2 distinct rows"):
        CompressiveKMeans(3, random_state=0).fit(np.repeat([[0.0, 0.0], [9.0, 9.0]], 10, axis=0))


def test_clipped_rows_are_reported(clusters):
    X = clusters[0].copy()
    X[0] = 1e9
    with pytest.warns(SaturationWarning, match=r"1 of 4000 rows"):
        CompressiveKMeans(4, random_state=0, scale=3.0).fit(X)


def test_huge_and_tiny_values(clusters):
    X, labels = clusters
    for factor in (1e-140, 1e140):
        km = CompressiveKMeans(4, random_state=0).fit(X * factor)
        assert adjusted_rand_score(labels, km.labels_) > 0.9
    for factor in (1e-300, 1e300):
        with pytest.raises(ValueError, match="Rescale the data"):
            CompressiveKMeans(4).fit(X * factor)


def test_a_large_offset_costs_nothing(clusters):
    X, labels = clusters
    assert adjusted_rand_score(labels, CompressiveKMeans(4, random_state=0).fit(X + 1e9).labels_) > 0.9


def test_every_container(clusters, fitted, tmp_path):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    X, names = clusters[0], ["a", "b", "c"]
    np.save(tmp_path / "X.npy", X)
    frame = pd.DataFrame(X, columns=names)
    for rows in (
        frame,
        pl.DataFrame(X, schema=names),
        pa.Table.from_pandas(frame),
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        X.tolist(),
    ):
        km = clone(fitted).fit(rows)
        assert km.sketch_ == fitted.sketch_
        np.testing.assert_array_equal(km.cluster_centers_, fitted.cluster_centers_)
    assert clone(fitted).fit(frame).feature_names_in_.tolist() == names
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        clone(fitted).fit(scipy.sparse.csr_array(X))


def test_integers_and_float32(clusters):
    X = (clusters[0] * 100).astype(np.int16)
    integers, floats = (CompressiveKMeans(4, random_state=0).fit(rows) for rows in (X, X.astype(np.float32)))
    assert integers.sketch_ == floats.sketch_
    np.testing.assert_array_equal(integers.labels_, floats.labels_)


def test_pandas_output_and_feature_names(clusters, fitted):
    km = clone(fitted).set_output(transform="pandas").fit(clusters[0])
    frame = km.transform(clusters[0][:3])
    assert frame.columns.tolist() == [f"compressivekmeans{i}" for i in range(4)]
    assert km.get_feature_names_out().tolist() == frame.columns.tolist()


def test_in_a_pipeline_with_routed_weights(clusters):
    import sklearn

    X, _ = clusters
    with sklearn.config_context(enable_metadata_routing=True):
        km = CompressiveKMeans(4, random_state=0).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), km)
        pipeline.fit(X, sample_weight=np.full(len(X), 2.0))
    assert pipeline[-1].sketch_.count == 8000


def test_pickling_keeps_everything(clusters, fitted):
    back = pickle.loads(pickle.dumps(fitted))
    assert back.sketch_ == fitted.sketch_
    np.testing.assert_array_equal(back.predict(clusters[0]), fitted.labels_)
    custom = CompressiveKMeans(4, signature=qckm.signatures.get("3-bit"), random_state=0).fit(clusters[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(custom)).cluster_centers_, custom.cluster_centers_)


def test_results_do_not_depend_on_threads(clusters, fitted):
    for threads in (1, 2):
        with threadpool_limits(threads):
            km = clone(fitted).fit(clusters[0])
        assert km.operator_ == fitted.operator_
        np.testing.assert_array_equal(km.cluster_centers_, fitted.cluster_centers_)


def test_a_sketch_made_elsewhere_is_decoded(clusters, fitted):
    X, _ = clusters
    halves = fitted.operator_.sketch(X[:1500]) + fitted.operator_.sketch(X[1500:])
    km = CompressiveKMeans(4, random_state=0).fit_sketch(halves)
    assert km.sketch_ == fitted.sketch_
    assert -km.score(X) < 1.1 * fitted.inertia_
    assert km.partial_fit(X[:10]).sketch_.count == 4010
    with pytest.raises(ValueError, match=r"qckm\.load"):
        km.fit_sketch("day1.qckm")
    with pytest.raises(ValueError, match="no pilot"):
        CompressiveKMeans(4, init="pilot").fit_sketch(halves)


@pytest.mark.parametrize("init", ["sketch", "pilot", "auto", "centers"])
def test_every_init(clusters, fitted, init):
    X, _ = clusters
    km = CompressiveKMeans(
        4, init=fitted.cluster_centers_ if init == "centers" else init, n_init=2, random_state=3
    ).fit(X)
    assert km.inertia_ < 1.02 * fitted.inertia_
    # Rows need no search; a start shortens it.
    alone = CompressiveKMeans(4, init="sketch", n_init=2, random_state=3).fit(X).n_iter_
    assert {"auto": km.n_iter_ == 0, "sketch": km.n_iter_ == alone}.get(init, 0 < km.n_iter_ < alone)


def test_no_second_look_unless_asked(clusters):
    X, _ = clusters
    km = CompressiveKMeans(4, compute_labels=False, random_state=0).fit(X)
    assert not hasattr(km, "labels_")
    assert not hasattr(km, "inertia_")
    np.testing.assert_array_equal(clone(km).fit_predict(X), km.predict(X))


def test_fitting_again_starts_afresh(clusters, fitted):
    km = clone(fitted).fit(clusters[0][:, :2]).fit(clusters[0])
    assert km.sketch_ == fitted.sketch_


def test_nothing_is_there_before_fitting(clusters):
    km = CompressiveKMeans()
    assert not hasattr(km, "cluster_centers_")
    with pytest.raises(NotFittedError):
        km.predict(clusters[0])


@pytest.mark.parametrize(
    "how",
    [
        {"n_clusters": 0},
        {"n_clusters": 2.5},
        {"signature": "sine"},
        {"n_frequencies": 0},
        {"scale": 0.0},
        {"scale": "automatic"},
        {"law": "cauchy"},
        {"decoder": "magic"},
        {"init": "k-means++"},
        {"init": [[0.0, 0.0, 0.0]]},
        {"n_init": 0},
        {"bounds": ([1, 1, 1], [0, 0, 0])},
        {"random_state": "seven"},
    ],
)
def test_wrong_parameters_are_refused(clusters, how):
    with pytest.raises(ValueError):
        CompressiveKMeans(**{"n_clusters": 4, **how}).fit(clusters[0])
