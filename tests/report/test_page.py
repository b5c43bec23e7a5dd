"""The page: complete, self-contained, and safe whatever columns are called."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from qckm.models import Model
from qckm.report import checks, heat_map, render


def model_of(rng, k=4, n=6, **facts):
    names = tuple(f'<b>"{place}"&' for place in range(n))
    return Model(rng.normal(size=(k, n)) * 9, np.full(k, 1 / k), np.zeros(k), np.ones(n), names, facts)


class Balanced(HTMLParser):
    """Tags that are opened are closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize(("k", "n"), [(1, 1), (2, 1), (1, 3), (4, 6), (25, 60)])
def test_any_number_of_clusters_and_columns(rng, k, n):
    model = model_of(rng, k, n, rows=1000, saturated=3, explained=0.9)
    for sample in (None, rng.normal(size=(200, n)) * 9):
        page = render(model, sample)
        parser = Balanced()
        parser.feed(page)
        assert parser.open == []
        assert "nan" not in page.split("</style>")[1]


def test_nothing_is_fetched_and_nothing_runs(rng):
    page = render(model_of(rng, rows=10, inputs=["<script>x</script>"], command="rm & <i>"))
    assert not re.search(r"<script|https?://|@import|url\(", page)
    assert "&lt;script&gt;" in page
    assert "<b>" not in page.split("Centroids")[1].split("</table>")[0]


def test_the_verdict_is_that_of_the_worst_check(rng):
    good = model_of(rng, rows=1000, saturated=0, explained=0.99)
    poor = model_of(rng, rows=1000, saturated=900, explained=0.99)
    assert checks.worst(checks.check(good, None)) == "good"
    assert checks.worst(checks.check(poor, None)) == "poor"


@pytest.mark.parametrize("converged, grade", [(True, "good"), (False, "poor"), (None, "good")])
def test_the_decoder_is_heard(rng, converged, grade):
    found = checks.check(model_of(rng, rows=1000, saturated=0, explained=0.99, converged=converged), None)
    assert checks.worst(found) == grade
    assert ("The decoder's verdict" in [one.title for one in found]) == (converged is not None)


def test_wrong_centroids_are_found_out_by_a_sample(rng):
    centers = rng.normal(size=(4, 3)) * 20
    sample = centers[rng.integers(4, size=500)] + rng.normal(size=(500, 3))
    right = Model(centers, np.full(4, 0.25), np.zeros(4), np.ones(3))
    wrong = Model(centers + 15, np.full(4, 0.25), np.zeros(4), np.ones(3))
    assert checks.check(right, sample)[0].grade == "good"
    assert checks.check(wrong, sample)[0].grade == "poor"


@pytest.mark.filterwarnings("error")
def test_fewer_distinct_rows_than_clusters_are_nothing_to_compare_with(rng):
    sample = np.repeat(rng.normal(size=(3, 6)), 100, axis=0)
    assert [check.title for check in checks.check(model_of(rng, k=4), sample)] == ["Sizes"]
    assert "4 clusters" in render(model_of(rng, k=4), sample)


def test_a_model_without_facts_has_a_report_too(rng):
    assert "4 clusters" in render(model_of(rng))


def test_cells_of_the_heat_map_count_deviations_of_the_rows_from_their_mean():
    centers = np.array([[0.0, 5.0], [10.0, 5.0]])
    model = Model(centers, np.array([0.5, 0.5]), np.zeros(2), np.array([2.0, 1.0]))
    sample = np.repeat(centers, 100, axis=0) + np.tile([[-5.0], [5.0]], (100, 1))  # a deviation of sqrt(25 + 25) in x
    found = heat_map.standardized_centers(model, sample)
    np.testing.assert_allclose(found, [[-np.sqrt(0.5), 0], [np.sqrt(0.5), 0]])
    within = Model(centers, model.weights, np.full(2, 2.5), model.units)  # the same deviation, as the model knows it
    np.testing.assert_allclose(heat_map.standardized_centers(within, None), [[-np.sqrt(0.5), 0], [np.sqrt(0.5), 0]])


@pytest.mark.parametrize("n, numbers", [(2, True), (10, True), (50, False), (60, False)])
def test_cells_hold_numbers_where_they_fit(rng, n, numbers):
    picture = heat_map.draw_heat_map(model_of(rng, 3, n), None)
    cells = picture.count("<rect") - 11  # those of the legend
    assert cells == 3 * min(n, heat_map.MOST_COLUMNS)
    assert (picture.count("<text") > cells) == numbers == heat_map.has_numbers(n)


def test_the_sum_of_squares_comes_with_its_interval(rng):
    found = checks.check(model_of(rng, rows=1000, inertia_estimate=1000.0, inertia_error=50.0), None)
    assert found[0].title == "Sum of squared distances"
    assert found[0].words.endswith("95 % interval: 902 to 1098.")


def test_a_sample_in_which_kmeans_finds_nothing_better_says_so(rng):
    centers = rng.normal(size=(4, 3)) * 20
    sample = np.repeat(centers, 100, axis=0) + rng.normal(size=(400, 3))
    best = Model(
        np.array([part.mean(axis=0) for part in np.split(sample, 4)]), np.full(4, 0.25), np.zeros(4), np.ones(3)
    )
    assert "finds nothing better." in checks.check(best, sample)[0].words
    worse = Model(best.centers + 1, best.weights, best.spreads, best.units)
    assert re.search(r"ours is \d+\.\d% above it", checks.check(worse, sample)[0].words)
