"""Results of experiments: success over a grid, quality against size, errors that fall."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from qckm.errors import QckmError
from qckm.plots.axes import as_axes, as_numbers, as_sizes, figure_of, ink_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


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
    ratios, values = as_sizes("ratios", ratios, increasing=True), as_sizes("values", values, increasing=True)
    rates = as_numbers("success", success, (values.size, ratios.size))
    if (rates < 0).any() or (rates > 1).any():
        raise QckmError(f"Expected success rates from 0 to 1, got {np.nanmin(rates):g} to {np.nanmax(rates):g}.")
    curves = {name: as_numbers(f"line {name!r}", line, (values.size,)) for name, line in (lines or {}).items()}
    ax = as_axes(ax)
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
    figure_of(ax).colorbar(image, ax=ax, label="success rate")
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
        x = as_sizes(f"sizes of {name!r}", sizes)
        drawn[name] = x, np.atleast_2d(as_numbers(f"ratios of {name!r}", ratios, (x.size,), ("trials", x.size)))
    ax = as_axes(ax)
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
    x = as_sizes("sizes", sizes)
    curves = {name: as_numbers(f"errors of {name!r}", values, x.shape) for name, values in errors.items()}
    curves = {name: np.where(np.isfinite(y) & (y > 0), y, np.nan) for name, y in curves.items()}
    ax = as_axes(ax)
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
            ax.plot(x, above * power, "--", color=ink_of(ax), lw=1, label=f"slope {_minus(f'{rate:g}')}")
    ax.set(xscale="log", xlabel=xlabel, ylabel=ylabel)
    if any(np.isfinite(y).any() for y in curves.values()):  # nothing at all has no place on a logarithmic axis
        ax.set_yscale("log")
    if curves:
        ax.legend(fontsize=8)
    return ax


def _minus(number: str) -> str:
    return number.replace("-", "−")
