"""What sketches see over the plane, a picture's numbers: the density of their rows, or by how much it has risen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.model.sketch_model import FirstHarmonicModel
from qckm.drift.drift_result import Drift
from qckm.errors import QckmError
from qckm.sketch import Sketch


class Plane(NamedTuple):
    """Heights (rows, columns) from the bottom up, and where they begin and end."""

    heights: Floats
    lower: Floats  # (2,)
    upper: Floats  # (2,)


def density(sketch: Sketch, resolution: int) -> Plane:
    """Return the correlation of a sketch with the atom of each place where it has rows."""
    model = FirstHarmonicModel.of(sketch)
    return _heights(model, model.z, [sketch], resolution)


def witness_map(drift: Drift, resolution: int) -> Plane:
    """Return by how much the density, as the sketches see it, has risen at each place of the plane."""
    before, after = drift.before, drift.after
    return _heights(FirstHarmonicModel.of(after), after.values() - before.values(), [before, after], resolution)


def _heights(model: FirstHarmonicModel, values: Floats, sketches: list[Sketch], resolution: int) -> Plane:
    """Return the correlation of values (M,) with the atoms of all places that some sketches reach to."""
    operator = sketches[0].operator
    if operator.n_features != 2:
        raise QckmError(
            f"Expected sketches of 2 features, got {operator.n_features}: a plane through more would show what happens "
            "to lie in it. Sketch two columns, or two principal components."
        )
    lower = np.minimum.reduce([sketch.coded_bounds[0] for sketch in sketches])
    upper = np.maximum.reduce([sketch.coded_bounds[1] for sketch in sketches])
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise QckmError("A sketch of no rows has nothing to show: sketch some rows first.")
    # Rows within a step are one to the sketch, and what is to be seen is its kernel: it is over after four lengths.
    margin = np.where(upper - lower < operator.steps, 4 * model.length, 0.05 * (upper - lower))
    lower, upper = lower - margin, upper + margin
    norm = model.amplitude**2 * model.phases.size * (1.0 if model.paired else 0.5)
    x, heights = np.linspace(lower[0], upper[0], resolution), np.empty((resolution, resolution))
    # A line at a time: all atoms at once would be resolution² × M numbers.
    for row, y in enumerate(np.linspace(lower[1], upper[1], resolution)):
        places = model.to_points(np.column_stack([x, np.full(resolution, y)]))
        heights[row] = model.atoms(places) @ values / norm
    return Plane(heights, lower, upper)
