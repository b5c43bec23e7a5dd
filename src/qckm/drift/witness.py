"""Where rows have been added or taken away: the witness function, the difference of two densities as sketches see them.

At each place c it is the correlation of the atom of c with the difference of the sketches. Rows that have come are
hills of it, rows that have gone are valleys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.clouds.contributions import measure
from qckm.decoding.model.mixture import Density, predict
from qckm.decoding.model.sketch_model import SketchModel
from qckm.drift.changes import Changes
from qckm.drift.clouds import LabelledCloud
from qckm.drift.whitening import Whitening
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
        from qckm.decoding.fit.clusters import Problem
        from qckm.decoding.search.search import Search

        model, (lower, upper) = self.model, self.sketch.coded_bounds
        problem = Problem(model.waves, model.to_points(lower), model.to_points(upper))
        search = Search(problem, model.n_measurements, model.mean, model.deviation, rng, np.inf)
        residual = np.zeros(model.waves.z.shape)
        halves = 2 if model.paired else 1
        residual[:halves, : model.n_frequencies] = weighed.reshape(halves, -1)
        width = self.spread / model.spread
        near = model.to_points(self.centers[rng.integers(len(self.centers), size=_STARTS // 3)])
        near = near + 2 * width * rng.standard_normal(near.shape)
        box = rng.uniform(problem.lower, problem.upper, size=(_STARTS // 3, near.shape[1]))
        starts = np.clip(np.concatenate([near, box, search.draw_starts(_STARTS // 3)]), problem.lower, problem.upper)
        return model.to_centers(search.climb(residual, starts, width**2)[:_PEAKS])

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
