"""Maps of the plane: the density that a sketch sees, and the centroids found in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.model.first_harmonic import FirstHarmonicModel
from qckm.decoding.targets.kmeans import Clustering
from qckm.errors import QckmError
from qckm.operator.arguments import as_count
from qckm.plots.axes import as_axes, figure_of
from qckm.plots.inputs import as_numbers, require
from qckm.sketch import Sketch
from qckm.sources.rows import as_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RESOLUTION = 200


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
    require(sketch, Sketch)
    resolution = as_count("resolution", resolution)
    if sketch.operator.n_features != 2:
        raise QckmError(
            f"Expected a sketch of 2 features, got {sketch.operator.n_features}: a plane through more would show what "
            "happens to lie in it. Sketch two columns, or two principal components."
        )
    model = FirstHarmonicModel.of(sketch)
    (left, bottom), (right, top) = _with_margin(sketch, model.length)
    ax = as_axes(ax)
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
        figure_of(ax).colorbar(image, ax=ax, label="correlation with the sketch")
    names = sketch.operator.feature_names
    ax.set(xlabel=names[0] if names else "feature 0", ylabel=names[1] if names else "feature 1")
    return ax


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
    require(sketch, Sketch)
    n = sketch.operator.n_features
    dots = None if rows is None else as_rows(rows, n)
    if found is not None:
        require(found, Clustering)
        as_numbers("centroids", found.centers, ("K", n))
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


def _with_margin(sketch: Sketch, length: Floats) -> tuple[Sequence[float], Sequence[float]]:
    lower, upper = sketch.coded_bounds
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise QckmError("A sketch of no rows has nothing to show: sketch some rows first.")
    span = upper - lower
    # Rows within a step are one to the sketch, and what is to be seen is its kernel: it is over after four lengths.
    margin = np.where(span < sketch.operator.steps, 4 * length, 0.05 * span)
    return (lower - margin).tolist(), (upper + margin).tolist()
