"""Which rows are kept to decode with, and which are not."""

import pickle

import numpy as np
import pytest

from qckm import CompressiveKMeans
from qckm.errors import DecodeError, OperatorError, SampleLostWarning


@pytest.fixture(scope="module")
def sorted_stream():
    """Three clusters, one after the other: the first batch knows one of them."""
    rng = np.random.default_rng(8)
    return np.concatenate([rng.normal(center, 1, size=(3000, 2)) for center in (0, 9, 18)])


def stream(rows, batch=1000, **how):
    km = CompressiveKMeans(3, random_state=0, **how)
    for start in range(0, len(rows), batch):
        km.partial_fit(rows[start : start + batch])
    return km


def test_a_stream_is_decoded_with_a_sample_of_all_its_rows(sorted_stream):
    km = stream(sorted_stream)
    held = km._sample.pilot()
    assert held.weights.sum() == pytest.approx(9000, rel=0.03)
    counts, _ = np.histogram(held.rows[:, 0], [-5, 4.5, 13.5, 25], weights=held.weights)
    np.testing.assert_allclose(counts, 3000, rtol=0.06)  # five standard deviations
    np.testing.assert_allclose(np.sort(km.cluster_centers_[:, 0]), [0, 9, 18], atol=0.15)
    assert km.n_iter_ == 0  # rows need no search


def test_batches_do_not_change_the_sample(sorted_stream):
    """But the first, around whose mean rows are sampled: as it draws the operator, too."""
    one = stream(sorted_stream, 1000)._sample.pilot()
    two = CompressiveKMeans(3, random_state=0).partial_fit(sorted_stream[:1000][::-1])
    two.partial_fit(sorted_stream[1000:][::-1])
    np.testing.assert_array_equal(one.rows, two._sample.pilot().rows)
    np.testing.assert_array_equal(one.weights, two._sample.pilot().weights)


def test_no_row_outlasts_the_call_where_none_may(sorted_stream):
    km = stream(sorted_stream, pilot="first")
    assert km._sample is None
    assert not len(km._hints.rows)
    assert km.n_iter_ > 0
    blind = stream(sorted_stream, pilot=None, scale=2.0)
    assert blind._sample is None
    assert blind._hints is None
    assert (blind.operator_.origin == 0).all()
    np.testing.assert_allclose(np.sort(blind.cluster_centers_[:, 0]), [0, 9, 18], atol=0.3)


def test_without_a_pilot_the_scale_must_be_given(sorted_stream):
    with pytest.raises(OperatorError, match="expected scale="):
        CompressiveKMeans(3, pilot=None).fit(sorted_stream)
    with pytest.raises(DecodeError, match="no pilot"):
        CompressiveKMeans(3, pilot=None, scale=2.0, init="pilot").fit(sorted_stream)
    with pytest.raises(ValueError, match="pilot"):
        CompressiveKMeans(3, pilot="last").fit(sorted_stream)


@pytest.mark.filterwarnings("ignore::qckm.errors.SaturationWarning", "ignore::qckm.errors.PoorFitWarning")
def test_a_row_too_far_for_squares_leaves_the_sketch_to_decode(sorted_stream):
    km = stream(sorted_stream[::3]).partial_fit([[1e200, 0.0]])
    assert km.cluster_centers_.shape == (3, 2)
    assert km.n_iter_ > 0


def test_fit_keeps_no_row(sorted_stream):
    km = CompressiveKMeans(3, random_state=0).fit(sorted_stream)
    assert km._sample is None
    assert not len(km._hints.rows)


@pytest.mark.filterwarnings("ignore::qckm.errors.PoorFitWarning")  # the operator is of the first rows: not settled
def test_a_copy_leaves_the_rows_behind_and_says_so(sorted_stream):
    km = stream(sorted_stream)
    data = pickle.dumps(km)
    assert len(data) < sorted_stream.nbytes / 2
    back = pickle.loads(data).partial_fit(sorted_stream[:10])
    with pytest.warns(SampleLostWarning, match="not pickled"):
        centers = back.cluster_centers_
    np.testing.assert_allclose(np.sort(centers[:, 0]), [0, 9, 18], atol=0.3)
    assert back.n_iter_ > 0
