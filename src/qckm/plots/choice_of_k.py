"""The choice of K: how many separate groups the clusters of each K form, and what they explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qckm.decoding.targets.n_clusters import ClusterCount
from qckm.plots.axes import as_axes, figure_of, ink_of
from qckm.plots.inputs import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    require(count, ClusterCount)
    ax = as_axes(ax)
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    lines = ax.plot(count.ks, count.groups, "o-", ms=4, label="separate groups")
    ax.set(xlabel="clusters K", ylabel="separate groups")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    right = ax.twinx()
    lines += right.plot(count.ks, count.variance_explained, "s:", ms=4, color="tab:red", label="variance explained")
    lines.append(ax.axvline(count.n_clusters, color=ink_of(ax), lw=0.8, label=f"chosen: K = {count.n_clusters}"))
    right.yaxis.set_major_formatter(PercentFormatter(1))
    right.set_title("variance explained", loc="right", color="tab:red", size="medium")
    right.tick_params(axis="y", colors="tab:red", labelsize=8)
    ax.legend(handles=lines, fontsize=8)
    figure_of(ax).sca(ax)  # not the twin, on which the next picture would be drawn
    return ax
