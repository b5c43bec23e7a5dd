"""What a measurement becomes on a GPU: frequencies as bytes in the order of the tensor cores, dithers to match."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Int64s
from qckm.kernels import reference
from qckm.kernels.portable import Measurement

TILE = 16  # frequencies
# From here on the high byte of a frequency, whose low byte is in [−128, 127], would be 128: one too many.
_LARGE = 32640


@dataclass(frozen=True)
class Layout:
    """Frequencies (tiles, steps, loads, 32 lanes, 4 words), dithers (tiles, 8, 2), the features that come in twice."""

    frequencies: npt.NDArray[np.uint32]
    dithers: npt.NDArray[np.int32]
    again: npt.NDArray[np.int32]

    @property
    def n_steps(self) -> int:
        """How many steps of 16 or 32 features a row takes."""
        return int(self.frequencies.shape[1])


def features_again(frequency_codes: npt.NDArray[np.int16]) -> npt.NDArray[np.int32]:
    """Return the features of frequencies (n, m) that come in twice: one of their frequencies is too large for once."""
    return np.flatnonzero((frequency_codes >= _LARGE).any(axis=1)).astype(np.int32)


def lay_out(frequency_codes: npt.NDArray[np.int16], dither_codes: Int64s, n_tiles: int) -> Layout:
    """Lay out frequencies (n, m) and dithers (m,) for a number of tiles of 16, the last ones filled up with zeros.

    A frequency W is 256·high + low with bytes in [−128, 127]. One of 32640 or more is W − 256, and its feature comes in
    again, times 256. Codes count from 128 on (sums.cu), so that 128·ΣW goes into the dither.
    """
    whole: Int64s = frequency_codes.astype(np.int64)
    large = whole >= _LARGE
    again = features_again(frequency_codes)
    slots = np.concatenate([whole - 256 * large, 256 * large[again]])
    n_steps, width = steps_for(len(slots))
    padded = np.zeros((n_steps * width, n_tiles * TILE), np.int64)
    padded[: len(slots), : whole.shape[1]] = slots
    dithers = np.zeros(n_tiles * TILE, np.int64)
    dithers[: len(dither_codes)] = (dither_codes + 128 * whole.sum(axis=0)) % reference.TURN
    if len(slots) + 2 <= len(padded):
        # Codes of 256 and 1 take the dither in: what is a multiple of 2**16 of the first one's does not matter.
        padded[len(slots)] = (dithers >> 8) - 65536 * (dithers >> 8 >= _LARGE)
        padded[len(slots) + 1] = dithers & 255
    low = (padded + 128 & 255) - 128
    high = (padded - low) >> 8
    words = np.stack([_words(high), _words(low)], axis=2)  # tile, 16 features, high or low, lane, g or g + 8
    if width == 16:  # high and low bytes in one load
        words = words.transpose(0, 1, 3, 2, 4)
    else:  # the high bytes of 32 features in one, the low bytes in another
        words = words.reshape(n_tiles, n_steps, 2, 2, 32, 2).transpose(0, 1, 3, 4, 2, 5)
    return Layout(
        np.ascontiguousarray(words).reshape(n_tiles, n_steps, width // 16, 32, 4),
        np.ascontiguousarray((dithers % reference.TURN).astype(np.int32).reshape(n_tiles, 2, 8).transpose(0, 2, 1)),
        again,
    )


def steps_for(n_slots: int) -> tuple[int, int]:
    """Return in how many steps a row of so many features is multiplied, and the features of one: 16 or 32."""
    return (1, 16) if n_slots <= 16 else (-(-n_slots // 32), 32)


def _words(digits: Int64s) -> npt.NDArray[np.uint32]:
    """Pack bytes (slots, frequencies) as (tile, 16 features, lane, 2).

    Lane 4g + t has features 4t to 4t + 3 of frequency g, then of g + 8.
    """
    slots, frequencies = digits.shape
    split = digits.astype(np.int8).reshape(slots // 16, 4, 4, frequencies // TILE, 2, 8)
    by_lane = np.ascontiguousarray(split.transpose(3, 0, 5, 1, 4, 2))  # tile, 16 features, g, t, half, byte
    return by_lane.view(np.uint32)[..., 0].reshape(frequencies // TILE, slots // 16, 32, 2)


def pair_table(measurement: Measurement) -> npt.NDArray[np.int32]:
    """Return the signature's table (4096,), each entry with that a quarter turn on in its upper 16 bits."""
    table = measurement.table.astype(np.int64)
    pair = np.roll(table, -(reference.TABLE_SIZE // 4)) if measurement.paired else 0 * table
    return ((table & 0xFFFF) | (pair << 16)).astype(np.int64).astype(np.uint32, casting="unsafe").view(np.int32)
