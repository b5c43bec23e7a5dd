"""The 50 % lines and their ratios: known ones are found, those off the grid are told, trials are paired by seed."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))

from paper import figures, phase, transition
from paper.transition import Diagram, Row, cost, diagrams


def diagram(line, trials=200, seed=0):
    """Return successes of a transition that is known: half of the trials at m/(nK) = line."""
    rng, ratios = np.random.default_rng(seed), np.array([1.0, 2.0, 3.0, 4.0, 6.0])
    chance = 1 / (1 + (line / ratios) ** 6)
    luck = rng.random(trials)
    return Diagram("known", [Row(5, ratios, ratios, np.arange(trials), (luck < chance[:, np.newaxis]) * 1.0)])


def of_rates(*rates, grid=(1.0, 2.0, 4.0), trials=100):
    """Return a row of which these are the success rates."""
    success = np.arange(trials) < trials * np.array(rates)[:, np.newaxis]
    return Row(5, np.array(grid), np.array(grid), np.arange(trials), success * 1.0)


def test_a_known_ratio_of_transitions_is_found_within_its_interval():
    price = cost(diagram(3.0), diagram(2.5))
    assert price.low < 1.2 < price.high
    assert price.ratio == pytest.approx(1.2, rel=0.1)
    assert price.high / price.low < 1.3
    assert (price.values, price.left_out, price.clipped) == ((5,), {}, 0)
    assert diagram(2.5).line()[0] == pytest.approx(2.5, rel=0.1)


def test_a_line_off_the_grid_is_none_and_says_on_which_side():
    far, near = diagram(100.0), diagram(0.01)
    assert np.isnan(far.line()).all()
    assert np.isnan(near.line()).all()
    assert far.rows[0].tell(far.rows[0].crossing()) == "beyond 6"
    assert near.rows[0].tell(near.rows[0].crossing()) == "below 1"


def test_a_half_at_the_first_point_is_a_crossing_there():
    assert of_rates(0.5, 0.8, 1.0).crossing() == 1.0
    assert of_rates(0.51, 0.8, 1.0).crossing() == 0.0
    assert of_rates(0.51, 0.49, 1.0).crossing() == 1.0  # not increasing: the two are one half together
    assert of_rates(0.0, 0.0, 0.5).crossing() == pytest.approx(4.0)
    assert of_rates(0.0, 0.0, 0.49).crossing() == np.inf


def test_a_value_off_the_grid_is_left_out_of_every_resample():
    """At n = 5 the transitions are known; at n = 7 one is below the grid by all trials, but not in every resample."""
    edge = of_rates(0.52, 0.9, 1.0)
    edge = Row(7, edge.nominal, edge.grid, edge.seeds, edge.success)
    one, other = diagram(3.0, trials=100), diagram(2.5, trials=100)
    with_edge = cost(Diagram("a", [*one.rows, edge]), Diagram("b", [*other.rows, edge]))
    assert with_edge.left_out == {7: "a below 1, b below 1"}
    assert with_edge.values == (5,)
    alone = cost(one, other)
    assert (with_edge.ratio, with_edge.low, with_edge.high) == (alone.ratio, alone.low, alone.high)


def test_resamples_off_the_grid_are_put_at_its_edge_and_counted():
    price = cost(Diagram("a", [of_rates(0.0, 1.0, 1.0)]), Diagram("b", [of_rates(0.48, 1.0, 1.0)]))
    assert 200 < price.clipped < 500  # P(more than 50 of 100, at 0.48 each) is 0.31
    assert price.high == pytest.approx(np.sqrt(2.0))  # the line of a is always there, that of b 1 at least
    assert price.low < price.ratio < price.high


def test_trials_are_paired_by_seed():
    """With the same successes at the same seeds the ratio is 1 in every resample, whatever trials are missing."""
    whole = diagram(2.5).rows[0]
    late, shuffled = whole.of_seeds(np.arange(20, 200)), whole.of_seeds(np.arange(200)[::-1])
    price = cost(Diagram("a", [late]), Diagram("b", [shuffled]))
    assert (price.ratio, price.low, price.high) == (1.0, 1.0, 1.0)


def write_phase_rows(folder, variant, cells, n=3):
    """Write rows of (seed, m, SSE over that of k-means) for both signatures of figure 2a."""
    rows = [(seed, n, 2, m, signature, sse) for seed, m, sse in cells for signature in phase.BOTH]
    phase.table_of("2a", variant, folder).append(rows)


def test_lines_are_of_the_true_ratio(tmp_path):
    """At n = 3, K = 2, a nominal 0.75 is m = 5, and 5/6 in truth. Half of the trials succeed there."""
    sizes = [phase.frequencies_of(ratio, 6) for ratio in phase.VARIANTS["clompr"].ratios]
    write_phase_rows(tmp_path, "clompr", [(seed, m, 1.0 if m > 5 - seed else 9.0) for seed in (0, 1) for m in sizes])
    found = diagrams("2a", "clompr", tmp_path)["one-bit"]
    assert found.line()[0] == pytest.approx(5 / 6)
    assert found.ratios.tolist() == list(phase.VARIANTS["clompr"].ratios)


def test_points_that_were_added_to_a_grid_later_need_not_be_there(tmp_path, monkeypatch):
    """Three trials of a grid, then one of them on a finer one: all three count, and nothing fails to draw."""
    for module in (figures, transition):
        monkeypatch.setattr(module, "RESAMPLES", 50)
    ratios = phase.VARIANTS["radians-0.6"].ratios
    assert ratios[:3] == (0.5, 0.75, 1.0)
    for n in (n for n, _ in phase.SHAPES["2a"]):
        sizes = [phase.frequencies_of(ratio, 2 * n) for ratio in ratios]
        write_phase_rows(
            tmp_path, "radians-0.6", [(s, m, 1.0 if m > 4 * n else 9.0) for s in range(3) for m in sizes[2:]], n
        )
        added = range(3) if n == 2 else range(1)
        write_phase_rows(tmp_path, "radians-0.6", [(s, m, 9.0) for s in added for m in sizes[:2]], n)
    found = diagrams("2a", "radians-0.6", tmp_path)["one-bit"]
    assert [row.grid[0] for row in found.rows] == [0.5] + [1.0] * 8
    assert {row.seeds.size for row in found.rows} == {3}
    assert np.isnan(found.rates()).sum() == 8 * 2
    summary = figures.draw(tmp_path, tmp_path).read_text()
    assert "0.6 radians a deviation, one-bit | 3 | 1.000 | 1.000 to 1.000 | 0 of 50 | none | 2.45 |" in summary


def test_the_summary_says_on_which_side_a_line_left_the_grid(tmp_path):
    sizes = [phase.frequencies_of(ratio, 24) for ratio in phase.VARIANTS["paper"].ratios]
    write_phase_rows(tmp_path, "paper", [(seed, m, 1.0) for seed in (0, 1) for m in sizes], n=12)
    summary = figures.draw(tmp_path, tmp_path).read_text()
    assert "n = 12: one-bit below 1, exponential below 1" in summary
    assert "beyond" not in summary
