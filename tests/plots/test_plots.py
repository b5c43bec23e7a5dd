import subprocess
import sys
from dataclasses import replace

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


def test_lines_are_seen_on_a_dark_background(dark_ax):
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
    qckm.plots.density(qckm.SketchOperator.draw(2, 10, 1.0, random_state=0).sketch([[0.0, 0.0]]))
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "qckm[plot]"' in done.stdout, done.stderr
