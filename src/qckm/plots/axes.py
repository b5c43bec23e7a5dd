"""What a plot is given, checked before anything is drawn, and the axes to draw on: only here pyplot is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.drift.witness import Plane
from qckm.errors import MissingExtraError, QckmError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.typing import ColorType


def require(value: object, kind: type) -> None:
    """Refuse what is not of a kind."""
    if not isinstance(value, kind):
        raise QckmError(f"Expected a {kind.__name__}, got {type(value).__name__}.")


def as_numbers(name: str, values: npt.ArrayLike, *shapes: tuple[int | str, ...]) -> Floats:
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


def draw_plane(plane: Plane, ax: Axes | None, names: tuple[str, ...] | None, colorbar: str | None) -> Axes:
    """Draw heights over the plane, from blue through white, which is 0, to red."""
    ax = as_axes(ax)
    (left, bottom), (right, top) = plane.lower, plane.upper
    limit = float(np.abs(plane.heights).max()) or 1.0
    colours: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
    image = ax.imshow(plane.heights, extent=(left, right, bottom, top), origin="lower", aspect="auto", **colours)
    if colorbar:
        figure_of(ax).colorbar(image, ax=ax, label=colorbar)
    first, second = names or ("feature 0", "feature 1")
    ax.set(xlabel=first, ylabel=second)
    return ax


def ink_of(ax: Axes) -> ColorType:
    """Return a colour that stands out from the background, in dark styles as well: that of the labels."""
    return ax.xaxis.label.get_color()
