"""Where rows have been added or taken away: the witness function, the difference of two densities as sketches see them.

At each place c it is the correlation of the atom of c with the difference of the sketches. Rows that have come are
hills of it, rows that have gone are valleys. Over the plane it makes a picture, as the density of one sketch does: the
correlation with that sketch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.clouds.totals import measure
from qckm.decoding.model.mixture import Density, Problem, predict
from qckm.decoding.model.sketch_model import FirstHarmonicModel, SketchModel
from qckm.decoding.search.search import Search
from qckm.drift.changes import Changes, LabelledCloud
from qckm.drift.reference_rows import Whitening
from qckm.errors import QckmError
from qckm.sketch import Sketch

_STARTS = 90
_PEAKS = 12
_JUDGES = 200


@dataclass(frozen=True, eq=False)
class Witness:
    """The second of two sketches, whose rows may be new, and the first's mean and typical spread of clusters."""

    model: SketchModel
    sketch: Sketch
    mean: Floats  # (M,)
    spread: float  # in units
    centers: Floats

    @classmethod
    def of(cls, before: Sketch, after: Sketch, cloud: LabelledCloud) -> Witness:
        """Prepare the search for new rows."""
        return cls(SketchModel.of(after), after, before.values(), float(np.median(cloud.spreads)), cloud.centers)

    def column(self, place: Floats) -> Floats:
        """Return what rows at a place, spread as clusters typically are, add to the difference, (M, 1)."""
        column: Floats = self._atoms(place[np.newaxis])[0] - self.mean
        return column[:, np.newaxis]

    def is_apart(self, place: Floats, changes: Changes, distance: float) -> bool:
        """Return whether a place is so many deviations or more from all new rows that were found."""
        units = self.sketch.operator.units * self.spread
        found = [option.place for option in changes.chosen if option.place is not None]
        return all(float(np.linalg.norm((place - other) / units)) > distance for other in found)

    def peak(self, changes: Changes, rng: np.random.Generator) -> Floats:
        """Return the place (n,) where rows would explain most of what the chosen changes leave over."""
        weighed = changes.left_over()
        starts = self._climbed(weighed, rng)
        best = max(starts, key=lambda place: self._gain(place, weighed, changes.whitening))
        return self.polish(best, changes)

    def judges(self, place: Floats, share: float, rng: np.random.Generator) -> Floats:
        """Return contributions of new rows at a place, of a share of all: they vary, too, and no cloud has them."""
        units = self.sketch.operator.units * self.spread
        rows = place + units * rng.standard_normal((_JUDGES, place.size))
        contributions = measure(self.sketch.operator, rows) - self.mean
        return np.asarray(np.sqrt(max(share, 0.0) / _JUDGES) * contributions)

    def _climbed(self, weighed: Floats, rng: np.random.Generator) -> Floats:
        """Return places (L, n) whose atoms correlate with a weighed difference (M,)."""
        model, (lower, upper) = self.model, self.sketch.coded_bounds
        problem = Problem(model.waves, model.to_points(lower), model.to_points(upper))
        search = Search(model, problem, len(self.centers), rng, np.inf)
        residual = np.zeros(model.waves.z.shape)
        halves = 2 if model.paired else 1
        residual[:halves, : model.n_frequencies] = weighed.reshape(halves, -1)
        spread = self.spread / model.spread
        near = model.to_points(self.centers[rng.integers(len(self.centers), size=_STARTS // 3)])
        near = near + 2 * spread * rng.standard_normal(near.shape)
        box = rng.uniform(problem.lower, problem.upper, size=(_STARTS // 3, near.shape[1]))
        starts = np.clip(np.concatenate([near, box, search.draw_starts(_STARTS // 3)]), problem.lower, problem.upper)
        return model.to_centers(search.climb(residual, starts, spread**2)[:_PEAKS])

    def _gain(self, place: Floats, weighed: Floats, whitening: Whitening) -> float:
        """Return how much of the difference rows at a place explain: places where little varies must explain more."""
        column = self.column(place)[:, 0]
        return float(max(column @ weighed, 0.0) / np.sqrt(max(whitening.form(column), 1e-300)))

    def polish(self, place: Floats, changes: Changes) -> Floats:
        """Return a place near another where the gain is greatest: what climbs above overshoots, away from clusters."""
        from scipy.optimize import minimize

        weighed, whitening = changes.left_over(), changes.whitening
        units, (lower, upper) = self.sketch.operator.units * self.spread, self.sketch.coded_bounds
        first = max(self._gain(place, weighed, whitening), 1e-300)
        options: dict[str, Any] = {"maxiter": 30, "eps": 1e-3}
        search: Any = minimize  # its types know no eps
        found = search(
            lambda x: -self._gain(x * units, weighed, whitening) / first,
            place / units,
            method="L-BFGS-B",
            bounds=list(zip((lower / units).tolist(), (upper / units).tolist(), strict=True)),
            options=options,
        )
        return np.asarray(found.x * units)

    def _atoms(self, places: Floats) -> Floats:
        none = np.zeros((1, 0, places.shape[1]))
        one, spread = np.ones(1), np.array([self.spread])
        return np.stack(
            [predict(self.sketch.operator, Density(place[np.newaxis], one, spread, none)) for place in places]
        )


class Plane(NamedTuple):
    """Heights (rows, columns) from the bottom up, and where they begin and end."""

    heights: Floats
    lower: Floats  # (2,)
    upper: Floats  # (2,)


def density_map(sketch: Sketch, resolution: int) -> Plane:
    """Return the correlation of a sketch with the atom of each place where it has rows."""
    model = FirstHarmonicModel.of(sketch)
    return _heights(model, model.z, [sketch], resolution)


def witness_map(before: Sketch, after: Sketch, resolution: int) -> Plane:
    """Return by how much the density, as two sketches see it, has risen at each place of the plane."""
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
