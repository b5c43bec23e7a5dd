"""Who runs the decoder's loops: the C core, or NumPy where it was not built."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from qckm.common.arrays import Floats
from qckm.kernels import library
from qckm.kernels.sketcher import warn_of_slow_kernels

if TYPE_CHECKING:
    from qckm.decoding.model.waves import Misfit, Waves


class Rules(NamedTuple):
    """When a descent ends."""

    iterations: int  # at most
    every: int  # so many iterations, it is asked what they gained
    gain: float  # too little: no more than this times the value …
    least: float = 0.0  # … or times this, where the value is less
    slope: float = 0.0  # no derivative within the bounds is steeper


class Descent(NamedTuple):
    """Where a descent ended, the cost there and the evaluations it took."""

    x: Floats
    value: float
    evaluations: int


class Loops(Protocol):
    """The decoder's loops."""

    def atoms(self, waves: Waves, points: Floats, widths: Floats, axes: Floats) -> Floats:
        """Return the atoms (K, 2, m) of clusters."""

    def misfit(self, waves: Waves, points: Floats, weights: Floats, widths: Floats, axes: Floats) -> Misfit:
        """Return how far clusters are from explaining a sketch."""

    def ascend(
        self,
        waves: Waves,
        points: Floats,
        residual: Floats,
        damping: Floats,
        stride: float,
        steps: int,
        lower: Floats,
        upper: Floats,
    ) -> tuple[Floats, Floats, Floats]:
        """Climb to where the first harmonic correlates with a damped residual."""

    def correlation(self, waves: Waves, point: Floats) -> tuple[float, Floats]:
        """Return ⟨a, z⟩ / ‖a‖ of the atom of a point (n,) of no width, a pure tone, and its gradient."""

    def fit(
        self,
        waves: Waves,
        sizes: tuple[int, int, int],
        widths: Floats,
        evenness: float,
        start: Floats,
        low: Floats,
        high: Floats,
        rules: Rules,
    ) -> tuple[Descent, Floats]:
        """Fit K clusters with r axes each and so many free widths: 0, 1 for all, or K. `sizes` are these three numbers.

        What is moved are points, weights, free widths and axes, as one vector. Returned are also the widths. The value
        is the misfit, without the price of widths that differ.
        """

    def match(self, waves: Waves, start: Floats, low: Floats, high: Floats, rules: Rules) -> Descent:
        """Move a point (n,) to where its atom correlates best with z; the value is minus the correlation."""


def loops() -> Loops:
    """Return the fastest there are."""
    if library.load() is None:
        from qckm.decoding.model import numpy_loops

        warn_of_slow_kernels()
        return numpy_loops
    from qckm.decoding.model import c_loops

    return c_loops
