import numpy as np
import pytest

import qckm
from qckm.errors import DecodeError, MergeError, RowsError


@pytest.fixture
def op():
    return qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)


def test_a_sketch_knows_what_it_has_seen(op):
    sketch = op.sketch([[0.0, -1.0], [2.0, 3.0]])
    assert sketch.count == 2
    assert sketch.exact
    np.testing.assert_array_equal(sketch.bounds, [[0, -1], [2, 3]])
    assert sketch.values().shape == (op.n_measurements,)
    assert np.abs(sketch.values()).max() <= 1
    assert sketch.operator is op


def test_sum_works(op, rng):
    parts = [rng.normal(size=(4, 2)) for _ in range(5)]
    assert sum(op.sketch(part) for part in parts) == op.sketch(np.concatenate(parts))


def test_bounds_are_merged_and_not_forgotten(op):
    near, far = op.sketch([[0.0, 0.0]]), op.sketch([[5.0, -5.0]])
    np.testing.assert_array_equal((near + far).bounds, [[0, -5], [5, 0]])
    np.testing.assert_array_equal(((near + far) - far).bounds, [[0, -5], [5, 0]])


def test_a_sketch_cannot_be_changed(op):
    sketch = op.sketch([[0.0, 0.0]])
    with pytest.raises(ValueError, match="read-only"):
        sketch.total[0] = 5
    with pytest.raises(AttributeError):
        sketch.count = 7
    before = sketch.total.copy()
    total = sketch
    total += sketch
    np.testing.assert_array_equal(sketch.total, before)
    assert total.count == 2


def test_more_rows_than_were_seen_cannot_be_forgotten(op):
    one, two = op.sketch([[0.0, 0.0]]), op.sketch([[1.0, 1.0], [2.0, 2.0]])
    with pytest.raises(MergeError, match="more than it has seen"):
        one - two
    with pytest.raises(MergeError, match="never added"):
        one - op.sketch([[1.0, 1.0]])


def test_only_sketches_are_added(op):
    for other in (1, None, np.zeros(op.n_measurements)):
        with pytest.raises(TypeError):
            op.empty() - other
    with pytest.raises(TypeError):
        op.empty() + "rows"


def test_sampling_noise_is_how_far_sketches_are_from_their_mean(op):
    """Over 400 sketches of 50 rows: the mean squared distance is within a tenth (4 standard errors) of the formula."""
    rng = np.random.default_rng(8)
    sketches = [op.sketch(rng.normal(size=(50, 2))) for _ in range(400)]
    center = sum(sketches).values()
    measured = np.mean([((sketch.values() - center) ** 2).sum() for sketch in sketches])
    assert np.mean([sketch.sampling_noise() for sketch in sketches]) == pytest.approx(measured, rel=0.1)


def test_no_rows_have_no_values(op):
    with pytest.raises(DecodeError, match="no rows"):
        op.empty().values()


def test_a_merge_error_names_both_operators(op):
    other = qckm.SketchOperator.draw(n_features=2, n_frequencies=9, scale=1.0, random_state=0)
    with pytest.raises(MergeError) as error:
        op.empty() + other.empty()
    assert op.fingerprint[:12] in str(error.value)
    assert other.fingerprint[:12] in str(error.value)
    assert "op.empty()" in str(error.value)


def test_batches_of_every_kind(op, rng):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    X = rng.normal(size=(40, 2))
    names = ["a", "b"]
    frame = pd.DataFrame(X[10:20], columns=names)
    batches = [
        X[:10],
        frame,
        pl.DataFrame(X[20:30], schema=names),
        pa.Table.from_pandas(pd.DataFrame(X[30:35], columns=names)),
        pa.RecordBatch.from_arrays([pa.array(X[35:, 0]), pa.array(X[35:, 1])], names=names),
        X[:0],
    ]
    assert qckm.sketch_batches(op, iter(batches)) == op.sketch(X)


def test_a_bad_batch_is_named(op):
    with pytest.raises(RowsError, match=r"Batch 1: .*NaN at row 2, column 0"):
        qckm.sketch_batches(op, [np.zeros((3, 2)), [[0, 0], [0, 0], [np.nan, 0]]])


def test_no_batches_are_the_empty_sketch(op):
    assert qckm.sketch_batches(op, []) == op.empty()
