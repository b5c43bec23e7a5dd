"""What was found in sketches: the density they see, centroids in it, how many there are, and what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from qckm.decoding.targets.clustering import Clustering
from qckm.decoding.targets.n_clusters import ClusterCount
from qckm.drift.drift_result import Drift, DriftSeries
from qckm.drift.witness import Plane, density_map, witness_map
from qckm.errors import MissingExtraError, QckmError
from qckm.operator.request import as_count
from qckm.sketch import Sketch
from qckm.sources.rows import as_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.typing import ColorType

_RESOLUTION = 200
_MOST_NAMES = 12


def density(sketch: Sketch, ax: Axes | None = None, resolution: int = _RESOLUTION, colorbar: bool = True) -> Axes:
    """Draw the data as the sketch sees them: its correlation with the atom of each place, in two dimensions.

    This is the density of the rows, smoothed by the kernel of the frequencies; and it is what decoders climb. It is 1
    where all rows are at one place, and ripples where there are none: the fewer frequencies, the stronger. Along a
    feature in which all rows are equal, it is drawn as far as the kernel reaches.

    Parameters
    ----------
    sketch : Sketch
        Of two features.
    ax : Axes, optional
    resolution : int, default 200
        Points along each side.
    colorbar : bool, default True

    Returns
    -------
    Axes
    """
    _require(sketch, Sketch)
    resolution = as_count("resolution", resolution)
    label = "correlation with the sketch" if colorbar else None
    return _draw_plane(density_map(sketch, resolution), ax, sketch.operator.feature_names, label)


def clustering(
    sketch: Sketch,
    found: Clustering | None = None,
    rows: npt.ArrayLike | None = None,
    ax: Axes | None = None,
    resolution: int = _RESOLUTION,
    colorbar: bool = True,
) -> Axes:
    """Draw centroids over the density that the sketch sees, and over some rows where there are any to show.

    Parameters
    ----------
    sketch : Sketch
        Of two features.
    found : Clustering, optional
        Centroids: crosses as large as their weights, with a circle of one standard deviation where it is known.
    rows : array-like of shape (rows, 2), optional
        Rows to show as dots; a few thousand will do.
    ax : Axes, optional
    resolution : int, default 200
        Points of the density along each side.
    colorbar : bool, default True

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, qckm, qckm.plots
    >>> X = np.concatenate([np.random.default_rng(0).normal(c, 1, (500, 2)) for c in (-3, 3)])
    >>> sketch = qckm.SketchOperator.draw(2, 100, scale=2.0, random_state=0).sketch(X)
    >>> ax = qckm.plots.clustering(sketch, qckm.decode(sketch, 2, random_state=0), rows=X)
    >>> ax.get_xlabel()
    'feature 0'
    """
    _require(sketch, Sketch)
    n = sketch.operator.n_features
    dots = None if rows is None else as_rows(rows, n)
    if found is not None:
        _require(found, Clustering)
        if found.centers.shape[1] != n:
            raise QckmError(f"Expected centroids of shape (K, {n}), got {found.centers.shape}.")
    ax = density(sketch, ax, resolution, colorbar)
    box = ax.axis()
    if dots is not None:
        ax.plot(*dots.T, ".", color="black", alpha=0.25, ms=2, zorder=1)
    if found is not None:
        from matplotlib.patches import Ellipse
        from matplotlib.patheffects import withStroke

        # Black on a density that is the same in every style, and outlined to stand out among rows, black as well.
        outlined: dict[str, Any] = {"zorder": 3, "path_effects": [withStroke(linewidth=4, foreground="white")]}
        x, y = found.centers.T
        ax.scatter(x, y, s=30 + 400 * found.weights, c="black", marker="x", linewidths=2, **outlined)
        diameters = 2 * found.spreads[:, np.newaxis] * sketch.operator.units
        for center, (width, height) in zip(found.centers, diameters, strict=True):
            ax.add_patch(Ellipse(tuple(center), width, height, fill=False, ec="black", lw=1, **outlined))
    ax.axis(box)
    return ax


def selection(count: ClusterCount, ax: Axes | None = None) -> Axes:
    """Draw what `choose_n_clusters` saw: the separate groups that K clusters form, and the variance they explain.

    Parameters
    ----------
    count : ClusterCount
    ax : Axes, optional

    Returns
    -------
    Axes
        Those of the groups; the share explained has its own scale on the right.
    """
    _require(count, ClusterCount)
    ax = _as_axes(ax)
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    lines = ax.plot(count.ks, count.groups, "o-", ms=4, label="separate groups")
    ax.set(xlabel="clusters K", ylabel="separate groups")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    right = ax.twinx()
    lines += right.plot(count.ks, count.variance_explained, "s:", ms=4, color="tab:red", label="variance explained")
    lines.append(ax.axvline(count.n_clusters, color=_ink_of(ax), lw=0.8, label=f"chosen: K = {count.n_clusters}"))
    right.yaxis.set_major_formatter(PercentFormatter(1))
    right.set_title("variance explained", loc="right", color="tab:red", size="medium")
    right.tick_params(axis="y", colors="tab:red", labelsize=8)
    ax.legend(handles=lines, fontsize=8)
    _figure_of(ax).sca(ax)  # not the twin, on which the next picture would be drawn
    return ax


def drift_effects(series: DriftSeries, ax: Axes | None = None) -> Axes:
    """Draw at least which share of each window's rows has changed, with two standard errors; drift in red.

    Parameters
    ----------
    series : DriftSeries
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, qckm, qckm.plots
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=100, scale=1.0, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> hours = [op.sketch(rng.normal(size=(2000, 2)) + (hour > 7)) for hour in range(10)]
    >>> ax = qckm.plots.drift_effects(qckm.compare_windows(hours, op.sketch(rng.normal(size=(20_000, 2)))))
    >>> ax.get_ylabel()
    'rows that changed, at least (%)'
    """
    _require(series, DriftSeries)
    ax = _as_axes(ax)
    drifted, places = series.drifted, np.arange(len(series.drifts))
    least = series.drifts[0].min_effect
    if least > 0:
        ax.axhline(100 * least, color="0.6", lw=1, ls="--", label=f"smallest that counts, {least:.1%}")
    for which, color, label in ((~drifted, "tab:blue", "no drift"), (drifted, "tab:red", "drift")):
        if which.any():
            errors = 200 * series.effect_errors[which]
            ax.errorbar(places[which], 100 * series.effects[which], errors, fmt="o", ms=5, color=color, label=label)
    ax.set(ylabel="rows that changed, at least (%)")
    ax.set_ylim(bottom=0)
    if len(places) <= _MOST_NAMES:
        ax.set_xticks(places, series.names, rotation=30 if max(map(len, series.names)) > 3 else 0)
    else:
        ax.set_xlabel("window")
    ax.legend(fontsize=8)
    return ax


def witness(drift: Drift, ax: Axes | None = None, resolution: int = 200, colorbar: bool = True) -> Axes:
    """Draw where rows have come (red) and gone (blue), in two dimensions: the difference of the densities.

    Parameters
    ----------
    drift : Drift
        Of sketches of two features. Where it has an explanation, clusters are drawn as crosses, those that moved with
        an arrow, new ones as stars.
    ax : Axes, optional
    resolution : int, default 200
        Points along each side.
    colorbar : bool, default True

    Returns
    -------
    Axes
    """
    _require(drift, Drift)
    label = "rows that came (red) and went (blue)" if colorbar else None
    names = drift.before.operator.feature_names
    ax = _draw_plane(witness_map(drift.before, drift.after, as_count("resolution", resolution)), ax, names, label)
    if drift.explanation is not None:
        from matplotlib.patheffects import withStroke

        outlined: dict[str, Any] = {"path_effects": [withStroke(linewidth=3, foreground="white")], "zorder": 3}
        centers = drift.explanation.centers
        ax.plot(*centers.T, "kx", ms=8, mew=2, **outlined)
        for number, center in enumerate(centers):
            ax.annotate(str(number), tuple(center), (6, 6), textcoords="offset points", **outlined)
        for cause in drift.explanation.causes:
            if cause.kind == "new" and cause.place is not None:
                ax.plot(*cause.place, "k*", ms=13, **outlined)
            if cause.kind == "move" and cause.place is not None and cause.cluster is not None:
                arrow = {"arrowstyle": "->", "lw": 2, "shrinkA": 0, "shrinkB": 0}
                ax.annotate("", tuple(cause.place), tuple(centers[cause.cluster]), arrowprops=arrow, zorder=4)
    return ax


def _require(value: object, kind: type) -> None:
    """Refuse what is not of a kind."""
    if not isinstance(value, kind):
        raise QckmError(f"Expected a {kind.__name__}, got {type(value).__name__}.")


def _as_axes(ax: Axes | None) -> Axes:
    """Return the axes given, or else the current ones."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError('Plots need matplotlib: pip install "qckm[plot]"') from error
    return plt.gca() if ax is None else ax


def _figure_of(ax: Axes) -> Figure | SubFigure:
    """Return the figure of axes."""
    figure = ax.get_figure()
    assert figure is not None  # only axes that were removed have none
    return figure


def _draw_plane(plane: Plane, ax: Axes | None, names: tuple[str, ...] | None, colorbar: str | None) -> Axes:
    """Draw heights over the plane, from blue through white, which is 0, to red."""
    ax = _as_axes(ax)
    (left, bottom), (right, top) = plane.lower, plane.upper
    limit = float(np.abs(plane.heights).max()) or 1.0
    colours: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
    image = ax.imshow(plane.heights, extent=(left, right, bottom, top), origin="lower", aspect="auto", **colours)
    if colorbar:
        _figure_of(ax).colorbar(image, ax=ax, label=colorbar)
    first, second = names or ("feature 0", "feature 1")
    ax.set(xlabel=first, ylabel=second)
    return ax


def _ink_of(ax: Axes) -> ColorType:
    """Return a colour that stands out from the background, in dark styles as well: that of the labels."""
    return ax.xaxis.label.get_color()
