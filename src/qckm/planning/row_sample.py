"""A sample of rows that merges: the same rows and weights in whatever order, batches or partitions the rows come.

Each distinct row has a hash. The sample holds those of least hash, with their counts: that is a function of the set of
rows alone, and that of a union is found from those of its parts (bottom-k sampling). A row of a third of the data would
be missed like any other, so that rows of more than a share are held as well. They are found by a table of counts, which
is a sum, and therefore merges, too: a row's count is at most the least number in its places of the table (count-min,
Cormode and Muthukrishnan 2005).

The pilot has a row for each `size` of the weight, about: of what is held, each row stands for its count over the chance
that it is held, and `size` are drawn in proportion to that (priority sampling, Duffield, Lund and Thorup 2007). Sums
over the pilot, weighted, are unbiased.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.errors import RowsError
from qckm.planning.pilot import PILOT_ROWS, Pilot, pilot_of

# Distinct rows that are held for each row of the pilot. Drawn among them by their counts, rows that are there several
# times cost no precision, unless most are.
_HELD = 4
# The table of counts: rows more frequent than 1 in `size` are looked for, and by chance others add 1 in 32 768 to a
# place; all four places of a row are shared with frequent ones in a row of a million, if a thousand are frequent.
_TABLES, _PLACES = 4, 1 << 15
# A row's count may grow by what others add to its places after it was last seen: half of the limit is held already.
_EARLY = 0.5
# Rows that are hashed at a time, at most, and as float64 so many bytes: what NumPy is fast with.
_BLOCK, _BLOCK_BYTES = 1 << 16, 1 << 23
# Any number: a second hash, for the places, and a third, for the draw, are mixed from the first with it.
_FOR_PLACES, _FOR_DRAW = np.uint64(0xD6E8FEB86659FD93), np.uint64(0xA0761D6478BD642F)
_LAST = np.uint64(0xFFFFFFFFFFFFFFFF)


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
    total: float  # the weight of all rows
    table: Floats  # (_TABLES, _PLACES)
    hashes: Hashes  # (P,), ascending
    rows: Floats  # (P, n)
    counts: Floats  # (P,): of rows beyond the limit, what was counted since they were noticed
    limit: np.uint64 = _LAST  # of each row whose hash is not above it, every copy was counted

    @classmethod
    def empty(cls, n_features: int, seed: int, size: int = PILOT_ROWS) -> RowSample:
        """Return the sample of no rows."""
        nothing = np.empty(0, np.uint64)
        table = np.zeros((_TABLES, _PLACES))
        return cls(size, seed, 0.0, table, nothing, np.empty((0, n_features)), np.empty(0))

    def added(self, rows: npt.NDArray[Any], weights: npt.NDArray[Any] | None = None) -> RowSample:
        """Return the sample of these rows (rows, n) as well; a row of weight w is w rows, one with a NaN is none."""
        found, table, total = self, self.table.copy(), self.total
        pieces: list[tuple[Hashes, Floats, Floats]] = []
        waiting = 0
        step = max(1, min(_BLOCK, _BLOCK_BYTES // (8 * rows.shape[1])))
        for start in range(0, len(rows), step):
            values = canonical(rows[start : start + step])
            heavy = None if weights is None else np.asarray(weights[start : start + step], np.float64)
            values, heavy = _counting(values, heavy)
            hashes = hash_rows(values, self.seed)
            places = _places(hashes)
            for counts, place in zip(table, places, strict=True):
                counts += np.bincount(place, heavy, minlength=_PLACES)
            total += float(len(values) if heavy is None else heavy.sum())
            (some,) = np.nonzero((hashes <= found.limit) | _is_often(table, places, _EARLY * total / self.size))
            pieces.append((hashes[some], values[some], np.ones(len(some)) if heavy is None else heavy[some]))
            waiting += len(pieces[-1][0])
            if waiting > max(_BLOCK, 2 * len(found.hashes)):
                found, pieces, waiting = found._with(table, total, pieces), [], 0
        return found._with(table, total, pieces)

    def merged(self, other: RowSample) -> RowSample:
        """Return the sample of the rows of both."""
        if (self.size, self.seed, self.rows.shape[1]) != (other.size, other.seed, other.rows.shape[1]):
            raise RowsError("Samples merge only if they are of one size, seed and number of columns.")
        limit = min(self.limit, other.limit)
        return replace(self, limit=limit)._with(
            self.table + other.table, self.total + other.total, [(other.hashes, other.rows, other.counts)]
        )

    def scaled(self, factor: float) -> RowSample:
        """Return the sample in which each row is so many."""
        return replace(self, total=factor * self.total, table=factor * self.table, counts=factor * self.counts)

    def pilot(self) -> Pilot:
        """Draw the pilot, of at most `size` rows; the same sample gives the same."""
        if not len(self.hashes):
            raise RowsError("Expected rows of finite numbers, found none.")
        known = self.hashes <= self.limit
        at_most = _least(self.table, _places(self.hashes))
        frequent = at_most >= self.total / self.size
        chance = 1.0 if self.limit == _LAST else float(self.limit) / 2**64
        stands_for = np.where(known, self.counts, at_most) / np.where(frequent, 1.0, chance)
        chosen = known | frequent
        hashes, rows, stands_for = self.hashes[chosen], self.rows[chosen], stands_for[chosen]
        if len(rows) > self.size:
            draws = (mixed(hashes ^ _FOR_DRAW).astype(np.float64) + 1.0) / 2**64
            order = np.argsort(-stands_for / draws, kind="stable")
            bar = float((stands_for / draws)[order[self.size]])
            rows, stands_for = rows[order[: self.size]], np.maximum(stands_for[order[: self.size]], bar)
        return pilot_of(rows, stands_for)

    def dumps(self) -> bytes:
        """Return the sample as bytes: arrays in NumPy's format."""
        (used,) = np.nonzero(self.table.ravel())
        out = io.BytesIO()
        np.savez(
            out,
            settings=np.array([self.size, self.seed, int(self.limit)], np.uint64),
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
            size, seed, limit = held["settings"]
            table = np.zeros(_TABLES * _PLACES)
            table[held["used"]] = held["table"]
            return cls(
                int(size),
                int(seed),
                float(held["total"]),
                table.reshape(_TABLES, _PLACES),
                held["hashes"],
                held["rows"],
                held["counts"],
                limit,
            )

    def _with(self, table: Floats, total: float, pieces: list[tuple[Hashes, Floats, Floats]]) -> RowSample:
        """Return the sample with more rows, of which the table knows already: equal ones together, the least held."""
        hashes = np.concatenate([self.hashes, *(piece[0] for piece in pieces)])
        rows = np.concatenate([self.rows, *(piece[1] for piece in pieces)])
        counts = np.concatenate([self.counts, *(piece[2] for piece in pieces)])
        order = np.argsort(hashes, kind="stable")
        first = _begins(hashes[order], rows[order])
        if (first[1:] & (hashes[order][1:] == hashes[order][:-1])).any():  # rows that differ, of one hash
            order = np.lexsort((*rows.T, hashes))
            first = _begins(hashes[order], rows[order])
        (starts,) = np.nonzero(first)
        sums = np.add.reduceat(counts[order], starts) if len(starts) else counts
        hashes, rows = hashes[order][starts], rows[order][starts]
        limit, most = self.limit, _HELD * self.size
        within = int(np.searchsorted(hashes, limit, side="right"))
        if within > most:
            limit = hashes[most - 1]
        keep = (hashes <= limit) | _is_often(table, _places(hashes), _EARLY * total / self.size)
        return replace(
            self, total=total, table=table, hashes=hashes[keep], rows=rows[keep], counts=sums[keep], limit=limit
        )


def seed_of(rng: np.random.Generator) -> int:
    """Draw the seed of a sample: wherever the rows are, the same generator then gives the same sample."""
    return int(rng.integers(2**63))


def _counting(values: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
    """Return the rows that count: finite ones of a weight above 0, if they have weights."""
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(values.sum()) and (weights is None or weights.min(initial=1.0) > 0)
    if fine:
        return values, weights
    good = np.isfinite(values).all(axis=1)
    if weights is None:
        return values[good], None
    good &= weights > 0
    return values[good], weights[good]


def _places(hashes: Hashes) -> npt.NDArray[np.intp]:
    """Return the places (_TABLES, P) of hashes (P,)."""
    bits = mixed(hashes ^ _FOR_PLACES)
    width = np.uint64(_PLACES.bit_length() - 1)
    shifts = np.arange(_TABLES, dtype=np.uint64)[:, np.newaxis] * width
    return ((bits >> shifts) & np.uint64(_PLACES - 1)).astype(np.intp)


def _least(table: Floats, places: npt.NDArray[np.intp]) -> Floats:
    """Return the least number in the places (_TABLES, P) of each row, (P,)."""
    least: Floats = table[0][places[0]]
    for counts, place in zip(table[1:], places[1:], strict=True):
        np.minimum(least, counts[place], out=least)
    return least


def _is_often(table: Floats, places: npt.NDArray[np.intp], bar: float) -> npt.NDArray[np.bool_]:
    """Return of which rows all places (_TABLES, P) hold this much, (P,): hardly any row gets beyond the first table."""
    often: npt.NDArray[np.bool_] = table[0][places[0]] >= bar
    (which,) = np.nonzero(often)
    often[which] = _least(table, places[:, which]) >= bar
    return often


def _begins(hashes: Hashes, rows: Floats) -> npt.NDArray[np.bool_]:
    """Return which of sorted rows differ from the one before."""
    first = np.ones(len(hashes), bool)
    first[1:] = (hashes[1:] != hashes[:-1]) | (rows[1:] != rows[:-1]).any(axis=1)
    return first


Hashes = npt.NDArray[np.uint64]

_MASK = (1 << 64) - 1
# The constants of splitmix64 (Steele, Lea and Flood 2014): its increment, and the multipliers of its last step.
_INCREMENT, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


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
