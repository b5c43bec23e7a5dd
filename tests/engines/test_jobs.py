"""Jobs, without an engine: bytes in, bytes out, merged in any order and in any grouping."""

import numpy as np
import pytest

import qckm
from qckm import engines
from qckm.engines.jobs import (
    SAMPLED_PARTS,
    Block,
    MisfitJob,
    SampleJob,
    SketchJob,
    choose_parts,
    loads,
    merge_outcomes,
    merge_parts,
    outcome_of,
    result_of,
    run_part,
)
from qckm.errors import MissingExtraError, RowsError, SourceError
from qckm.planning.pilot import pilot_of
from qckm.planning.row_sample import RowSample
from qckm.sketch import files
from qckm.sources.rows import engine_of


def test_sketches_of_parts_merge_to_the_sketch(operator, rows, expected):
    job = SketchJob(operator).dumps()
    parts = [run_part(job, [Block(part)], number) for number, part in enumerate(np.array_split(rows, 7))]
    left = merge_parts(job, [merge_parts(job, parts[:3]), merge_parts(job, parts[3:])])
    assert left == merge_parts(job, parts[::-1])
    assert files.dumps(SketchJob(operator).result(left)) == expected
    assert len(left) < len(expected) - len(files.dumps(operator.empty())) // 2  # the operator stays at home


def test_a_job_is_loaded_once(operator):
    job = SketchJob(operator).dumps()
    assert loads(job) is loads(bytes(bytearray(job)))


def test_bad_rows_are_named_by_partition_row_and_column(operator, rows):
    bad = rows[:50].copy()
    bad[7, 1] = np.nan
    blocks = [Block(rows[:100]), Block(bad)]
    with pytest.raises(RowsError, match=r"partition 4: .* row 107 .* column 'b'"):
        run_part(SketchJob(operator).dumps(), blocks, 4)
    skipping = SketchJob(operator, on_bad="skip")
    found = skipping.result(run_part(skipping.dumps(), blocks, 4))
    assert (found.count, found.skipped) == (149, 1)


def test_an_error_of_a_part_comes_back_as_a_value(operator, rows):
    job = SketchJob(operator).dumps()
    bad = np.full((1, 3), np.nan)
    good = [outcome_of(lambda part=part: run_part(job, [Block(part)], 0)) for part in np.array_split(rows, 3)]
    wrong = [outcome_of(lambda number=number: run_part(job, [Block(bad)], number)) for number in (5, 6)]
    assert result_of(merge_outcomes(job, good)) == merge_parts(job, map(result_of, good))
    first = merge_outcomes(job, [merge_outcomes(job, [good[0], wrong[0]]), good[1], wrong[1]])
    with pytest.raises(RowsError, match=r"^partition 5: .* column 'a'") as caught:
        result_of(first)
    assert caught.value.about == "bad rows"


def test_an_error_that_is_not_ours_is_raised_where_it_is():
    with pytest.raises(ZeroDivisionError):
        outcome_of(lambda: bytes(1 // 0))


def test_weights_of_bad_rows_go_with_them(operator, rows):
    bad = rows[:50].copy()
    bad[7, 1] = np.inf
    weights = np.arange(50)
    job = SketchJob(operator, on_bad="skip")
    found = job.result(run_part(job.dumps(), [Block(bad, weights)], 0))
    assert found == operator.sketch(np.delete(bad, 7, axis=0), np.delete(weights, 7))


def test_a_sample_is_the_same_in_whatever_partitions(rows):
    for weights in (None, np.arange(len(rows))):
        empty = RowSample.empty(3, 5, 100, around=pilot_of(rows[:40], None))
        job = SampleJob(empty).dumps()
        expected = empty.added(rows, weights).pilot()
        for pieces in (1, 4, 9):
            parts = [
                run_part(job, [Block(rows[some], None if weights is None else weights[some])], number)
                for number, some in enumerate(np.array_split(np.arange(len(rows)), pieces))
            ]
            left = merge_parts(job, [merge_parts(job, parts[pieces // 2 :][::-1]), b"", *parts[: pieces // 2]])
            found = RowSample.loads(left).pilot()
            np.testing.assert_array_equal(found.rows, expected.rows)
            np.testing.assert_array_equal(found.weights, expected.weights)
            assert len(found.rows) == 100


def test_a_sample_leaves_out_what_is_not_finite():
    rows = np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, np.inf]])
    job = SampleJob(RowSample.empty(2, 0)).dumps()
    found = RowSample.loads(run_part(job, [Block(rows)], 0))
    np.testing.assert_array_equal(found.rows, [[1.0, 2.0]])
    assert run_part(job, [Block(rows[1:])], 0) == b""


def test_the_pilot_looks_into_few_partitions_all_over():
    chosen = choose_parts(10_000, np.random.default_rng(0))
    assert len(set(chosen)) == SAMPLED_PARTS
    assert np.diff(chosen).max() <= 10_000 / SAMPLED_PARTS + 1
    assert choose_parts(5, np.random.default_rng(0)) == [0, 1, 2, 3, 4]


def test_the_misfit_is_the_inertia(rows):
    km = qckm.CompressiveKMeans(3, random_state=0).fit(rows)
    job = MisfitJob(km.to_model())
    parts = [run_part(job.dumps(), [Block(part)], number) for number, part in enumerate(np.array_split(rows, 4))]
    sums = job.result(merge_parts(job.dumps(), parts))
    assert sums[0] == pytest.approx(km.inertia_, rel=1e-12)
    np.testing.assert_array_equal(sums[1:], np.bincount(km.labels_))


def test_what_no_engine_holds_stays_here(rows):
    assert engine_of(rows) is None
    with pytest.raises(SourceError, match="Expected rows held by dask, spark, ray"):
        engines.open_partitions(rows)


def test_a_missing_engine_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "qckm.engines.ray", None)
    with pytest.raises(MissingExtraError, match=r'pip install "qckm\[ray\]"'):
        engines.import_engine("ray")
    with pytest.raises(SourceError, match="Expected an engine among"):
        engines.import_engine("flink")
