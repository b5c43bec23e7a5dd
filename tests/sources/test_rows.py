from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse

from qckm.errors import RowsError
from qckm.sources.rows import as_rows, as_weights


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8])
def test_numbers_are_not_copied(dtype):
    X = np.ones((3, 2), dtype)
    assert as_rows(X) is X


def test_objects_become_numbers_where_they_are():
    np.testing.assert_array_equal(as_rows([[Decimal("1.5"), 2]]), [[1.5, 2.0]])
    assert np.isnan(as_rows(np.array([[None, 1]], object)))[0, 0]


def test_missing_values_of_pandas_become_nan():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [0.5, 1.5]})
    np.testing.assert_array_equal(as_rows(frame), [[1.0, 0.5], [np.nan, 1.5]])


@pytest.mark.parametrize(
    "X, reason",
    [
        ([1.0, 2.0], "reshape"),
        (np.zeros((2, 2, 2)), "3 dimension"),
        (7, "0 dimension"),
        ([[1.0], [1.0, 2.0]], "rows of numbers"),
        ([["a", "b"]], "real numbers"),
        (np.array([["a", 1]], object), r"got 'a' \(str\) at row 0, column 0"),
        (np.array([[{}, 1]], object), "values that are none"),
        ([[10**400, 1]], "values that are none"),
        (np.zeros((1, 1), complex), "real numbers"),
        (np.zeros((1, 1), "datetime64[s]"), "real numbers"),
        (scipy.sparse.eye(3), "toarray"),
        (scipy.sparse.csr_array((2, 2)), "toarray"),
    ],
)
def test_what_are_no_rows_is_refused_with_a_reason(X, reason):
    with pytest.raises(RowsError, match=reason):
        as_rows(X)


def test_the_number_of_features_is_checked():
    with pytest.raises(RowsError, match=r"rows of 3 features.*got 2"):
        as_rows(np.zeros((5, 2)), 3)


def test_whole_weights_become_integers():
    assert as_weights([1.0, 2.0], 2).dtype == np.int64
    assert as_weights([True, False], 2).dtype == np.int64
    assert as_weights([1.0, 2.5], 2).dtype == np.float64
    assert as_weights([2.0**60, 1.0], 2).dtype == np.float64


@pytest.mark.parametrize(
    "weights, reason",
    [
        ([1.0], "shape"),
        ([[1.0, 1.0]], "shape"),
        ([[1.0], [1.0, 2.0]], "one sample_weight per row"),
        ([1.0, -1.0], "subtract their sketch"),
        ([1.0, np.nan], "finite"),
        (["a", "b"], "numbers"),
    ],
)
def test_what_are_no_weights_is_refused_with_a_reason(weights, reason):
    with pytest.raises(RowsError, match=reason):
        as_weights(weights, 2)
