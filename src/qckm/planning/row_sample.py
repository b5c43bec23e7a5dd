"""A sample of rows that merges: the same rows and weights in whatever order, batches or partitions the rows come.

Each distinct row has a hash. The sample holds those of least hash, with their counts: that is a function of the set of
rows alone, and that of a union is found from those of its parts (bottom-k sampling). A row of a third of the data would
be missed like any other, so that rows of more than a share are held as well. They are found by a table of counts, which
is a sum, and therefore merges, too: a row's count is at most the least number in its places of the table (count-min,
Cormode and Muthukrishnan 2005).

A few rows far away may make up most of the squared distances. Around a pilot, looked at before, half of the rows are
therefore held by leverage: those of least key, which is the hash shifted right by the row's level. That is
log₂ (1 + d² / mean d²), rounded down, d being its distance from the pilot's mean. Whatever the pilot has missed, one
half stays uniform, and the other goes where the squares are.

The pilot has at most `size` rows: of what is held, each row stands for its count over the chance that it is held, and
they are drawn in proportion to that (priority sampling, Duffield, Lund and Thorup 2007). By leverage, they are drawn in
proportion to ½ + ½ d² / mean d² times that, the mean now being the one of all rows (a lightweight coreset, Bachem,
Lucic and Krause 2018). Sums over the pilot, weighted, are unbiased.

The rows that a sample may hold are found in the C core (kernels/core/screening_inc.h), or by NumPy, bit for bit.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.errors import RowsError
from qckm.kernels import library
from qckm.kernels.library import RowsAt, Struct, call, fields, floats
from qckm.kernels.threads import share
from qckm.planning.pilot import PILOT_ROWS, Pilot, pilot_of

# Distinct rows that are held for each row of the pilot. Drawn among them by their counts, rows that are there several
# times cost no precision, unless most are.
_HELD = 4
# A row's count may grow by what others add to its places after it was last seen: half of the limit is held already.
_EARLY = 0.5
# Rows that are hashed at a time, at most, and as float64 so many bytes: more, and they leave the cache.
_BLOCK, _BLOCK_BYTES = 1 << 16, 1 << 23
# Blocks of rows that one thread looks at alone.
_FIRST_BLOCKS = 4
_LAST = np.uint64(0xFFFFFFFFFFFFFFFF)
# A mean square at least: a pilot may be of one distinct row.
_SMALLEST = 1e-300

_MASK = (1 << 64) - 1
# The constants of splitmix64 (Steele, Lea and Flood 2014): its increment, and the multipliers of its last step.
_INCREMENT, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB

# A level at most: keys of 24 bits still tell rows apart. A row whose square is no number, which pilot.py refuses, is
# sampled like one in the middle.
_MOST_LEVEL, _BEYOND = 40, 1e300
# The table of counts: by chance others add 1 in 32 768 of all to a place; all four places of a row are shared with
# frequent ones in a row of a million, if a thousand are frequent.
_TABLES, _PLACES = 4, 1 << 15
# Any numbers: other hashes, for the places and for the draw, are mixed from the first with them.
_FOR_PLACES, _FOR_DRAW = np.uint64(0xD6E8FEB86659FD93), np.uint64(0xA0761D6478BD642F)

Hashes = npt.NDArray[np.uint64]
Piece = tuple[Hashes, Floats, Floats]  # hashes, rows, and counts of some rows


class _Screening(Struct):
    _fields_ = fields(
        integers="n limit key_limit",
        numbers="beyond share total",
        arrays="multipliers center factors weights table hashes chosen",
    )


@dataclass(frozen=True, eq=False)
class RowSample:
    """Rows that were held of all that were added.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(1000, 2))
    >>> all_rows = RowSample.empty(2, seed=0, size=10).added(rows)
    >>> half, rest = (RowSample.empty(2, seed=0, size=10).added(part) for part in (rows[500:], rows[:500]))
    >>> np.array_equal(half.merged(rest).pilot().rows, all_rows.pilot().rows)
    True
    """

    size: int  # of the pilot
    seed: int
    center: Floats  # (n,)
    factors: Floats  # (n,): differences from the center, times the factors, squared, add up to d² / mean d²
    total: float  # the weight of all rows
    table: Floats  # of counts, by hash
    hashes: Hashes  # (P,), ascending
    rows: Floats  # (P, n)
    counts: Floats  # (P,): of rows beyond both limits, what was counted since they were noticed
    # Of each row whose hash is not above the first, or whose key is not above the second, every copy was counted.
    limit: np.uint64 = _LAST
    key_limit: np.uint64 = _LAST  # 0 in a uniform sample

    @classmethod
    def empty(
        cls,
        n_features: int,
        seed: int,
        size: int = PILOT_ROWS,
        around: Pilot | None = None,
        units: Floats | None = None,
    ) -> RowSample:
        """Return the sample of no rows: uniform, or by leverage around a pilot, whose columns count in such units."""
        center, factors = np.zeros(n_features), np.zeros(n_features)
        if around is not None:
            in_units = np.ones(n_features) if units is None else units
            mean_square = float(((around.deviations / in_units) ** 2).sum())
            center, factors = around.mean, 1 / (in_units * np.sqrt(max(mean_square, _SMALLEST)))
        nothing = np.empty(0, np.uint64), np.empty((0, n_features)), np.empty(0)
        key_limit = np.uint64(0) if around is None else _LAST
        return cls(size, seed, center, factors, 0.0, _no_counts(), *nothing, key_limit=key_limit)

    def emptied(self) -> RowSample:
        """Return the sample of no rows that merges with this one: within its limits, as none beyond will be held."""
        no_hashes, no_rows, nothing = self.hashes[:0], self.rows[:0], self.counts[:0]
        return replace(self, total=0.0, table=_no_counts(), hashes=no_hashes, rows=no_rows, counts=nothing)

    def added(self, rows: npt.NDArray[Any], weights: npt.NDArray[Any] | None = None) -> RowSample:
        """Return the sample of these rows (rows, n) as well; a row of weight w is w rows, one with a NaN is none."""
        step = max(1, min(_BLOCK, _BLOCK_BYTES // (8 * rows.shape[1])))
        n_blocks = -(-len(rows) // step)
        whole = weights is None or weights.dtype.kind in "iub"
        if not whole or n_blocks <= _FIRST_BLOCKS:  # sums of real numbers depend on their order
            return self._with_blocks(rows, weights, step, range(n_blocks))
        # Threads go on from the limits of some rows, and hold few.
        first = self._with_blocks(rows, weights, step, range(_FIRST_BLOCKS))
        parts = share(
            lambda blocks: first.emptied()._with_blocks(rows, weights, step, (_FIRST_BLOCKS + i for i in blocks)),
            n_blocks - _FIRST_BLOCKS,
        )
        return reduce(RowSample.merged, parts, first)

    def _with_blocks(
        self, rows: npt.NDArray[Any], weights: npt.NDArray[Any] | None, step: int, blocks: Iterable[int]
    ) -> RowSample:
        """Return the sample with some blocks of rows, of so many each."""
        found, table, total = self, self.table.copy(), self.total
        pieces: list[Piece] = []
        waiting = 0
        for block in blocks:
            part = rows[block * step : (block + 1) * step]
            heavy = None if weights is None else np.asarray(weights[block * step : (block + 1) * step], np.float64)
            some, hashes, total = found._screen(part, heavy, table, total)
            pieces.append((hashes[some], _canonical(part[some]), np.ones(len(some)) if heavy is None else heavy[some]))
            waiting += len(some)
            if waiting > max(_BLOCK, 2 * len(found.hashes)):
                found, pieces, waiting = found._with(table, total, pieces), [], 0
        return found._with(table, total, pieces)

    def merged(self, other: RowSample) -> RowSample:
        """Return the sample of the rows of both."""
        ours, theirs = ((one.size, one.seed, one.center.tolist(), one.factors.tolist()) for one in (self, other))
        if ours != theirs:
            raise RowsError("Samples merge only if they are of one size, seed, number of columns, and center.")
        least = replace(self, limit=min(self.limit, other.limit), key_limit=min(self.key_limit, other.key_limit))
        pieces = [(other.hashes, other.rows, other.counts)]
        return least._with(self.table + other.table, self.total + other.total, pieces)

    def standing_for(self, count: float) -> RowSample:
        """Return a sample that stands for so many rows: only some of them may have been looked at."""
        return self if self.total in (0, count) else self.scaled(count / self.total)

    def scaled(self, factor: float) -> RowSample:
        """Return the sample in which each row is so many."""
        return replace(self, total=factor * self.total, table=factor * self.table, counts=factor * self.counts)

    def pilot(self) -> Pilot:
        """Draw the pilot, of at most `size` rows; the same sample gives the same."""
        if not len(self.hashes):
            raise RowsError("Expected rows of finite numbers, found none.")
        squares = _squares_of(self.rows, self.center, self.factors)
        known = self._is_within(self.hashes, self.rows)
        at_most = _least_of(self.table, _places_of(self.hashes))
        frequent = at_most >= self.total / self.size
        by_key = np.ldexp(_share_of(self.key_limit), _levels_of(squares))
        chance = np.minimum(1.0, np.maximum(_share_of(self.limit), by_key))
        stands_for = np.where(known, self.counts, at_most) / np.where(frequent, 1.0, chance)
        chosen = known | frequent
        hashes, rows, stands_for, squares = self.hashes[chosen], self.rows[chosen], stands_for[chosen], squares[chosen]
        if len(rows) > self.size:
            half = self.size / 2
            leverage = 1.0 + squares * (
                _threshold(stands_for, half) / max(_threshold(stands_for * squares, half), _SMALLEST)
            )
            draws = (_mixed(hashes ^ _FOR_DRAW).astype(np.float64) + 1.0) / 2**64
            priorities = leverage * stands_for / draws
            order = np.argsort(-priorities, kind="stable")
            least, order = float(priorities[order[self.size]]), order[: self.size]
            rows, stands_for = rows[order], np.maximum(stands_for[order], least / leverage[order])
        return pilot_of(rows, stands_for)

    def dumps(self) -> bytes:
        """Return the sample as bytes: arrays in NumPy's format."""
        (used,) = np.nonzero(self.table.ravel())
        out = io.BytesIO()
        np.savez(
            out,
            settings=np.array([self.size, self.seed, int(self.limit), int(self.key_limit)], np.uint64),
            center=self.center,
            factors=self.factors,
            total=np.array(self.total),
            used=used.astype(np.uint32),
            table=self.table.ravel()[used],
            hashes=self.hashes,
            rows=self.rows,
            counts=self.counts,
        )
        return out.getvalue()

    @classmethod
    def loads(cls, data: bytes) -> RowSample:
        """Return the sample of its bytes."""
        with np.load(io.BytesIO(data), allow_pickle=False) as held:
            size, seed, limit, key_limit = held["settings"]
            table = _no_counts()
            table.flat[held["used"]] = held["table"]
            arrays = {name: held[name] for name in ("center", "factors", "hashes", "rows", "counts")}
            limits = {"limit": limit, "key_limit": key_limit}
            return cls(size=int(size), seed=int(seed), total=float(held["total"]), table=table, **arrays, **limits)

    def _screen(
        self, rows: npt.NDArray[Any], weights: Floats | None, table: Floats, total: float
    ) -> tuple[npt.NDArray[np.intp], Hashes, float]:
        """Count rows (rows, n) in a table, in place; return where those are that may be held, hashes, the new total.

        May be held: rows within a limit, or of a share of all. Rows of weight 0 and those that are not finite are none.
        """
        if library.load() is None:
            return self._screen_by_numpy(rows, weights, table, total)
        hashes, chosen = np.empty(len(rows), np.uint64), np.empty(len(rows), bool)
        how = _Screening(
            rows.shape[1], int(self.limit), int(self.key_limit), _BEYOND, _EARLY / self.size, total,
            _odd_numbers(1 + rows.shape[1], self.seed), floats(self.center), floats(self.factors),
            0 if weights is None else floats(weights), table, hashes, chosen,
        )  # fmt: skip
        call("qckm_screen", RowsAt(rows), how)
        return np.flatnonzero(chosen), hashes, how.total

    def _screen_by_numpy(
        self, rows: npt.NDArray[Any], weights: Floats | None, table: Floats, total: float
    ) -> tuple[npt.NDArray[np.intp], Hashes, float]:
        values = _canonical(rows)
        heavy = np.ones(len(rows)) if weights is None else weights
        hashes = _hash_rows(values, self.seed)
        (good,) = np.nonzero(np.isfinite(values).all(axis=1) & (heavy > 0))
        places, chosen = _places_of(hashes[good]), np.zeros(len(rows), bool)
        for counts, place in zip(table, places, strict=True):
            np.add.at(counts, place, heavy[good])  # one after the other, as the C core does
        total = float(np.add.accumulate([total, *heavy[good]])[-1])
        often = _least_of(table, places) >= _EARLY / self.size * total
        chosen[good] = self._is_within(hashes[good], values[good]) | often
        return np.flatnonzero(chosen), hashes, total

    def _keys(self, hashes: Hashes, rows: Floats) -> Hashes:
        return hashes >> _levels_of(_squares_of(rows, self.center, self.factors)).astype(np.uint64)

    def _is_within(self, hashes: Hashes, rows: Floats) -> npt.NDArray[np.bool_]:
        """Return which rows are within a limit."""
        return (hashes <= self.limit) | (self._keys(hashes, rows) <= self.key_limit)

    def _with(self, table: Floats, total: float, pieces: list[Piece]) -> RowSample:
        """Return the sample with more rows, of which the table knows already: equal ones together, the least held."""
        hashes = np.concatenate([self.hashes, *(piece[0] for piece in pieces)])
        rows = np.concatenate([self.rows, *(piece[1] for piece in pieces)])
        counts = np.concatenate([self.counts, *(piece[2] for piece in pieces)])
        order = np.argsort(hashes, kind="stable")
        first = _begins(hashes, rows, order)
        if (first[1:] & (hashes[order[1:]] == hashes[order[:-1]])).any():  # rows that differ, of one hash
            order = np.lexsort((*rows.T, hashes))
            first = _begins(hashes, rows, order)
        (starts,) = np.nonzero(first)
        sums, order = np.add.reduceat(counts[order], starts) if len(starts) else counts, order[starts]
        hashes, most = hashes[order], _HELD * self.size
        keys = hashes
        if self.factors.any():
            keys, most = self._keys(hashes, rows[order]), most // 2
        limit, key_limit = _lowered(self.limit, hashes, most), _lowered(self.key_limit, keys, most)
        often = _least_of(table, _places_of(hashes)) >= _EARLY / self.size * total
        (kept,) = np.nonzero((hashes <= limit) | (keys <= key_limit) | often)
        return replace(
            self,
            total=total,
            table=table,
            hashes=hashes[kept],
            rows=rows[order[kept]],
            counts=sums[kept],
            limit=limit,
            key_limit=key_limit,
        )


def _lowered(limit: np.uint64, hashes: Hashes, most: int) -> np.uint64:
    """Return the limit, lowered where more than so many hashes are within it."""
    return limit if np.count_nonzero(hashes <= limit) <= most else np.partition(hashes, most - 1)[most - 1]


def _threshold(values: Floats, size: float) -> float:
    """Return the number t for which Σ min(1, value / t) is a size: what a sample of that size is drawn by."""
    falling = np.sort(values)[::-1]
    rest = np.cumsum(falling[::-1])[::-1]  # of this one and those after it
    bars = rest[: int(size)] / (size - np.arange(int(size)))
    return float(bars[np.argmax(falling[: len(bars)] <= bars)])


def _share_of(limit: np.uint64) -> float:
    """Return the chance that a hash is not above a limit."""
    return 1.0 if limit == _LAST else float(limit) / 2**64


def _begins(hashes: Hashes, rows: Floats, order: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Return which rows, in an order of their hashes, differ from the one before."""
    first = np.ones(len(hashes), bool)
    (same,) = np.nonzero(hashes[order[1:]] == hashes[order[:-1]])
    first[1 + same] = (rows[order[1 + same]] != rows[order[same]]).any(axis=1)
    return first


def _no_counts() -> Floats:
    return np.zeros((_TABLES, _PLACES))


def _places_of(hashes: Hashes) -> npt.NDArray[np.intp]:
    """Return the places (_TABLES, P) of hashes (P,)."""
    bits = _mixed(hashes ^ _FOR_PLACES)
    width = np.uint64(_PLACES.bit_length() - 1)
    shifts = np.arange(_TABLES, dtype=np.uint64)[:, np.newaxis] * width
    return ((bits >> shifts) & np.uint64(_PLACES - 1)).astype(np.intp)


def _least_of(table: Floats, places: npt.NDArray[np.intp]) -> Floats:
    """Return the least number in the places (_TABLES, P) of each row, (P,)."""
    least: Floats = np.min([counts[place] for counts, place in zip(table, places, strict=True)], axis=0)
    return least


def _canonical(rows: npt.NDArray[Any]) -> Floats:
    """Return rows (rows, n) as float64, in which equal values have equal bytes: -0.0 becomes 0.0."""
    with np.errstate(invalid="ignore"):  # NaNs that signal are NaNs
        values: Floats = np.add(rows, 0.0, dtype=np.float64, order="C")
    return values


def _hash_rows(rows: Floats, seed: int) -> Hashes:
    """Hash canonical rows (rows, n): a sum of odd multiples of the columns' bits, modulo 2⁶⁴, mixed by splitmix64."""
    bits = rows.view(np.uint64)
    # Whole numbers have zeros in their low bits, which a product with an odd number would leave there.
    folded = bits ^ (bits >> np.uint64(32))
    start, *multipliers = _odd_numbers(1 + rows.shape[1], seed)
    # The start is there for a row of zeros, whose hash would be 0 with every seed.
    return _mixed(folded @ np.array(multipliers, np.uint64) + start)


def _mixed(hashes: Hashes) -> Hashes:
    """Mix the bits of each number: the last step of splitmix64, one-to-one. The array is overwritten and returned."""
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        hashes ^= hashes >> np.uint64(shift)
        hashes *= np.uint64(factor)
    hashes ^= hashes >> np.uint64(31)
    return hashes


def _odd_numbers(count: int, seed: int) -> Hashes:
    """Return odd numbers, by splitmix64 from the seed on."""
    steps = np.array([(seed + (j + 1) * _INCREMENT) & _MASK for j in range(count)], np.uint64)
    return _mixed(steps) | np.uint64(1)


def _squares_of(rows: Floats, center: Floats, factors: Floats) -> Floats:
    """Return Σ ((x − center) · factor)² of canonical rows (rows, n); 0 where that is no number."""
    squares = np.zeros(len(rows))
    with np.errstate(over="ignore", under="ignore"):
        # In this order, whatever the processor: nothing that is sampled depends on it.
        for column, middle, factor in zip(rows.T, center, factors, strict=True):
            squares += ((column - middle) * factor) ** 2
    squares[squares > _BEYOND] = 0.0
    return squares


def _levels_of(squares: Floats) -> npt.NDArray[np.int32]:
    """Return log₂ (1 + square), rounded down."""
    levels: npt.NDArray[np.int32] = np.minimum(np.frexp(1.0 + squares)[1] - 1, _MOST_LEVEL)
    return levels
