"""What a row is sampled by: a hash of its values, and how far from a center it is.

`screen` finds the rows that a sample may hold: in the C core (kernels/core/screening_inc.h), or by NumPy, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.kernels import library
from qckm.kernels.calling import Struct, call, fields, floats
from qckm.kernels.library import RowsAt

Hashes = npt.NDArray[np.uint64]

_MASK = (1 << 64) - 1
# The constants of splitmix64 (Steele, Lea and Flood 2014): its increment, and the multipliers of its last step.
_INCREMENT, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB

# A level at most: keys of 24 bits still tell rows apart. A row whose square is no number, which pilot.py refuses, is
# sampled like one in the middle.
_MOST_LEVEL, _BEYOND = 40, 1e300
# The table of counts: by chance others add 1 in 32 768 of all to a place; all four places of a row are shared with
# frequent ones in a row of a million, if a thousand are frequent.
_TABLES, _PLACES = 4, 1 << 15
# Any number: a second hash, for the places, is mixed from the first with it.
_FOR_PLACES = np.uint64(0xD6E8FEB86659FD93)


class _Screening(Struct):
    _fields_ = fields(
        integers="n limit key_limit",
        numbers="beyond share total",
        arrays="multipliers center factors weights table hashes chosen",
    )


@dataclass(frozen=True, eq=False)
class Screen:
    """What rows pass: a hash or a key within its limit (keys are hashes shifted by the level), or a share of all."""

    seed: int
    center: Floats  # (n,)
    factors: Floats  # (n,): differences from the center, times the factors, squared, add up to d² / mean d²
    limit: np.uint64
    key_limit: np.uint64
    share: float

    def keys(self, hashes: Hashes, rows: Floats) -> Hashes:
        """Return the keys of rows (rows, n)."""
        return hashes >> levels_of(squares_of(rows, self.center, self.factors)).astype(np.uint64)

    def holds(self, hashes: Hashes, rows: Floats) -> npt.NDArray[np.bool_]:
        """Return which rows are within a limit."""
        return (hashes <= self.limit) | (self.keys(hashes, rows) <= self.key_limit)


def no_counts() -> Floats:
    """Return the table of no rows."""
    return np.zeros((_TABLES, _PLACES))


def screen(
    rows: npt.NDArray[Any], weights: Floats | None, screen: Screen, table: Floats, total: float
) -> tuple[npt.NDArray[np.intp], Hashes, float]:
    """Count rows (rows, n) in the table, in place; return where those are that pass, all hashes, and the new total.

    Rows of weight 0 and those that are not finite are none.
    """
    if library.load() is None:
        return _screen_by_numpy(rows, weights, screen, table, total)
    held, hashes, chosen = library.native(rows), np.empty(len(rows), np.uint64), np.empty(len(rows), bool)
    how = _Screening(
        rows.shape[1], int(screen.limit), int(screen.key_limit), _BEYOND, screen.share, total,
        _odd_numbers(1 + rows.shape[1], screen.seed), floats(screen.center), floats(screen.factors),
        0 if weights is None else floats(weights), table, hashes, chosen,
    )  # fmt: skip
    call("qckm_screen", RowsAt.of(held), how)
    return np.flatnonzero(chosen), hashes, how.total


def _screen_by_numpy(
    rows: npt.NDArray[Any], weights: Floats | None, screen: Screen, table: Floats, total: float
) -> tuple[npt.NDArray[np.intp], Hashes, float]:
    values = canonical(rows)
    heavy = np.ones(len(rows)) if weights is None else weights
    hashes = hash_rows(values, screen.seed)
    (good,) = np.nonzero(np.isfinite(values).all(axis=1) & (heavy > 0))
    places, chosen = places_of(hashes[good]), np.zeros(len(rows), bool)
    for counts, place in zip(table, places, strict=True):
        np.add.at(counts, place, heavy[good])  # one after the other, as the C core does
    total = float(np.add.accumulate([total, *heavy[good]])[-1])
    chosen[good] = screen.holds(hashes[good], values[good]) | (least_of(table, places) >= screen.share * total)
    return np.flatnonzero(chosen), hashes, total


def places_of(hashes: Hashes) -> npt.NDArray[np.intp]:
    """Return the places (_TABLES, P) of hashes (P,)."""
    bits = mixed(hashes ^ _FOR_PLACES)
    width = np.uint64(_PLACES.bit_length() - 1)
    shifts = np.arange(_TABLES, dtype=np.uint64)[:, np.newaxis] * width
    return ((bits >> shifts) & np.uint64(_PLACES - 1)).astype(np.intp)


def least_of(table: Floats, places: npt.NDArray[np.intp]) -> Floats:
    """Return the least number in the places (_TABLES, P) of each row, (P,)."""
    least: Floats = np.min([counts[place] for counts, place in zip(table, places, strict=True)], axis=0)
    return least


def canonical(rows: npt.NDArray[Any]) -> Floats:
    """Return rows (rows, n) as float64, in which equal values have equal bytes: -0.0 becomes 0.0."""
    with np.errstate(invalid="ignore"):  # NaNs that signal are NaNs
        values: Floats = np.add(rows, 0.0, dtype=np.float64, order="C")
    return values


def hash_rows(rows: Floats, seed: int) -> Hashes:
    """Hash canonical rows (rows, n): a sum of odd multiples of the columns' bits, modulo 2⁶⁴, mixed by splitmix64.

    Examples
    --------
    >>> import numpy as np
    >>> some = np.array([[1, -0.0], [1, 0.0]], np.float32)
    >>> len(set(hash_rows(canonical(some), seed=0).tolist()))
    1
    """
    bits = rows.view(np.uint64)
    # Whole numbers have zeros in their low bits, which a product with an odd number would leave there.
    folded = bits ^ (bits >> np.uint64(32))
    start, *multipliers = _odd_numbers(1 + rows.shape[1], seed)
    # The start is there for a row of zeros, whose hash would be 0 with every seed.
    return mixed(folded @ np.array(multipliers, np.uint64) + start)


def mixed(hashes: Hashes) -> Hashes:
    """Mix the bits of each number: the last step of splitmix64, one-to-one. The array is overwritten and returned."""
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        hashes ^= hashes >> np.uint64(shift)
        hashes *= np.uint64(factor)
    hashes ^= hashes >> np.uint64(31)
    return hashes


def _odd_numbers(count: int, seed: int) -> Hashes:
    """Return odd numbers, by splitmix64 from the seed on."""
    steps = np.array([(seed + (j + 1) * _INCREMENT) & _MASK for j in range(count)], np.uint64)
    return mixed(steps) | np.uint64(1)


def squares_of(rows: Floats, center: Floats, factors: Floats) -> Floats:
    """Return Σ ((x − center) · factor)² of canonical rows (rows, n); 0 where that is no number."""
    squares = np.zeros(len(rows))
    with np.errstate(over="ignore", under="ignore"):
        # In this order, whatever the processor: nothing that is sampled depends on it.
        for column, middle, factor in zip(rows.T, center, factors, strict=True):
            squares += ((column - middle) * factor) ** 2
    squares[squares > _BEYOND] = 0.0
    return squares


def levels_of(squares: Floats) -> npt.NDArray[np.int32]:
    """Return log₂ (1 + square), rounded down.

    Examples
    --------
    >>> import numpy as np
    >>> levels_of(np.array([0.0, 1.0, 9.0])).tolist()
    [0, 1, 3]
    """
    levels: npt.NDArray[np.int32] = np.minimum(np.frexp(1.0 + squares)[1] - 1, _MOST_LEVEL)
    return levels
