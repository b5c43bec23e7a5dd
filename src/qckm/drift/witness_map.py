"""The witness function over the plane: a picture's numbers, for plots and reports."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.model.first_harmonic import FirstHarmonicModel
from qckm.drift.drift_result import Drift
from qckm.errors import QckmError


class WitnessMap(NamedTuple):
    """Heights (rows, columns) from the bottom up, and where they begin and end."""

    heights: Floats
    lower: Floats  # (2,)
    upper: Floats  # (2,)


def witness_map(drift: Drift, resolution: int) -> WitnessMap:
    """Return by how much the density, as the sketches see it, has risen at each place of the plane."""
    n = drift.before.operator.n_features
    if n != 2:
        raise QckmError(
            f"Expected sketches of 2 features, got {n}: a plane through more would show what happens to lie in it."
        )
    model = FirstHarmonicModel.of(drift.after)
    bounds = drift.before.coded_bounds, drift.after.coded_bounds
    lower, upper = np.minimum(*(low for low, _ in bounds)), np.maximum(*(high for _, high in bounds))
    margin = np.where(upper - lower < drift.after.operator.steps, 4 * model.length, 0.05 * (upper - lower))
    lower, upper = lower - margin, upper + margin
    difference = drift.after.values() - drift.before.values()
    norm = model.amplitude**2 * model.phases.size * (1.0 if model.paired else 0.5)
    x, heights = np.linspace(lower[0], upper[0], resolution), np.empty((resolution, resolution))
    for row, y in enumerate(np.linspace(lower[1], upper[1], resolution)):
        places = model.to_points(np.column_stack([x, np.full(resolution, y)]))
        heights[row] = model.atoms(places) @ difference / norm
    return WitnessMap(heights, lower, upper)
