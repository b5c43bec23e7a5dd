"""The axes to draw on, and what belongs to them. Only here is matplotlib.pyplot imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qckm.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def as_axes(ax: Axes | None) -> Axes:
    """Return the axes given, or else the current ones."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError('Plots need matplotlib: pip install "qckm[plot]"') from error
    return plt.gca() if ax is None else ax


def figure_of(ax: Axes) -> Any:
    """Return the figure of axes."""
    return ax.get_figure()


def ink_of(ax: Axes) -> Any:
    """Return a colour that stands out from the background, in dark styles as well: that of the labels."""
    return ax.xaxis.label.get_color()
