"""Pictures of sketches and what is found in them: matplotlib axes in, axes out (extra `plot`).

Every function draws on the axes it is given, or on the current ones of pyplot, and returns them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.decode import Clustering
from qckm.decoding.points import FirstHarmonicModel
from qckm.decoding.selection import ClusterCount
from qckm.errors import MissingExtraError, QckmError
from qckm.operator.arguments import as_count
from qckm.sketch import Sketch
from qckm.sources.rows import as_rows

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["clustering", "convergence", "density", "phase_diagram", "selection", "trade_off"]


def density(sketch: Sketch, ax: Axes | None = None, resolution: int = 200, colorbar: bool = True) -> Axes:
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
    if sketch.operator.n_features != 2:
        raise QckmError(
            f"Expected a sketch of 2 features, got {sketch.operator.n_features}: a plane through more would show what "
            "happens to lie in it. Sketch two columns, or two principal components."
        )
    model = FirstHarmonicModel.of(sketch)
    (left, bottom), (right, top) = _with_margin(sketch, model.length)
    ax = _axes(ax)
    x, y = np.linspace(left, right, resolution), np.linspace(bottom, top, resolution)
    heights = np.empty((resolution, resolution))
    for row, height in enumerate(y):  # a line at a time: all atoms at once would be resolution² × M numbers
        atoms = model.atoms(model.to_points(np.column_stack([x, np.full(resolution, height)])))
        heights[row] = atoms @ model.z / (model.amplitude**2 * model.phases.size * (1.0 if model.paired else 0.5))
    limit = np.abs(heights).max()
    image = ax.imshow(
        heights,
        extent=(left, right, bottom, top),
        origin="lower",
        aspect="auto",
        cmap="RdBu_r",
        vmin=-limit,
        vmax=limit,
    )
    if colorbar:
        _figure(ax).colorbar(image, ax=ax, label="correlation with the sketch")
    names = sketch.operator.feature_names
    ax.set(xlabel=names[0] if names else "feature 0", ylabel=names[1] if names else "feature 1")
    return ax


def clustering(
    sketch: Sketch,
    found: Clustering | None = None,
    rows: npt.ArrayLike | None = None,
    ax: Axes | None = None,
    **how: Any,
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
    **how
        Passed on to `density`.

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
        _numbers("centroids", found.centers, ("K", n))
    ax = density(sketch, ax, **how)
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


def phase_diagram(
    ratios: npt.ArrayLike,
    values: npt.ArrayLike,
    success: npt.ArrayLike,
    lines: Mapping[str, npt.ArrayLike] | None = None,
    ax: Axes | None = None,
    label: str = "n",
) -> Axes:
    """Draw how often decoding succeeds, over m/(nK) and n or K: the paper's figure 2.

    Parameters
    ----------
    ratios : array-like of shape (R,)
        m/(nK), increasing.
    values : array-like of shape (V,)
        n or K, increasing.
    success : array-like of shape (V, R)
        Success rates, from 0 (black) to 1 (white); NaN where none was measured (hatched).
    lines : mapping of str to array-like of shape (V,), optional
        Transitions m/(nK), by what is to stand in the legend; NaN where there is none. Not drawn beyond the ratios.
    ax : Axes, optional
    label : str, default "n"
        What the values are.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import qckm.plots
    >>> ax = qckm.plots.phase_diagram([1, 2], [2, 4, 8], [[0, 1], [0.2, 1], [0, 0.9]], {"one bit": [1.5, 1.4, 1.6]})
    >>> ax.get_ylabel()
    'm / nK'
    """
    ratios, values = _sizes("ratios", ratios, increasing=True), _sizes("values", values, increasing=True)
    rates = _numbers("success", success, (values.size, ratios.size))
    if (rates < 0).any() or (rates > 1).any():
        raise QckmError(f"Expected success rates from 0 to 1, got {np.nanmin(rates):g} to {np.nanmax(rates):g}.")
    curves = {name: _numbers(f"line {name!r}", line, (values.size,)) for name, line in (lines or {}).items()}
    ax = _axes(ax)
    from matplotlib.patches import Patch

    # Cells stand side by side whatever their values, so that a grid of powers of two shows as one of equal cells.
    image = ax.imshow(rates.T, origin="lower", aspect="auto", cmap="gray", vmin=0, vmax=1)
    legend: list[Artist] = []
    heights = [np.full(values.size, np.nan)]
    colours = ["red", "gold", "deepskyblue", "limegreen"]
    for (name, curve), colour in zip(curves.items(), colours * len(curves), strict=False):
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 and less are beyond the grid
            # Rounded, so that what lies on the edge of the grid is not beyond it by its last bit.
            at, grid = np.log(curve).round(9), np.log(ratios).round(9)
        height = np.interp(at, grid, np.arange(ratios.size), left=np.nan, right=np.nan)
        heights.append(height)
        legend += ax.plot(height, "o-" if colour == "red" else "o:", color=colour, ms=4, lw=2, label=name)
    if np.isnan(rates).any():  # these cells are transparent, and every plain grey is a rate
        hatched: dict[str, Any] = {"facecolor": "0.85", "edgecolor": "0.4", "hatch": "xxx", "linewidth": 0}
        ax.patch.set(**hatched)
        legend.append(Patch(**hatched, label="not measured"))
    ax.set(xticks=np.arange(values.size), xticklabels=[f"{value:g}" for value in values], xlabel=label)
    ax.set(yticks=np.arange(ratios.size), yticklabels=[f"{ratio:g}" for ratio in ratios], ylabel="m / nK")
    if legend:
        # At the right, where the lines are not.
        low = (np.concatenate([height[-(values.size // 3) :] for height in heights]) < (ratios.size - 1) / 2).any()
        ax.legend(handles=legend, fontsize=8, loc="upper right" if low else "lower right")
    _figure(ax).colorbar(image, ax=ax, label="success rate")
    return ax


def trade_off(
    curves: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    ax: Axes | None = None,
    xlabel: str = "bytes kept",
    ylabel: str = "SSE / k-means of all rows",
) -> Axes:
    """Draw what quality costs: the SSE over that of k-means, against the size of what is kept or acquired.

    Parameters
    ----------
    curves : mapping of str to (sizes, ratios)
        Each of shape (S,), or ratios of shape (trials, S): then the median is drawn, and the quartiles as a band.
        NaN is a trial that was not measured.
    ax : Axes, optional
    xlabel, ylabel : str

    Returns
    -------
    Axes

    Examples
    --------
    >>> import qckm.plots
    >>> qckm.plots.trade_off({"one bit": ([1000, 4000], [1.3, 1.01])}).get_xscale()
    'log'
    """
    drawn = {}
    for name, (sizes, ratios) in curves.items():
        x = _sizes(f"sizes of {name!r}", sizes)
        drawn[name] = x, np.atleast_2d(_numbers(f"ratios of {name!r}", ratios, (x.size,), ("trials", x.size)))
    ax = _axes(ax)
    from matplotlib.ticker import LogLocator, NullFormatter

    for name, (x, y) in drawn.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a size without any trial is a gap
            low, middle, high = np.nanquantile(y, [0.25, 0.5, 0.75], axis=0)
        (line,) = ax.plot(x, middle, "o-", ms=4, label=name)
        if len(y) > 1:
            ax.fill_between(x, low, high, color=line.get_color(), alpha=0.2, lw=0)
    ax.axhline(1, color="0.6", lw=0.8, zorder=0)
    ax.set(xscale="log", xlabel=xlabel, ylabel=ylabel)
    left, right = ax.get_xlim()
    if right < 1000 * left:  # of a decade or two, powers of ten alone are few
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    if curves:
        ax.legend(fontsize=8)
    return ax


def convergence(
    sizes: npt.ArrayLike,
    errors: Mapping[str, npt.ArrayLike],
    rate: float | None = -0.5,
    ax: Axes | None = None,
    xlabel: str = "rows",
    ylabel: str = "error",
) -> Axes:
    """Draw how errors fall as something grows (rows, frequencies, evaluations), with the slope of each.

    Parameters
    ----------
    sizes : array-like of shape (S,)
    errors : mapping of str to array-like of shape (S,)
        Positive errors; the legend tells their slopes on logarithmic axes. Others (0, NaN) leave a gap.
    rate : float or None, default −0.5
        The slope to compare with, drawn as a dashed line above all errors.
    ax : Axes, optional
    xlabel, ylabel : str

    Returns
    -------
    Axes

    Examples
    --------
    >>> import qckm.plots
    >>> ax = qckm.plots.convergence([10, 100], {"a sketch": [0.1, 0.032]})
    >>> ax.get_legend_handles_labels()[1]
    ['a sketch: slope −0.49', 'slope −0.5']
    """
    x = _sizes("sizes", sizes)
    curves = {name: _numbers(f"errors of {name!r}", values, x.shape) for name, values in errors.items()}
    curves = {name: np.where(np.isfinite(y) & (y > 0), y, np.nan) for name, y in curves.items()}
    ax = _axes(ax)
    for name, y in curves.items():
        known = ~np.isnan(y)
        if np.unique(x[known]).size > 1:  # one place has no slope
            slope = np.polyfit(np.log(x[known]), np.log(y[known]), 1)[0]
            name = f"{name}: slope {_minus(f'{slope:.2f}')}"
        ax.plot(x, y, "o-", ms=4, label=name)
    if rate is not None and x.size > 1:
        power = x**rate
        above = 1.3 * np.fmax.reduce([y / power for y in curves.values()], axis=None, initial=0.0)
        if above > 0:
            ax.plot(x, above * power, "--", color=_ink(ax), lw=1, label=f"slope {_minus(f'{rate:g}')}")
    ax.set(xscale="log", xlabel=xlabel, ylabel=ylabel)
    if any(np.isfinite(y).any() for y in curves.values()):  # nothing at all has no place on a logarithmic axis
        ax.set_yscale("log")
    if curves:
        ax.legend(fontsize=8)
    return ax


def selection(count: ClusterCount, ax: Axes | None = None) -> Axes:
    """Draw what `choose_n_clusters` saw: the misfit of each K, what chance may leave, and the criterion.

    Parameters
    ----------
    count : ClusterCount
    ax : Axes, optional

    Returns
    -------
    Axes
        Those of the misfit; the criterion has its own scale on the right.
    """
    _require(count, ClusterCount)
    ax = _axes(ax)
    from matplotlib.ticker import LogFormatter, MaxNLocator

    lines = ax.plot(count.ks, count.objectives, "o-", ms=4, label="misfit")
    if (count.by_chance > 0).any():  # 0 has no place on a logarithmic axis
        lines += ax.plot(count.ks, count.by_chance, "--", color="0.6", lw=1, label="what chance may leave")
    ax.set(yscale="log", xlabel="clusters K", ylabel="misfit to the sketch")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    # Default margins have no room for a label beside "3 × 10⁻¹" on the left, nor beside "−12345" on the right.
    ax.yaxis.set(major_formatter=LogFormatter(), minor_formatter=LogFormatter())
    right = ax.twinx()
    lines += right.plot(count.ks, count.criterion, "s:", ms=4, color="tab:red", label="criterion")
    lines.append(ax.axvline(count.n_clusters, color=_ink(ax), lw=0.8, label=f"chosen: K = {count.n_clusters}"))
    right.set_title("criterion", loc="right", color="tab:red", size="medium")
    right.tick_params(axis="y", colors="tab:red", labelsize=8)
    ax.legend(handles=lines, fontsize=8)
    _figure(ax).sca(ax)  # not the twin, on which the next picture would be drawn
    return ax


def _axes(ax: Axes | None) -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError('Plots need matplotlib: pip install "qckm[plot]"') from error
    return plt.gca() if ax is None else ax


def _figure(ax: Axes) -> Any:
    return ax.get_figure()


def _ink(ax: Axes) -> Any:
    """Return a colour that stands out from the background, in dark styles as well: that of the labels."""
    return ax.xaxis.label.get_color()


def _require(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise QckmError(f"Expected a {kind.__name__}, got {type(value).__name__}.")


def _numbers(name: str, values: npt.ArrayLike, *shapes: tuple[int | str, ...]) -> Floats:
    """Return an array of one of the shapes, in which a word stands for any number."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise QckmError(f"Expected {name} to be numbers, got {values!r:.80}.") from error
    for shape in shapes:
        sizes = zip(shape, array.shape, strict=False)
        if len(shape) == array.ndim and all(isinstance(wanted, str) or wanted == size for wanted, size in sizes):
            return array
    expected = " or ".join(map(str, shapes)).replace("'", "")
    raise QckmError(f"Expected {name} of shape {expected}, got {array.shape}.")


def _sizes(name: str, values: npt.ArrayLike, increasing: bool = False) -> Floats:
    """Return numbers (S,) that a logarithmic axis can show."""
    array = _numbers(name, values, ("S",))
    if not (array.size and np.isfinite(array).all() and (array > 0).all()):
        raise QckmError(f"Expected {name} > 0, one or more, got {array}.")
    if increasing and (np.diff(array) <= 0).any():
        raise QckmError(f"Expected increasing {name}, got {array}.")
    return array


def _with_margin(sketch: Sketch, length: Floats) -> tuple[Sequence[float], Sequence[float]]:
    lower, upper = sketch.coded_bounds
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise QckmError("A sketch of no rows has nothing to show: sketch some rows first.")
    span = upper - lower
    # Rows within a step are one to the sketch, and what is to be seen is its kernel: it is over after four lengths.
    margin = np.where(span < sketch.operator.steps, 4 * length, 0.05 * span)
    return (lower - margin).tolist(), (upper + margin).tolist()


def _minus(number: str) -> str:
    return number.replace("-", "−")
