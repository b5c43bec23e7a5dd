"""From rows and wishes to an operator, and what the pilot tells a decoder."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qckm.errors import OperatorError, RowsError
from qckm.operator.request import choose_n_frequencies
from qckm.planning.plan import Plan, _mixed_with, draw_operator, plan_decoding
from qckm.sources.opening import open_source


def blobs(n_rows=4000, seed=1000):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, 2)) + [[0.0, 20.0]] + 10.0 * rng.integers(0, 3, size=(n_rows, 1))


def pipe(rows):
    """Rows that can be read once."""
    table = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
    return open_source(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()))


def test_n_clusters_is_needed_unless_scale_and_m_are_given():
    for plan in (Plan(), Plan(scale=1.0), Plan(n_frequencies=50)):
        with pytest.raises(OperatorError, match="Expected n_clusters, or both scale and n_frequencies"):
            draw_operator(open_source(blobs()), plan)


def test_what_is_given_is_taken():
    plan = Plan(n_clusters=3, n_frequencies=77, scale=3.5, law="gaussian", signature="triangle", dither="single")
    operator = draw_operator(open_source(blobs()), plan).operator
    assert (operator.n_frequencies, operator.scale, operator.law) == (77, 3.5, "gaussian")
    assert (operator.signature.name, operator.dither) == ("triangle", "single")
    assert operator.origin.tolist() == [0.0, 0.0]


def test_columns_keep_their_names():
    table = pa.table({"height": [1.0, 2.0, 3.0], "weight": [4.0, 5.0, 7.0]})
    assert draw_operator(open_source(table), Plan(n_clusters=1)).operator.feature_names == ("height", "weight")


def test_a_pilot_gives_scale_origin_and_reach():
    X = blobs()
    operator = draw_operator(open_source(X), Plan(n_clusters=3)).operator
    np.testing.assert_allclose(operator.origin, X.mean(axis=0), atol=operator.scale)
    lower, upper = operator.reach
    assert (lower < X.min(axis=0)).all()
    assert (upper > X.max(axis=0)).all()


def test_octaves_lie_around_the_scale_of_the_pilot():
    one, three = (draw_operator(open_source(blobs()), Plan(n_clusters=3, octaves=octaves)) for octaves in (1, 3))
    assert three.operator.octave(1).scale == one.operator.scale


def test_one_row_more_is_another_operator():
    """Scale and origin are rounded to the same: without the rows in the dice, these sketches would add up by luck."""
    X = blobs()
    one, other = (draw_operator(open_source(rows), Plan(n_clusters=3)).operator for rows in (X, X[:-1]))
    assert (one.scale, one.origin.tolist()) == (other.scale, other.origin.tolist())
    assert one.fingerprint != other.fingerprint
    again = draw_operator(open_source(X), Plan(n_clusters=3)).operator
    assert again.fingerprint == one.fingerprint


def test_equal_rows_count_as_many_in_a_standard_deviation():
    rows = np.repeat([[0.0], [10.0]], [900, 100], axis=0)  # a deviation of 3, where two distinct rows have 5
    operator = draw_operator(open_source(rows), Plan(n_clusters=2, standardize=True)).operator
    assert operator.units.tolist() == [3.0]


def test_a_constant_column_has_no_deviation_of_rounding():
    rows = np.column_stack([np.full(3001, 0.1), np.random.default_rng(0).normal(size=3001)])
    planned = draw_operator(open_source(rows), Plan(n_clusters=2, standardize=True))
    assert planned.operator.units[0] == 1.0
    assert planned.words == ("constant in the pilot, left as they are: 0",)


def test_hints_are_in_data_units():
    X = blobs() * [1.0, 1000.0]
    planned = draw_operator(open_source(X), Plan(n_clusters=3, standardize=True), want_hints=True)
    assert planned.hints.weights.sum() == len(X)
    np.testing.assert_allclose(planned.hints.spread, X.std(axis=0), rtol=0.05)
    np.testing.assert_allclose(
        planned.hints.centers[np.argsort(planned.hints.centers[:, 0])], [[0, 2e4], [10, 3e4], [20, 4e4]], atol=300
    )
    left = planned.hints.without_rows()
    assert (left.rows.shape, left.weights.shape) == ((0, 2), (0,))
    assert left.centers is planned.hints.centers


def test_hints_cost_a_look_at_the_rows_only_where_they_are_wanted():
    plan = Plan(n_clusters=3, n_frequencies=50, scale=2.0)
    assert draw_operator(open_source(blobs()), plan).hints is None
    hints = draw_operator(open_source(blobs()), plan, want_hints=True).hints
    assert hints.centers.shape == (3, 2)


def test_hints_for_an_operator_made_elsewhere_are_in_data_units_too():
    X = blobs() * [1.0, 1000.0]
    operator = draw_operator(open_source(X), Plan(n_clusters=3, standardize=True)).operator
    hints = plan_decoding(open_source(X), Plan(n_clusters=3), operator).hints
    np.testing.assert_allclose(hints.spread, X.std(axis=0), rtol=0.05)
    assert sorted(hints.centers[:, 1].round(-3).tolist()) == [20_000, 30_000, 40_000]


def test_many_clusters_have_a_larger_pilot():
    X = blobs(6000)
    for n_clusters, rows in ((3, 5000), (110, 5500)):
        plan = Plan(n_clusters=n_clusters, n_frequencies=50, scale=2.0)
        hints = draw_operator(open_source(X), plan, want_hints=True).hints
        assert len(hints.rows) == rows
        assert hints.weights.sum() == pytest.approx(6000, rel=0.02)


def test_of_a_pipe_the_first_rows_are_the_pilot_and_that_is_said():
    X = np.concatenate([blobs(6000), 1e6 + blobs(6000)])
    source = pipe(X)
    planned = draw_operator(source, Plan(n_clusters=3), want_hints=True)
    assert planned.words[-1].startswith("the scale is that of the first 5000 rows of the pipe")
    assert planned.hints.rows.max() < 1e5
    assert planned.operator.law == "integer-gaussian"  # wider norms forgive rows of one kind
    assert sum(len(batch.rows) for batch in source.batches()) == len(X)  # none is lost
    assert draw_operator(open_source(X), Plan(n_clusters=3)).words == ()


def test_of_a_pipe_that_is_not_looked_at_nothing_is_said():
    assert draw_operator(pipe(blobs()), Plan(n_frequencies=50, scale=1.0)).words == ()


def test_the_decoders_seed_follows_the_plans():
    seeds = [Plan(seed=seed).decoder_seed for seed in range(20)]
    assert len(set(seeds)) == 20
    assert seeds == [Plan(seed=seed).decoder_seed for seed in range(20)]
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_pilot_of_several_files_is_of_all_of_them(tmp_path):
    for part in range(3):
        rows = np.arange(6000.0).reshape(3000, 2) + 10_000 * part
        np.savetxt(tmp_path / f"{part}.csv", rows, header="a,b", comments="", delimiter=",", fmt="%d")
    plan = Plan(n_clusters=2, n_frequencies=50, scale=2.0)
    hints = draw_operator(open_source(tmp_path), plan, want_hints=True).hints
    assert len(np.unique(hints.rows, axis=0)) == 5000  # no row twice
    assert np.ptp(hints.weights) == 0
    counts = np.bincount((hints.rows[:, 0] // 10_000).astype(int))
    assert counts.min() > 1500  # of 1667 each: five standard deviations


def test_no_rows_give_no_pilot(tmp_path):
    pq.write_table(pa.table({"x": pa.array([], pa.float64())}), tmp_path / "empty.parquet")
    with pytest.raises(RowsError, match="found none"):
        draw_operator(open_source(tmp_path / "empty.parquet"), Plan(n_clusters=2))


def test_one_row_twice_is_another_operator():
    X = blobs()
    one, other = (
        draw_operator(open_source(rows), Plan(n_clusters=3)).operator for rows in (X, np.concatenate([X, X[:1]]))
    )
    assert (one.scale, one.origin.tolist()) == (other.scale, other.origin.tolist())
    assert one.fingerprint != other.fingerprint


def test_an_offset_moves_the_origin_and_changes_no_step():
    near, far = (draw_operator(open_source(blobs() + offset), Plan(n_clusters=3)).operator for offset in (0, 2.0**20))
    assert (far.origin - near.origin).tolist() == [2.0**20] * 2
    assert far.steps.tolist() == near.steps.tolist()


@pytest.mark.parametrize("n, n_clusters, m", [(1, 1, 100), (4, 10, 200), (3000, 3, 22_369), (8192, 100, 1_638_400)])
def test_frequencies_are_five_an_unknown_and_down_to_two_where_these_would_be_gigabytes(n, n_clusters, m):
    """22 369 of 3000 features are 2**26 components, between two and five an unknown."""
    assert choose_n_frequencies(n, n_clusters) == m


def test_a_mixed_generator_depends_on_every_bit_but_not_on_the_sign_of_zero():
    def mixed(*values):
        return _mixed_with(np.random.default_rng(0), np.array(values)).integers(2**32, size=4).tolist()

    assert mixed(0.0, 1.0) == mixed(-0.0, 1.0)
    assert mixed(0.0, 1.0) != mixed(0.0, np.nextafter(1.0, 2.0))
