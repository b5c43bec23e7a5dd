"""The axes to draw on, and what belongs to them. Only here is matplotlib.pyplot imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qckm.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.typing import ColorType


def as_axes(ax: Axes | None) -> Axes:
    """Return the axes given, or else the current ones."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError('Plots need matplotlib: pip install "qckm[plot]"') from error
    return plt.gca() if ax is None else ax


def figure_of(ax: Axes) -> Figure | SubFigure:
    """Return the figure of axes."""
    figure = ax.get_figure()
    assert figure is not None  # only axes that were removed have none
    return figure


def ink_of(ax: Axes) -> ColorType:
    """Return a colour that stands out from the background, in dark styles as well: that of the labels."""
    return ax.xaxis.label.get_color()
