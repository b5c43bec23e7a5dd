"""Octaves: the same frequencies measured at several scales, a factor 2 apart, for data whose scale nobody knows yet.

Block j of the frequency codes is 2ʲ times block 0, exactly: octave 0 has the lowest frequencies and the coarsest scale,
the last one the finest. One integer projection, shifted, gives them all (kernels/README.md). Which octave suits the
data is decided after the pass (decoding/model/mixture.py).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.errors import OperatorError
from qckm.kernels.reference import CODE_LIMIT, TURN

# Codes of the lowest octave of this size on average are rounded by less than 4 %: still frequencies of their law, and
# the decoder knows what they were rounded to.
_LEAST_CODE = 8
# An int16 other than 0 cannot be doubled more often.
_MOST = 15


def steps_for(omega: Floats, steps: Floats, wanted: Floats, octaves: int) -> Floats:
    """Return steps (n,) for octaves, given those for the finest alone: longer, to reach further.

    Wanted are at least those of the middle octave: the data may be as large as the coarsest suits, and would saturate
    in the steps of the finest. Where the finest frequencies do not fit an int16 then, steps are as long as lets them.
    """
    most = max((octaves - 1) // 2, int((np.frexp(wanted)[1] - np.frexp(steps)[1]).max()))
    for longer in range(min(most, _MOST), 0, -1):
        if _largest(omega, np.ldexp(steps, longer), octaves) <= CODE_LIMIT:
            return np.ldexp(steps, longer)
    return steps


def octave_codes(omega: Floats, steps: Floats, octaves: int) -> npt.NDArray[np.int16]:
    """Return codes (n, octaves·m) of frequencies omega: (n, m) of the finest octave, and those of the others."""
    require_octaves(omega, steps, octaves)
    lowest = _lowest(omega, steps, octaves)
    return np.concatenate([np.ldexp(lowest, j) for j in range(octaves)], axis=1).astype(np.int16)


def require_octaves(omega: Floats, steps: Floats, octaves: int) -> None:
    """Refuse octaves of which the finest does not fit, or the lowest would be rounded away."""
    largest = _largest(omega, steps, octaves)
    if largest > CODE_LIMIT:
        raise OperatorError(
            f"The finest of {octaves} octaves does not fit: a frequency of {largest:.0f} in 2**24ths of a turn a step, "
            f"and int16 holds {CODE_LIMIT}. Use smaller steps or a larger scale."
        )
    lowest = _lowest(omega, steps, octaves)
    seen = (omega != 0).any(axis=1)
    least = np.sqrt((lowest[seen] ** 2).mean(axis=1)).min(initial=np.inf)
    if least < _LEAST_CODE:
        raise OperatorError(
            f"The lowest of {octaves} octaves would be rounded away: its frequencies are {least:.2g} in 2**24ths of a "
            f"turn a step, and at least {_LEAST_CODE} are needed. Use fewer octaves or larger steps."
        )


def count_octaves(codes: npt.NDArray[np.int16]) -> int:
    """Return how many octaves codes (n, total) are made of; 1 if of none.

    Examples
    --------
    >>> import numpy as np
    >>> count_octaves(np.array([[3, 5, 6, 10, 12, 20]], np.int16)), count_octaves(np.array([[3, 5, 6, 11]], np.int16))
    (3, 1)
    """
    total = codes.shape[1]
    for octaves in range(2, min(_MOST, total) + 1):
        m, rest = divmod(total, octaves)
        # In int32, as the double of an int16 may be none.
        if not rest and codes.any() and np.array_equal(codes[:, m:], 2 * codes[:, :-m].astype(np.int32)):
            return octaves
    return 1


def _lowest(omega: Floats, steps: Floats, octaves: int) -> Floats:
    codes: Floats = np.rint(omega * steps[:, np.newaxis] * (TURN / (2 * np.pi) / 2 ** (octaves - 1)))
    return codes


def _largest(omega: Floats, steps: Floats, octaves: int) -> float:
    return float(np.ldexp(np.abs(_lowest(omega, steps, octaves)).max(), octaves - 1))
