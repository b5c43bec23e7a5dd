"""Which kernel an operator gets."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from qckm.kernels import reference
from qckm.kernels.cpu import Projection, Sketcher
from qckm.kernels.dense import Dense
from qckm.kernels.octaves import Octaves
from qckm.kernels.scratch import Measurement
from qckm.kernels.structured import Structured

Floats = npt.NDArray[np.float64]

# Of so few features a projection costs less than to keep it for the next octave.
_FEW_FEATURES = 2


class Structure(Protocol):
    """The integers of structured frequencies."""

    @property
    def signs(self) -> npt.NDArray[np.int8]:
        """Diagonals of the blocks, ±1 (blocks, 3, size)."""

    @property
    def factors(self) -> npt.NDArray[np.int32]:
        """What codes are multiplied by, (n,)."""

    @property
    def radii(self) -> npt.NDArray[np.int32]:
        """Radii of the frequencies, (m,)."""


def sketcher(
    frequency_codes: npt.NDArray[np.int16] | Structure,
    dither_codes: npt.NDArray[np.int32],
    steps: Floats,
    origin: Floats,
    table: npt.NDArray[np.int16],
    paired: bool,
    octaves: int = 1,
) -> Sketcher:
    """Prepare the kernel for an operator's frequencies, dither and signature."""
    measurement = Measurement(table)
    projection: Projection
    if isinstance(frequency_codes, np.ndarray) and octaves > 1 and len(frequency_codes) > _FEW_FEATURES:
        projection = Octaves(frequency_codes, dither_codes, measurement, paired, octaves)
    elif isinstance(frequency_codes, np.ndarray):
        projection = Dense(frequency_codes, dither_codes, measurement, paired)
    else:
        signs, factors, radii = frequency_codes.signs, frequency_codes.factors, frequency_codes.radii
        projection = Structured(signs, factors, radii, dither_codes, measurement, paired)
    phases = dither_codes[np.newaxis].astype(np.int64)  # of a row at the origin
    at_origin = reference.measure(phases, table, paired)[0].astype(np.int64)
    return Sketcher(projection, steps, origin, at_origin)
