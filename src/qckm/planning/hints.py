"""What a pilot tells a decoder."""

from __future__ import annotations

from dataclasses import dataclass

from qckm.common.arrays import Floats
from qckm.sketch import Sketch

# The squared distance between the sketches of all rows and of some of them, over what chance makes it. Measurements
# depend on each other, so that it strays from 1 more than their number suggests.
_BY_CHANCE = 2.5


@dataclass(frozen=True, eq=False)
class Hints:
    """A few rows, looked at before the pass.

    Parameters
    ----------
    centers, weights, spreads : ndarray of shape (K, n), (K,), (K,)
        Their k-means centroids, in data units; the share of the rows that is nearest to each; and the standard
        deviation of these around it, in one direction and in the operator's units.
    deviation : ndarray of shape (n,)
        The standard deviation of all of them by feature.
    sketch : Sketch
        Their sketch.
    """

    centers: Floats
    weights: Floats
    spreads: Floats
    deviation: Floats
    sketch: Sketch

    def represent(self, sketch: Sketch) -> bool:
        """Return whether the rows of a sketch may be more of the same: only chance tells the two sketches apart."""
        distance = float(((sketch.values() - self.sketch.values()) ** 2).sum())
        return distance <= _BY_CHANCE * self.sketch.sampling_noise()
