"""Results of experiments as pictures: quality against size, errors that fall."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def trade_off(
    ax: Axes,
    curves: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    xlabel: str = "bytes kept",
    ylabel: str = "SSE / k-means of all rows",
) -> None:
    """Draw what quality costs: the SSE over that of k-means, against the size of what is kept or acquired.

    Each curve has sizes (S,) and ratios, (S,) or (trials, S): then the median is drawn, and the quartiles as a band.
    NaN is a trial that was not measured.
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    for name, (sizes, ratios) in curves.items():
        trials = np.atleast_2d(np.asarray(ratios, float))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a size without any trial is a gap
            low, middle, high = np.nanquantile(trials, [0.25, 0.5, 0.75], axis=0)
        (line,) = ax.plot(sizes, middle, "o-", ms=4, label=name)
        if len(trials) > 1:
            ax.fill_between(sizes, low, high, color=line.get_color(), alpha=0.2, lw=0)
    ax.axhline(1, color="0.6", lw=0.8, zorder=0)
    ax.set(xscale="log", xlabel=xlabel, ylabel=ylabel)
    left, right = ax.get_xlim()
    if right < 1000 * left:  # of a decade or two, powers of ten alone are few
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    if curves:
        ax.legend(fontsize=8)


def convergence(
    ax: Axes,
    sizes: npt.ArrayLike,
    errors: Mapping[str, npt.ArrayLike],
    xlabel: str = "rows",
    ylabel: str = "error",
) -> None:
    """Draw how errors fall as something grows, with the slope of each, and above them the slope −½ to compare with.

    Errors that are 0 or NaN leave a gap.
    """
    x = np.asarray(sizes, float)
    curves = {name: np.asarray(values, float) for name, values in errors.items()}
    curves = {name: np.where(np.isfinite(y) & (y > 0), y, np.nan) for name, y in curves.items()}
    for name, y in curves.items():
        known = ~np.isnan(y)
        if np.unique(x[known]).size > 1:  # one place has no slope
            slope = np.polyfit(np.log(x[known]), np.log(y[known]), 1)[0]
            name = f"{name}: slope {slope:.2f}".replace("-", "−")
        ax.plot(x, y, "o-", ms=4, label=name)
    above = 1.3 * np.fmax.reduce([y * np.sqrt(x) for y in curves.values()], axis=None)
    ax.plot(x, above / np.sqrt(x), "--", color="black", lw=1, label="slope −0.5")
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    ax.legend(fontsize=8)
