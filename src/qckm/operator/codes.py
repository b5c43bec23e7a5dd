"""The integers of an operator: frequencies and dither, given as they are or made from a recipe.

Octaves are the same frequencies at several scales, a factor 2 apart, for data whose scale nobody knows yet: block j of
the codes is 2ʲ times block 0, exactly. Octave 0 has the lowest frequencies and the coarsest scale, the last one the
finest. One integer projection, shifted, gives them all (kernels/README.md). Which one suits the data is decided after
the pass (decoding/search/scales.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Array, Value
from qckm.errors import OperatorError
from qckm.kernels.reference import CODE_LIMIT, TURN
from qckm.operator.recipe import Recipe
from qckm.operator.structured import StructuredCodes

# An int16 other than 0 cannot be doubled more often.
MOST_OCTAVES = 15


@dataclass(frozen=True, eq=False)
class Codes(Value):
    """Frequencies and dither.

    Parameters
    ----------
    frequency_codes : ndarray of int16, shape (n, m), or StructuredCodes
    dither_codes : ndarray of int32, shape (m,)
        In 2**24ths of a turn.
    octaves : int
        At how many scales, a factor 2 apart, frequencies are measured: block j of them is 2**j times block 0.
    recipe : Recipe, optional
        What they were made from, where a file is to hold that in their place.
    """

    frequency_codes: npt.NDArray[np.int16] | StructuredCodes
    dither_codes: npt.NDArray[np.int32]
    octaves: int = 1
    recipe: Recipe | None = None

    def __post_init__(self) -> None:
        codes, dither = self.frequency_codes, self.dither_codes
        if isinstance(codes, np.ndarray) and (codes.dtype != np.int16 or (codes < -CODE_LIMIT).any()):
            raise OperatorError(f"Expected frequency codes as int16 from {-CODE_LIMIT} to {CODE_LIMIT}.")
        if dither.dtype != np.int32 or (dither < 0).any() or (dither >= TURN).any():
            raise OperatorError("Expected dither codes as int32 within one turn, 0 to 2**24 - 1.")
        n, m = codes.shape
        if dither.shape != (m,):
            raise OperatorError(f"Expected dither ({m},) for frequencies ({n}, {m}), got {dither.shape}.")
        # Kernels project the lowest octave alone, and shift.
        if self.octaves != 1 and (isinstance(codes, StructuredCodes) or not _are_octaves(codes, self.octaves)):
            raise OperatorError(
                f"Expected frequencies of {self.octaves} octaves, each exactly twice those of the last, got others."
            )
        if self.recipe is not None and self.recipe.octaves != self.octaves:
            raise OperatorError(f"Expected the recipe's {self.recipe.octaves} octaves, got {self.octaves}.")
        for array in (codes, dither):
            array.setflags(write=False)

    @classmethod
    def made_from(cls, recipe: Recipe) -> Self:
        """Make them from a recipe: the file of those that are many has the recipe, if reading it takes no gigabytes."""
        return cls(recipe.frequencies(), recipe.dither(), recipe.octaves, recipe if recipe.is_small else None)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, m)."""
        n, m = self.frequency_codes.shape
        return int(n), int(m)

    def to_bytes(self) -> bytes:
        """Return the integers, little-endian, one array after the other."""
        codes = self.frequency_codes
        arrays: list[tuple[Array, str]] = [(self.dither_codes, "<i4")]
        if isinstance(codes, StructuredCodes):
            arrays = [(codes.packed_signs(), "u1"), (codes.factors, "<i4"), (codes.radii, "<i4"), *arrays]
        else:
            arrays = [(codes, "<i2"), *arrays]
        return b"".join(array.astype(kind).tobytes() for array, kind in arrays)


def _are_octaves(codes: npt.NDArray[np.int16], octaves: int) -> bool:
    """Whether codes (n, total) are those of so many octaves."""
    m, rest = divmod(codes.shape[1], octaves) if 0 < octaves <= MOST_OCTAVES else (0, 1)
    # In int32, as the double of an int16 may be none. One row mostly tells.
    return not rest and all(
        np.array_equal(some[:, m:], 2 * some[:, : codes.shape[1] - m].astype(np.int32)) for some in (codes[:1], codes)
    )


def count_octaves(codes: npt.NDArray[np.int16]) -> int:
    """Return how many octaves codes (n, total) seem to be made of, 1 if of none: those of files do not always say it.

    Examples
    --------
    >>> import numpy as np
    >>> count_octaves(np.array([[3, 5, 6, 10, 12, 20]], np.int16)), count_octaves(np.array([[3, 5, 6, 11]], np.int16))
    (3, 1)
    """
    some = range(2, min(MOST_OCTAVES, codes.shape[1]) + 1) if codes.any() else ()
    return next((octaves for octaves in some if _are_octaves(codes, octaves)), 1)
