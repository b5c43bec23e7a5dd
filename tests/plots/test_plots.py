import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import qckm
from qckm.errors import QckmError

plt = pytest.importorskip("matplotlib.pyplot")
from qckm import plots  # noqa: E402


@pytest.fixture
def ax():
    return plt.subplots()[1]


@pytest.fixture
def dark_ax():
    with plt.style.context("dark_background"):
        yield plt.subplots()[1]


def pixels(ax):
    ax.figure.canvas.draw()
    return np.asarray(ax.figure.canvas.buffer_rgba())[..., :3]


def lines_of(ax):
    return {line.get_label(): line for line in ax.lines}


def two_places(signature="one-bit", dither="paired"):
    """A sketch of a heavy place at (−4, 0) and a light one at (4, 2)."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(1500, 2)) * 0.3 + [-4, 0], rng.normal(size=(500, 2)) * 0.3 + [4, 2]])
    return qckm.SketchOperator.draw(2, 400, 2.0, signature=signature, dither=dither, random_state=0).sketch(X)


@pytest.mark.parametrize("signature", ["one-bit", "exponential", "modulo"])
@pytest.mark.parametrize("dither", ["paired", "single"])
def test_the_density_peaks_where_the_rows_are(ax, signature, dither):
    assert plots.density(two_places(signature, dither), ax, resolution=81) is ax
    image = ax.images[0]
    heights, (left, right, bottom, top) = image.get_array(), image.get_extent()
    row, column = np.unravel_index(heights.argmax(), heights.shape)
    x, y = left + (right - left) * column / 80, bottom + (top - bottom) * row / 80
    assert abs(x + 4) < 0.4
    assert abs(y) < 0.4
    # Its height is the share of the rows that are there, less what their own width takes.
    assert heights.max() == pytest.approx(0.75, abs=0.12)


def test_a_clustering_is_drawn_over_its_density(ax):
    sketch = two_places()
    found = qckm.decode(sketch, 2, random_state=0)
    assert plots.clustering(sketch, found, rows=[[0.0, 0.0], [1.0, 1.0]], ax=ax) is ax
    np.testing.assert_allclose(ax.collections[0].get_offsets(), found.centers)
    assert ax.lines[0].get_xydata().tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert [patch.get_width() for patch in ax.patches] == pytest.approx((2 * found.spreads).tolist())


@pytest.mark.parametrize("style", ["ax", "dark_ax"])
def test_centroids_stand_out_among_dense_rows(request, style):
    ax, sketch = request.getfixturevalue(style), two_places()
    found = qckm.decode(sketch, 2, random_state=0)
    rows = found.centers[0] + np.random.default_rng(0).normal(size=(50_000, 2)) * 0.5
    plots.clustering(sketch, found, rows, ax)
    seen = pixels(ax)
    x, y = ax.transData.transform(found.centers[0]).astype(int)
    around = seen[len(seen) - y - 15 : len(seen) - y + 15, x - 15 : x + 15].max(axis=2)
    assert around.min() < 50
    assert around.max() > 200
    crosses, circle = ax.collections[0].get_edgecolor()[0], ax.patches[0].get_edgecolor()
    assert tuple(crosses) == circle == (0, 0, 0, 1)


@pytest.mark.parametrize("rows", [[[1.0, 2.0]], [[1.0, 2.0]] * 3, [[0.1 + 0.2, 2.0], [0.3, 2.0]]])
def test_rows_at_one_place_show_the_kernel(ax, rows):
    plots.clustering(qckm.SketchOperator.draw(2, 100, 0.5, random_state=0).sketch(rows), rows=rows, ax=ax)
    heights = ax.images[0].get_array()
    assert heights[100, 100] > 0.95
    assert np.abs(heights[:, [0, -1]]).max() < 0.5
    assert ax.get_xlim()[0] < rows[0][0] - 0.5


def test_a_constant_feature_shows_the_kernel_along_it_alone(ax):
    rows = np.column_stack([np.linspace(0, 10, 50), np.full(50, 3.0)])
    plots.density(qckm.SketchOperator.draw(2, 100, 0.5, random_state=0).sketch(rows), ax)
    assert ax.get_xlim() == pytest.approx((-0.5, 10.5))
    assert ax.get_ylim()[0] < 2.5


def test_the_current_axes_are_taken_and_columns_named(ax):
    op = qckm.SketchOperator.draw(2, 50, 1.0, feature_names=["height", "weight"], random_state=0)
    assert plots.density(op.sketch([[1.0, 2.0], [3.0, 4.0]]), resolution=10) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "weight")


def test_what_cannot_be_drawn_is_refused_with_a_reason(ax):
    op = qckm.SketchOperator.draw(3, 50, 1.0, random_state=0)
    with pytest.raises(QckmError, match="2 features, got 3"):
        plots.density(op.sketch([[1.0, 2.0, 3.0]]), ax)
    with pytest.raises(QckmError, match="no rows"):
        plots.density(qckm.SketchOperator.draw(2, 50, 1.0).empty(), ax)
    sketch = two_places()
    with pytest.raises(QckmError, match="Expected a Sketch, got ndarray"):
        plots.density(np.zeros(3), ax)
    with pytest.raises(QckmError, match="Expected a Sketch, got NoneType"):
        plots.clustering(None, ax=ax)
    with pytest.raises(QckmError, match="Expected a ClusterCount, got int"):
        plots.selection(3, ax)
    for resolution in (0, 20.5):
        with pytest.raises(QckmError, match=f"whole number >= 1, got {resolution}"):
            plots.density(sketch, ax, resolution)
    with pytest.raises(QckmError, match="rows of 2 features, as the operator has, got 3"):
        plots.clustering(sketch, rows=[[1.0, 2.0, 3.0]], ax=ax)
    with pytest.raises(QckmError, match="Expected a Clustering, got list"):
        plots.clustering(sketch, [[1.0, 2.0]], ax=ax)
    found = qckm.decode(op.sketch(np.repeat(np.eye(3), 20, axis=0)), 1, random_state=0)
    with pytest.raises(QckmError, match=r"centroids of shape \(K, 2\), got \(1, 3\)"):
        plots.clustering(sketch, found, ax=ax)
    assert not ax.has_data()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"success": [[0.0, 1.0]]}, r"success of shape \(2, 2\), got \(1, 2\)"),
        ({"success": [[0, 100], [50, 100]]}, "rates from 0 to 1, got 0 to 100"),
        ({"success": [[0, 1], [-0.1, np.nan]]}, "rates from 0 to 1, got -0.1 to 1"),
        ({"success": [["a", 1], [0, 1]]}, "success to be numbers"),
        ({"ratios": [2, 1]}, "increasing ratios"),
        ({"ratios": [0, 1]}, "ratios > 0"),
        ({"values": [4, 3]}, "increasing values"),
        ({"lines": {"one bit": 1.5}}, r"line 'one bit' of shape \(2,\), got \(\)"),
        ({"lines": {"one bit": [1.5]}}, r"line 'one bit' of shape \(2,\), got \(1,\)"),
        ({"lines": {"one bit": [1.5, 1.5, 1.5]}}, r"line 'one bit' of shape \(2,\), got \(3,\)"),
    ],
)
def test_a_phase_diagram_that_would_mislead_is_refused(ax, wrong, reason):
    right = {"ratios": [1, 2], "values": [3, 4], "success": [[0, 1], [0, 1]]}
    with pytest.raises(QckmError, match=reason):
        plots.phase_diagram(**right | wrong, ax=ax)
    assert not ax.has_data()


def test_a_phase_diagram_has_its_lines_where_the_cells_are(ax):
    rates = [[0.0, 0.5, 1.0], [0.0, 0.4, 1.0]]
    assert plots.phase_diagram([1, 2, 4], [5, 10], rates, {"one bit": [2, 4], "full": [1, np.nan]}, ax, "K") is ax
    np.testing.assert_array_equal(ax.images[0].get_array(), np.transpose(rates))
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [1.0, 2.0])
    assert np.isnan(ax.lines[1].get_ydata()[1])
    assert ax.get_xlabel() == "K"


def test_lines_of_a_phase_diagram_end_with_the_grid(ax):
    ratios, beyond = [1, 3, 7], [0.5, 7.1, 0.0, np.inf]
    last = np.exp(np.log(7)) + 1e-14
    plots.phase_diagram(ratios, range(1, 6), np.zeros((5, 3)), {"one bit": [*beyond, last]}, ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [*[np.nan] * 4, 2.0])


def test_what_was_not_measured_looks_like_no_rate(ax):
    plots.phase_diagram([1, 2], [3, 4], [[0, np.nan], [0, 1]], ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["not measured"]
    x, y = ax.transData.transform([(0, 1), (1, 1)]).astype(int).T
    seen = pixels(ax)
    hole, success = (seen[len(seen) - j - 10 : len(seen) - j + 10, i - 10 : i + 10] for i, j in zip(x, y, strict=True))
    assert len(np.unique(hole)) > 1
    assert (success == 255).all()


def test_a_trade_off_shows_medians_and_quartiles(ax):
    ratios = [[1.0, 1.1], [1.2, 1.3], [1.4, 1.5]]
    assert plots.trade_off({"sketch": ([10, 100], ratios), "rows": ([10, 100], [2.0, 1.5])}, ax) is ax
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [1.2, 1.3])
    assert len(ax.collections) == 1


def test_a_trial_that_failed_takes_nothing_else_along(ax):
    ratios = [[1.0, np.nan, np.nan], [1.2, 1.3, np.nan], [1.4, 1.5, np.nan]]
    plots.trade_off({"sketch": ([10, 100, 1000], ratios)}, ax)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [1.2, 1.4, np.nan])


@pytest.mark.parametrize("decades", [0, 1, 2, 3, 5, 9])
def test_sizes_are_labelled_however_far_they_reach(ax, decades):
    sizes = 100.0 * 10.0 ** np.arange(decades + 1)
    plots.trade_off({"sketch": (sizes, np.ones(decades + 1))}, ax)
    ax.figure.canvas.draw()
    left, right = ax.get_xlim()
    labels = [label for label in ax.get_xticklabels() if label.get_text() and left <= label.get_position()[0] <= right]
    assert len(labels) >= 3
    boxes = [label.get_window_extent() for label in labels]
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


@pytest.mark.parametrize(
    ("curve", "reason"),
    [
        (([], []), "sizes of 'a' > 0, one or more"),
        (([0, 1], [1, 1]), "sizes of 'a' > 0"),
        (([1, 2], [1, 1, 1]), r"ratios of 'a' of shape \(2,\) or \(trials, 2\), got \(3,\)"),
    ],
)
def test_a_curve_of_no_sense_is_refused(ax, curve, reason):
    with pytest.raises(QckmError, match=reason):
        plots.trade_off({"a": curve}, ax)


def test_convergence_tells_slopes(ax):
    sizes = np.array([10, 100, 1000])
    assert plots.convergence(sizes, {"a": sizes**-0.5, "b": 1 / sizes}, ax=ax) is ax
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["a: slope −0.50", "b: slope −1.00", "slope −0.5"]


def test_convergence_makes_up_no_slope(ax):
    plots.convergence([10], {"a": [0.1]}, ax=ax)
    assert list(lines_of(ax)) == ["a"]


def test_convergence_takes_the_slope_of_the_errors_that_are_known(ax):
    sizes = np.array([10, 100, 1000])
    plots.convergence(sizes, {"a": [1.0, np.nan, 0.01], "b": [0.0, 1.0, 0.1], "c": [np.nan, 0.0, 1.0]}, ax=ax)
    assert list(lines_of(ax)) == ["a: slope −1.00", "b: slope −1.00", "c", "slope −0.5"]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [np.nan, 1.0, 0.1])
    assert (ax.lines[3].get_ydata() > np.nanmax([line.get_ydata() for line in ax.lines[:3]], axis=0)).all()


def test_convergence_of_nothing_is_an_empty_picture(ax):
    assert plots.convergence([10, 100], {}, ax=ax) is ax
    assert not ax.lines
    with pytest.raises(QckmError, match=r"errors of 'a' of shape \(2,\), got \(1,\)"):
        plots.convergence([10, 100], {"a": [0.1]}, ax=ax)


def test_lines_are_seen_on_a_dark_background(dark_ax):
    plots.convergence([10, 100], {"a": [0.1, 0.01]}, ax=dark_ax)
    assert lines_of(dark_ax)["slope −0.5"].get_color() == "white"
    dark_ax.clear()
    plots.selection(qckm.choose_n_clusters(two_places(), ks=[2], random_state=0), dark_ax)
    assert lines_of(dark_ax)["chosen: K = 2"].get_color() == "white"


def test_a_selection_marks_the_chosen_number(ax):
    count = qckm.choose_n_clusters(two_places(), ks=range(1, 4), random_state=0)
    assert plots.selection(count, ax) is ax
    assert "chosen: K = 2" in [text.get_text() for text in ax.get_legend().get_texts()]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), count.groups)


def test_a_selection_fits_a_figure_of_default_margins(ax):
    count = qckm.choose_n_clusters(two_places(), ks=range(1, 4), random_state=0)
    count = replace(count, variance_explained=np.array([0.0, 0.9999, 0.99995]))
    plots.selection(count, ax)
    ax.figure.canvas.draw()
    inside, drawn = ax.figure.bbox, ax.figure.get_tightbbox().transformed(ax.figure.dpi_scale_trans)
    assert inside.x0 <= drawn.x0
    assert drawn.x1 <= inside.x1
    assert "variance explained" in [other.get_title("right") for other in ax.figure.axes]


def test_a_selection_of_one_number_has_a_whole_tick(ax):
    count = qckm.choose_n_clusters(two_places(), ks=[2], random_state=0)
    plots.selection(count, ax)
    left, right = ax.get_xlim()
    assert [tick for tick in ax.get_xticks() if left <= tick <= right] == [2]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "separate groups",
        "variance explained",
        "chosen: K = 2",
    ]


def test_after_a_selection_its_own_axes_are_current(ax):
    plots.selection(qckm.choose_n_clusters(two_places(), ks=[2], random_state=0))
    assert plt.gca() is ax


def test_without_matplotlib_the_extra_is_named():
    code = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
import qckm.plots
try:
    qckm.plots.trade_off({})
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "qckm[plot]"' in done.stdout, done.stderr


def test_errors_that_are_all_gaps_can_be_drawn(ax):
    plots.convergence([1, 2, 4], {"a": [np.nan, 0, -1]}, ax=ax)
    ax.figure.canvas.draw()  # on a logarithmic axis this would raise
    assert np.isnan(ax.lines[0].get_ydata()).all()
