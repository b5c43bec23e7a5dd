"""What public ranges of the columns tell: the coarsest scale that may be needed, and steps that reach their ends."""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats
from qckm.kernels.reference import CODE_LIMIT, TURN
from qckm.operator.arguments import power_of_two_below

# Clusters from as wide as K of them that fill the ranges to a sixteenth of that: what rows of unknown columns need.
_OCTAVES = 5
# The law, and its rms ‖ω‖ times a cluster's standard deviation: those of a pilot (planning/pilot.py).
LAW, _RADIANS = "integer-balanced", 0.65
# Codes of the lowest frequencies of this size are rounded by some per cent: still of their law, and known.
_LEAST_CODE = 16
# The component of a frequency along one feature is hardly ever more than so many times its rms.
_GREATEST = 6.0


def coarsest_scale(widths: Floats, n_clusters: int) -> float:
    """Return the scale for K clusters that fill ranges of these widths (n,), in units, evenly.

    A range of width W has the standard deviation W/√12. K clusters side by side share it, each K^(1/n) times narrower.

    Examples
    --------
    >>> import numpy as np
    >>> round(coarsest_scale(np.array([1.0]), 1), 3)
    0.444
    """
    deviation = np.sqrt((widths**2).mean()) / np.sqrt(12) / n_clusters ** (1 / widths.size)
    return float(deviation * np.sqrt(widths.size) / _RADIANS)


def choose_steps(half_widths: Floats, coarsest: Floats) -> Floats:
    """Return steps (n,): as fine as lets codes reach the ends of the ranges, unless the lowest frequencies need longer.

    A step is a power of two, so that the reach is one to two times the half-width.
    """
    reaching = 2 * power_of_two_below(half_widths / CODE_LIMIT)
    coded = _LEAST_CODE * coarsest * (2 * np.pi / TURN)
    return np.maximum(reaching, 2 * power_of_two_below(coded))


def choose_octaves(steps: Floats, coarsest: Floats) -> int:
    """Return how many octaves fit: the frequencies of the finest are to be int16 codes at these steps."""
    code = _GREATEST * float((steps / coarsest).max()) * TURN / (2 * np.pi)
    return max(1, min(_OCTAVES, 1 + int(np.floor(np.log2(CODE_LIMIT / code)))))
