import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qckm.clustering.centroids import _assign, _assign_by_numpy, nearest
from qckm.errors import RowsError
from qckm.kernels.library import NUMBERS


@given(
    st.integers(0, 700), st.integers(1, 12), st.integers(1, 7), st.integers(0, 99), st.sampled_from(["f4", "f8", "i2"])
)
def test_it_is_the_nearest_of_all(n_rows, n_centers, n, seed, dtype):
    rng = np.random.default_rng(seed)
    rows, centers = (10 * rng.normal(size=(n_rows, n))).astype(dtype), 10 * rng.normal(size=(n_centers, n))
    squares = ((rows[:, None].astype(float) - centers) ** 2).sum(axis=2)
    labels, found = nearest(rows, centers)
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(labels, squares.argmin(axis=1))
    np.testing.assert_allclose(found, squares.min(axis=1))


@pytest.mark.parametrize("n_jobs", [None, 1, 3])
def test_many_rows_and_threads(n_jobs, rng):
    rows, centers = rng.normal(size=(100_000, 3)), rng.normal(size=(4, 3))
    labels, _ = nearest(rows[::-1], centers, n_jobs)
    np.testing.assert_array_equal(labels, nearest(rows, centers)[0][::-1])


@pytest.mark.parametrize("bad, name", [(np.nan, "NaN"), (np.inf, "infinity")])
def test_bad_values_are_named_by_row_and_column(bad, name, rng):
    rows = rng.normal(size=(70_000, 3))
    rows[66_000, 1] = bad
    with pytest.raises(RowsError, match=f"{name} at row 66000, column 1"):
        nearest(rows, np.eye(3))


def test_a_large_offset_costs_nothing(rng):
    rows, centers = rng.normal(size=(1000, 3)), rng.normal(size=(5, 3))
    np.testing.assert_array_equal(nearest(rows + 2.0**30, centers + 2.0**30)[0], nearest(rows, centers)[0])


@pytest.mark.parametrize("number", sorted(NUMBERS))
@pytest.mark.parametrize("order", ["C", "F", "backwards", "swapped"])
def test_the_core_finds_what_numpy_finds_in_any_layout(core, number, order, rng):
    centers = 20 * rng.random((7, 5))
    rows = np.asarray(100 * rng.random((601, 5)), number, order="F" if order == "F" else "C")
    rows = {"backwards": rows[::-1, ::-1], "swapped": rows.astype(rows.dtype.newbyteorder())}.get(order, rows)
    ours, twin = ((np.empty(601, np.int32), np.empty(601)) for _ in range(2))
    assert _assign(rows, centers, *ours)
    assert _assign_by_numpy(rows, centers, *twin)
    np.testing.assert_array_equal(ours[0], twin[0])
    np.testing.assert_allclose(ours[1], twin[1])


def test_neither_core_nor_numpy_overlooks_what_is_not_finite(core):
    rows, labels, squares = np.array([[1.0], [np.nan]]), np.empty(2, np.int32), np.empty(2)
    assert not _assign(rows, np.ones((1, 1)), labels, squares)
    assert not _assign_by_numpy(rows, np.ones((1, 1)), labels, squares)
