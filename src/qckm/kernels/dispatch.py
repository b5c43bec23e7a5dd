"""Which kernel an operator gets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qckm.kernels import reference
from qckm.kernels.cpu import Sketcher
from qckm.kernels.dense import Dense
from qckm.kernels.scratch import Measurement

Floats = npt.NDArray[np.float64]


def sketcher(
    frequency_codes: npt.NDArray[np.int16],
    dither_codes: npt.NDArray[np.int32],
    steps: Floats,
    origin: Floats,
    table: npt.NDArray[np.int16],
    paired: bool,
) -> Sketcher:
    """Prepare the kernel for an operator."""
    phases = dither_codes[np.newaxis].astype(np.int64)
    at_origin = reference.measure(phases, table, paired)[0].astype(np.int64)
    projection = Dense(frequency_codes, dither_codes, Measurement(table), paired)
    return Sketcher(projection, steps, origin, at_origin)
