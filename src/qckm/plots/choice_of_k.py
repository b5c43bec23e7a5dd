"""The choice of K: the misfit of each, what chance may leave, and the criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qckm.decoding.selection import ClusterCount
from qckm.plots.axes import as_axes, figure_of, ink_of
from qckm.plots.inputs import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    require(count, ClusterCount)
    ax = as_axes(ax)
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
    lines.append(ax.axvline(count.n_clusters, color=ink_of(ax), lw=0.8, label=f"chosen: K = {count.n_clusters}"))
    right.set_title("criterion", loc="right", color="tab:red", size="medium")
    right.tick_params(axis="y", colors="tab:red", labelsize=8)
    ax.legend(handles=lines, fontsize=8)
    figure_of(ax).sca(ax)  # not the twin, on which the next picture would be drawn
    return ax
