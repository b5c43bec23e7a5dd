"""What an operator should measure, and the integers that are drawn for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.kernels.reference import CODE_LIMIT, TURN
from qckm.operator.arguments import as_steps, power_of_two_below
from qckm.operator.codes import Codes
from qckm.operator.signatures import Signature

Dither = Literal["paired", "single"]

# Default resolution: a scale is cut into at least this many steps. A phase then moves by at most about
# ‖ω‖·scale/2048, and 32767 steps reach 16 to 32 scales either side of the origin.
STEPS_A_SCALE = 1024


class Drawn(NamedTuple):
    """The integers of an operator, and what a unit of a row's code is worth, (n,)."""

    codes: Codes
    steps: Floats


@dataclass(frozen=True, eq=False)
class OperatorRequest:
    """What an operator should measure.

    Parameters
    ----------
    n, m : int
    scale : float
        In units.
    units : ndarray of shape (n,)
    steps : ndarray of shape (n,), optional
        As they should be; by default as they must be for the scale and the extent.
    extent : ndarray of shape (n,), optional
        How far rows go from the origin, in data units.
    signature : Signature
    dither : {"paired", "single"}
    """

    n: int
    m: int
    scale: float
    units: Floats
    steps: Floats | None
    extent: Floats | None
    signature: Signature
    dither: Dither

    @property
    def usual_steps(self) -> Floats:
        """The steps (n,) that are wanted, or else as fine as the scale asks for."""
        if self.steps is not None:
            return self.steps
        return as_steps(power_of_two_below(self.scale * self.units / STEPS_A_SCALE), self.n)

    def steps_up_to(self, longest: Floats | float) -> Floats:
        """Return steps (n,) that reach as far as the extent, but are no longer than `longest` unless the usual are.

        They cost nothing that could be measured: phases are rounded to some 0.002, much less than a cluster is wide.
        """
        usual = self.usual_steps
        if self.steps is not None or self.extent is None:
            return usual
        needed = 2 * power_of_two_below(np.maximum(self.extent / CODE_LIMIT, usual / 2))
        return np.maximum(usual, power_of_two_below(np.minimum(needed, longest)))

    def draw_dither(self, m: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
        """Draw the dither of m frequencies, none where that needs none."""
        return draw_dither(m, self.signature, self.dither, rng)


def needs_no_dither(signature: Signature, dither: Dither) -> bool:
    """Whether a dither of 0 will do: a pair of a pure tone needs none, as in CKM."""
    return dither == "paired" and signature.is_pure_tone


def draw_dither(m: int, signature: Signature, dither: Dither, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """Draw the dither codes (m,) of frequencies."""
    if needs_no_dither(signature, dither):
        return np.zeros(m, np.int32)
    return rng.integers(0, TURN, size=(m,), dtype=np.int32)
