from dataclasses import replace

import numpy as np
import pytest

import qckm
from qckm.errors import DecodeError, MergeError, RowsError, SketchError
from qckm.sketch import Sketch


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


def test_a_sketch_is_shown_in_a_line_whatever_its_size(op):
    shown = f"Sketch(count=2, saturated=0, operator={op!r})"
    assert repr(op.sketch([[0.0, -1.0], [2.0, 3.0]])) == shown
    assert "\n" not in shown


def test_sum_works(op, rng):
    parts = [rng.normal(size=(4, 2)) for _ in range(5)]
    assert sum(op.sketch(part) for part in parts) == op.sketch(np.concatenate(parts))


def test_bounds_are_merged(op):
    near, far = op.sketch([[0.0, 0.0]]), op.sketch([[5.0, -5.0]])
    np.testing.assert_array_equal((near + far).bounds, [[0, -5], [5, 0]])


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
    with pytest.raises(TypeError):
        1 + op.empty()
    assert 0 + op.sketch([[1.0, 1.0]]) == op.sketch([[1.0, 1.0]])


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


def test_a_pooled_sketch_knows_no_clipping(op):
    sketch = op.pool(op.encode([[0.0, 0.0], [1e9, 0.0]]))
    assert sketch.saturated == 0
    assert np.isnan(sketch.bounds).all()
    np.testing.assert_array_equal(sketch.coded_bounds, op.reach)


def test_an_exact_sum_has_room_for_so_many_rows(op):
    """One bit counts one: 2**63 − 1 rows are the most that 64 bits hold. Other tables count up to 32767."""
    total = np.zeros(op.n_measurements, np.int64)
    bounds = np.zeros(2), np.ones(2)
    most = (2**63 - 1) // op.signature.full_scale
    assert Sketch(op, total, most, 0, bounds).count == most
    with pytest.raises(SketchError, match=f"at most {most} rows"):
        Sketch(op, total, most + 1, 0, bounds)
    heaviest = Sketch(op, total.astype(float), 1e300, 0, bounds)
    assert heaviest.values().tolist() == [0.0] * op.n_measurements
    with pytest.raises(SketchError, match="divide them by their sum"):
        Sketch(op, total.astype(float), 1.1e300, 0, bounds)
    with pytest.raises(MergeError, match="Cannot add these sketches"):
        heaviest + heaviest


@pytest.mark.parametrize(
    "change",
    [
        {"saturated": 3},
        {"saturated": -1},
        {"skipped": -1},
        {"count": 3},  # the parity of bits is that of their number
        {"total": 2},
        {"total": -2},
        {"bounds": (np.ones(2), np.zeros(2))},
        {"bounds": (np.zeros(3), np.ones(3))},
        {"bounds": (np.full(2, np.inf), np.full(2, np.nan))},
        {"bounds": (np.full(2, np.nan), np.full(2, -np.inf))},
        {"weighted": 3},
        {"weighted": -1},
        {"total": np.zeros(3, np.int64)},
    ],
)
def test_a_sum_that_no_rows_have_is_refused(op, change):
    sketch = op.sketch([[0.0, 0.0], [1.0, 1.0]])
    sketch.require_consistent()
    if isinstance(change.get("total"), int):
        change = {"total": sketch.total + 2 * change["total"]}
    with pytest.raises(SketchError):
        replace(sketch, **change).require_consistent()


def test_real_weights_are_forgotten_up_to_rounding(op, rng):
    X, weights = rng.normal(size=(30, 2)), rng.random(30)
    whole = op.sketch(X, weights)
    assert (whole - op.sketch(X[::-1], weights[::-1])).count == 0
    left = whole - op.sketch(X[:10], weights[:10])
    np.testing.assert_allclose(left.total, op.sketch(X[10:], weights[10:]).total, atol=1e-9)
    with pytest.raises(MergeError, match="more than it has seen"):
        op.sketch(X[:10], weights[:10]) - whole
    with pytest.raises(MergeError, match="drown in the rounding"):
        whole - op.sketch(X + 5.0, weights * 0.9)


def test_coded_bounds_are_those_of_what_was_measured(op):
    sketch = op.sketch([[0.0, -1e9], [0.5, 2.0]])
    lower, upper = sketch.coded_bounds
    assert (lower.tolist(), upper.tolist()) == ([0.0, op.reach[0][1]], [0.5, 2.0])
    assert op.empty().coded_bounds[0].tolist() == [np.inf, np.inf]


def test_columns_of_other_names_do_not_add_up():
    one, other = (
        qckm.SketchOperator.draw(2, 8, 1.0, random_state=0, feature_names=names) for names in (["a", "b"], ["b", "a"])
    )
    for verb, how in (("add", lambda: one.empty() + other.empty()), ("subtract", lambda: one.empty() - other.empty())):
        with pytest.raises(MergeError, match=f"Cannot {verb} sketches of different columns"):
            how()
