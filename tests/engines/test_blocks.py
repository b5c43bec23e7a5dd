"""Arrow batches as engines give them."""

import numpy as np
import pyarrow as pa
import pytest

from qckm.engines.blocks import blocks_of, vectors_of
from qckm.errors import RowsError


def test_columns_become_rows_and_nulls_nan():
    batch = pa.record_batch({"b": pa.array([1, None]), "w": [2.0, 3.0], "a": [0.5, 1.5]})
    ((rows, weights, *_),) = blocks_of([batch], ["a", "b"], "w")
    np.testing.assert_array_equal(rows, [[0.5, 1.0], [1.5, np.nan]])
    np.testing.assert_array_equal(weights, [2, 3])


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.large_list(pa.int32()), pa.list_(pa.float32(), 2)])
def test_vectors_become_rows_and_missing_ones_nan(kind):
    column = pa.array([[1, 2], None, [3, 4], [5, 6]], kind)
    np.testing.assert_array_equal(vectors_of(column), [[1, 2], [np.nan, np.nan], [3, 4], [5, 6]])
    np.testing.assert_array_equal(vectors_of(column[2:]), [[3, 4], [5, 6]])


def test_vectors_of_different_lengths_are_refused():
    with pytest.raises(RowsError, match="vectors of 2 numbers"):
        vectors_of(pa.array([[1.0, 2.0], [1.0]]))
    with pytest.raises(RowsError, match="column of vectors"):
        vectors_of(pa.array([1.0, 2.0]))


def test_batches_of_vectors_of_another_length_stay_apart():
    batches = [pa.record_batch({"v": [[1.0, 2.0]]}), pa.record_batch({"v": [[1.0]]})]
    assert [rows.shape for rows, *_ in blocks_of(batches, ["v"], vector=True)] == [(1, 2), (1, 1)]


def test_weights_must_be_numbers():
    batch = pa.record_batch({"a": [1.0, 2.0], "w": pa.array([1.0, None])})
    with pytest.raises(RowsError, match="finite weights in column 'w'"):
        list(blocks_of([batch], ["a"], "w"))


def test_small_batches_make_a_block_together():
    batches = [
        pa.record_batch({"a": np.full(10_000, float(number)), "w": np.full(10_000, number)}) for number in range(8)
    ]
    blocks = list(blocks_of(batches, ["a"], "w"))
    assert [len(block.rows) for block in blocks] == [70_000, 10_000]
    np.testing.assert_array_equal(
        np.concatenate([block.rows[:, 0] for block in blocks]), np.repeat(np.arange(8.0), 10_000)
    )
    np.testing.assert_array_equal(np.concatenate([block.weights for block in blocks]), np.repeat(np.arange(8), 10_000))
