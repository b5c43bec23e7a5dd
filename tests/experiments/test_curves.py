"""Pictures of experiments: medians and quartiles, slopes, gaps where nothing was measured, labels that can be read."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

plt = pytest.importorskip("matplotlib.pyplot")
sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))

from curves import convergence, trade_off  # noqa: E402


@pytest.fixture
def ax():
    return plt.subplots()[1]


def test_a_trade_off_shows_medians_and_quartiles(ax):
    ratios = [[1.0, 1.1], [1.2, 1.3], [1.4, 1.5]]
    trade_off(ax, {"sketch": ([10, 100], ratios), "rows": ([10, 100], [2.0, 1.5])})
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [1.2, 1.3])
    assert len(ax.collections) == 1


def test_a_trial_that_failed_takes_nothing_else_along(ax):
    ratios = [[1.0, np.nan, np.nan], [1.2, 1.3, np.nan], [1.4, 1.5, np.nan]]
    trade_off(ax, {"sketch": ([10, 100, 1000], ratios)})
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [1.2, 1.4, np.nan])


@pytest.mark.parametrize("decades", [0, 1, 2, 3, 5, 9])
def test_sizes_are_labelled_however_far_they_reach(ax, decades):
    sizes = 100.0 * 10.0 ** np.arange(decades + 1)
    trade_off(ax, {"sketch": (sizes, np.ones(decades + 1))})
    ax.figure.canvas.draw()
    left, right = ax.get_xlim()
    labels = [label for label in ax.get_xticklabels() if label.get_text() and left <= label.get_position()[0] <= right]
    assert len(labels) >= 3
    boxes = [label.get_window_extent() for label in labels]
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_convergence_tells_slopes(ax):
    sizes = np.array([10, 100, 1000])
    convergence(ax, sizes, {"a": sizes**-0.5, "b": 1 / sizes})
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["a: slope −0.50", "b: slope −1.00", "slope −0.5"]


def test_convergence_takes_the_slope_of_the_errors_that_are_known(ax):
    sizes = np.array([10, 100, 1000])
    convergence(ax, sizes, {"a": [1.0, np.nan, 0.01], "b": [0.0, 1.0, 0.1], "c": [np.nan, 0.0, 1.0]})
    assert [line.get_label() for line in ax.lines] == ["a: slope −1.00", "b: slope −1.00", "c", "slope −0.5"]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [np.nan, 1.0, 0.1])
    assert (ax.lines[3].get_ydata() > np.nanmax([line.get_ydata() for line in ax.lines[:3]], axis=0)).all()
