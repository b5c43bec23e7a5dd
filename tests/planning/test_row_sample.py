"""A sample that merges: the same whatever the order and the parts, fair to rows that are there once and often."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from qckm.errors import RowsError
from qckm.kernels import library
from qckm.planning.held_rows import ArrayRows, draw_pilot
from qckm.planning.pilot import pilot_of
from qckm.planning.row_sample import RowSample, _canonical, _hash_rows, _levels_of, _no_counts, _squares_of
from qckm.sources.opening import open_source


def sample(rows, weights=None, seed=7, size=50, around=None):
    return RowSample.empty(rows.shape[1], seed, size, around).added(rows, weights)


def require_same(left, right):
    for name in ("rows", "weights"):
        np.testing.assert_array_equal(getattr(left.pilot(), name), getattr(right.pilot(), name))


@pytest.fixture(scope="module")
def mixed_rows():
    """30 000 rows of two columns: most are there once, some several times, and one makes up a fifth."""
    rng = np.random.default_rng(3)
    several = np.repeat(rng.integers(0, 1000, size=(500, 2)), rng.integers(1, 20, 500), axis=0)
    rows = np.concatenate([several, np.tile([[5.0, -5.0]], (6000, 1)), rng.normal(size=(24_000 - len(several), 2))])
    return rng.permutation(rows)


# Most of `mixed_rows` are like these; the 500 that are there several times are far away.
NEAR = pilot_of(np.random.default_rng(0).normal(size=(100, 2)), None)


@pytest.mark.parametrize("around", [None, NEAR])
@settings(max_examples=20, deadline=None)
@given(cuts=st.lists(st.integers(0, 30_000), max_size=6), seed=st.integers(0, 99))
def test_any_parts_in_any_order_give_the_same_sample(mixed_rows, around, cuts, seed):
    whole = sample(mixed_rows, around=around)
    shuffled = np.random.default_rng(seed).permutation(mixed_rows)
    parts = [sample(part, around=around) for part in np.split(shuffled, sorted(cuts))]
    merged = parts[0]
    for part in parts[1:]:
        merged = part.merged(merged)
    require_same(merged, whole)
    added = whole.emptied()
    for part in np.split(shuffled, sorted(cuts)):
        added = added.added(part)
    require_same(added, whole)


def test_merging_is_associative_and_survives_bytes(mixed_rows):
    a, b, c = (sample(part) for part in np.array_split(mixed_rows, 3))
    require_same(a.merged(b).merged(c), a.merged(b.merged(c)))
    require_same(RowSample.loads(a.merged(b).dumps()).merged(RowSample.loads(c.dumps())), sample(mixed_rows))
    for other in (sample(mixed_rows, seed=8), sample(mixed_rows, around=NEAR)):
        with pytest.raises(RowsError, match="one size, seed"):
            a.merged(other)


def test_a_pilot_is_the_same_of_arrays_and_files_in_any_type(tmp_path, mixed_rows):
    rows = mixed_rows.astype(np.float32)
    pq.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1]}), tmp_path / "t.parquet", row_group_size=700)
    np.savetxt(tmp_path / "t.csv", rows.astype(float), header="x,y", comments="", delimiter=",", fmt="%.17g")
    expected = draw_pilot(ArrayRows(rows.astype(np.float64), None, None), np.random.default_rng(0), 500)
    others = [
        draw_pilot(ArrayRows(rows[::-1], None, None), np.random.default_rng(0), 500),
        draw_pilot(open_source(rows), np.random.default_rng(0), 500),
        draw_pilot(open_source(tmp_path / "t.parquet"), np.random.default_rng(0), 500),
        draw_pilot(open_source(tmp_path / "t.csv"), np.random.default_rng(0), 500),
    ]
    for other in others:
        np.testing.assert_array_equal(other.rows, expected.rows)
        np.testing.assert_array_equal(other.weights, expected.weights)


@pytest.mark.parametrize("around", [None, NEAR])
def test_weights_are_repeats(mixed_rows, around):
    weights = np.random.default_rng(1).integers(0, 4, len(mixed_rows))
    repeated = np.repeat(mixed_rows, weights, axis=0)
    require_same(sample(mixed_rows, weights, around=around), sample(repeated, around=around))


def test_few_rows_are_all_there_with_their_counts():
    rows = np.array([[1.0, 2.0], [0.0, 3.0], [1.0, 2.0], [-0.0, 3.0], [np.nan, 1.0], [1.0, 2.0], [np.inf, 0.0]])
    found = sample(rows).pilot()
    assert found.rows.tolist() == [[0.0, 3.0], [1.0, 2.0]]
    assert found.weights.tolist() == [2.0, 3.0]
    assert sample(rows).total == 5
    with pytest.raises(RowsError, match="found none"):
        sample(rows[4:5]).pilot()
    assert sample(np.empty((0, 2))).total == 0


def test_rows_of_one_hash_are_not_taken_for_one(monkeypatch):
    monkeypatch.setattr("qckm.planning.row_sample._hash_rows", lambda rows, seed: np.zeros(len(rows), np.uint64))
    monkeypatch.setattr("qckm.planning.row_sample.library.load", lambda: None)
    rows = np.array([[3.0], [1.0], [3.0], [2.0]])
    assert sample(rows).pilot().weights.tolist() == [1.0, 1.0, 2.0]
    require_same(sample(rows[:2]).merged(sample(rows[2:])), sample(rows[::-1]))


def test_equal_values_of_any_type_have_one_hash():
    values = np.array([[3, 0], [-7, 5]])
    hashes = [_hash_rows(_canonical(values.astype(kind)), 1).tolist() for kind in (int, np.int16, np.float32, float)]
    assert hashes.count(hashes[0]) == 4
    assert len(set(hashes[0])) == 2
    assert _hash_rows(_canonical(np.array([[-0.0]])), 1) == _hash_rows(_canonical(np.array([[0.0]])), 1)


@pytest.mark.parametrize("values", ["consecutive", "powers", "grid"])
def test_every_row_is_drawn_as_often_as_any_other(values):
    """Chi-square over 400 samples of 50 of 400 rows that differ in few bits: a false alarm in one of 10⁶ runs."""
    rows = {
        "consecutive": np.arange(400.0)[:, np.newaxis],
        "powers": 2.0 ** np.arange(-200, 200)[:, np.newaxis],
        "grid": np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2),
    }[values]
    times = np.zeros(400)
    for seed in range(400):
        hashes = _hash_rows(_canonical(rows), seed)
        times[np.argsort(hashes)[:50]] += 1
    variance = 400 * (50 / 400) * (350 / 400)
    statistic = float(((times - 50) ** 2).sum() / variance * 399 / 400)
    assert chi2.sf(statistic, 399) > 1e-6


@pytest.mark.parametrize("around", [None, NEAR])
def test_sums_over_the_pilot_are_unbiased(mixed_rows, around):
    """Over 60 seeds, the mean error of weighted sums is within five of its standard errors."""
    wanted = [len(mixed_rows), mixed_rows[:, 0].sum(), (mixed_rows[:, 1] > 0).sum()]
    errors = []
    for seed in range(60):
        found = sample(mixed_rows, seed=seed, size=100, around=around).pilot()
        sums = [found.weights.sum(), found.weights @ found.rows[:, 0], found.weights @ (found.rows[:, 1] > 0)]
        errors.append(np.subtract(sums, wanted))
        assert len(found.rows) == 100
    errors = np.array(errors)
    assert (np.abs(errors.mean(axis=0)) < 5 * errors.std(axis=0) / np.sqrt(60)).all()


def test_a_frequent_row_is_always_there(mixed_rows):
    for seed in range(20):
        found = sample(mixed_rows, seed=seed, size=100).pilot()
        (where,) = np.nonzero((found.rows == [5.0, -5.0]).all(axis=1))
        assert found.weights[where] == pytest.approx(6000, rel=0.01)


def test_rows_far_away_are_always_there_by_leverage():
    rows = np.random.default_rng(4).normal(size=(20_000, 3))
    rows[5], rows[7000] = 1000.0, -800.0
    around = pilot_of(rows[:100:2], None)
    for seed in range(20):
        found = sample(rows, seed=seed, size=100, around=around).pilot()
        far = np.abs(found.rows[:, 0]) > 100
        assert found.weights[far].tolist() == [1.0, 1.0]
        assert found.weights[~far].sum() == pytest.approx(20_000, rel=0.8)


@pytest.mark.skipif(library.load() is None, reason="needs the C core")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["f4", "f8", ">f8", "i1", "u2", "i8"])
def test_the_c_core_screens_rows_as_numpy_does(kind, weighted):
    rng = np.random.default_rng(6)
    rows = (100 * rng.standard_t(2, size=(1000, 6))).astype("f8" if "f" in kind else "i8").astype(kind)[::-1, ::2]
    rows[rng.integers(1000, size=300)] = rows[0]
    if "f" in kind:
        rows[[3, 500], [0, 2]] = np.nan, -np.inf
        rows[7] = -0.0
        rows[8] = 1e30
    weights = rng.normal(size=1000) if weighted else None
    limits = {"limit": np.uint64(2**60), "key_limit": np.uint64(2**42)}
    by_key = {"center": np.full(3, 2.0), "factors": np.array([0.1, 0.5, 1.0])}
    empty = replace(RowSample.empty(3, seed=9, size=5), **limits, **by_key)
    found = []
    for screen in (empty._screen, empty._screen_by_numpy):
        table = _no_counts()
        found.append((*screen(rows, weights, table, 5.0), table))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert 0 < len(found[0][0]) < 1000


def test_threads_do_not_change_the_sample(monkeypatch, mixed_rows):
    monkeypatch.setattr("qckm.planning.row_sample._BLOCK", 1000)
    weights = np.random.default_rng(2).integers(0, 4, len(mixed_rows))
    one, many = (
        [sample(mixed_rows, some, around=NEAR) for some in (None, weights)]
        for threads in (1, 3)
        if not monkeypatch.setattr("qckm.kernels.threads.count_threads", lambda _, threads=threads: threads)
    )
    for left, right in zip(one, many, strict=True):
        require_same(left, right)


def test_rows_count_in_units_by_leverage():
    rows = np.random.default_rng(5).normal(size=(5000, 2)) * [1.0, 1000.0]
    rows[9, 0] = 500.0
    around = pilot_of(rows[10:200], None)
    empty = RowSample.empty(2, 0, 50, around, units=np.array([1.0, 1000.0]))
    assert 500.0 in empty.added(rows).pilot().rows[:, 0]


def test_a_row_whose_square_is_no_number_has_no_leverage():
    assert _squares_of(np.array([[1e200], [0.0], [1e160]]), np.zeros(1), np.ones(1)).tolist() == [0, 0, 0]
    constant = RowSample.empty(1, 0, 10, pilot_of(np.ones((5, 1)), None))
    assert _levels_of(np.array([0.0, 1.0, 9.0])).tolist() == [0, 1, 3]
    assert _levels_of(_squares_of(np.array([[1.0], [2.0]]), constant.center, constant.factors)).tolist() == [0, 40]


@pytest.mark.parametrize("weighted", [False, True])
def test_of_a_large_array_rows_far_away_and_one_in_a_few_are_looked_at(monkeypatch, weighted):
    """Over 40 seeds, the mean error of weighted sums is within five of its standard errors."""
    monkeypatch.setattr("qckm.planning.held_rows.LOOKED_AT", 1000)
    rng = np.random.default_rng(11)
    rows = rng.normal(size=(20_011, 2))
    rows[[5, 20_010]] += 300.0
    weights = rng.integers(1, 4, len(rows)) if weighted else np.ones(len(rows), int)
    wanted, errors = [weights.sum(), weights @ (rows[:, 0] > 1)], []
    around = pilot_of(rows[10:500], None)
    for seed in range(40):
        empty = RowSample.empty(2, seed, 100, around)
        found = ArrayRows(rows, weights if weighted else None, None).sample_by_leverage(empty).pilot()
        far = found.rows[:, 0] > 200
        assert sorted(found.weights[far]) == sorted(weights[[5, 20_010]])
        errors.append([found.weights.sum() - wanted[0], found.weights @ (found.rows[:, 0] > 1) - wanted[1]])
    errors = np.array(errors)
    assert (np.abs(errors.mean(axis=0)) < 5 * errors.std(axis=0) / np.sqrt(40)).all()


def test_rows_without_weights_follow_the_weights():
    found = sample(np.repeat([[0.0], [1.0]], [30, 10], axis=0)).pilot()
    assert found.repeated(100).ravel().tolist() == [0.0] * 30 + [1.0] * 10
    assert found.repeated(4).ravel().tolist() == [0.0] * 3 + [1.0]
