"""Keys of groups: values of some columns to the numbers of groups, from 0 in the order in which groups appear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qckm.common.arrays import Int64s

# Combinations of values that a table of numbers is made for: 256 MB of it for a moment.
_DENSE = 1 << 26


class GroupKeys:
    """The groups that have appeared. Nulls are values, too.

    Parameters
    ----------
    names : sequence of str
        The columns that make groups.

    Examples
    --------
    >>> keys = GroupKeys(["shop"])
    >>> keys.number(pa.table({"shop": ["b", "a", "b"]})).tolist(), keys.number(pa.table({"shop": ["c", "a"]})).tolist()
    ([0, 1, 0], [2, 1])
    >>> keys.table().to_pydict()
    {'shop': ['b', 'a', 'c']}
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._values: dict[str, pa.Array] = {}
        self._groups = np.empty((0, len(self.names)), np.int64)  # the number of each group's value, in each column

    def __len__(self) -> int:
        return len(self._groups)

    def number(self, table: pa.Table | pa.RecordBatch) -> Int64s:
        """Return the number of the group of each row; new groups get new ones."""
        codes = [self._codes(name, table.column(name)) for name in self.names]
        sizes = [len(self._values[name]) for name in self.names]
        strides = [int(np.prod(sizes[place + 1 :], dtype=object)) for place in range(len(sizes))]
        if strides[0] * sizes[0] > _DENSE:
            return self._numbered(np.stack(codes, axis=1))
        flat = codes[-1]
        for code, stride in zip(codes[:-1], strides[:-1], strict=True):
            flat = flat + code * stride
        numbers = np.full(strides[0] * sizes[0], -1, np.int64)
        numbers[self._groups @ np.array(strides)] = np.arange(len(self))
        found: Int64s = numbers[flat]
        fresh = np.flatnonzero(found < 0)
        if len(fresh):
            values, first = np.unique(flat[fresh], return_index=True)
            order = np.argsort(first)
            numbers[values[order]] = len(self) + np.arange(len(values))
            rows = fresh[first[order]]
            self._groups = np.concatenate([self._groups, np.stack([code[rows] for code in codes], axis=1)])
            found = numbers[flat]
        return found

    def _numbered(self, codes: Int64s) -> Int64s:
        """Return the same where there are more combinations than a table is made for."""
        stacked = np.concatenate([self._groups, codes])
        _, first, which = np.unique(stacked, axis=0, return_index=True, return_inverse=True)
        numbers = np.empty(len(first), np.int64)
        numbers[np.argsort(first)] = np.arange(len(first))  # those there are come first, in their order
        self._groups = stacked[np.sort(first)]
        found: Int64s = numbers[which.reshape(-1)[len(stacked) - len(codes) :]]
        return found

    def _codes(self, name: str, column: pa.Array | pa.ChunkedArray) -> Int64s:
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        known = self._values.get(name)
        known = column[:0] if known is None else known
        found = pc.index_in(column, value_set=known, skip_nulls=False)
        if found.null_count:
            fresh = pc.unique(column.filter(pc.is_null(found)))
            known = pa.concat_arrays([known.cast(column.type), fresh])
            found = pc.index_in(column, value_set=known, skip_nulls=False)
        self._values[name] = known
        return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)

    def table(self) -> pa.Table:
        """Return the keys, a row a group."""
        return pa.table(
            {
                name: self._values[name].take(pa.array(self._groups[:, place]))
                for place, name in enumerate(self.names)
                if name in self._values
            }
        )

    def tuples(self) -> list[tuple[Any, ...]]:
        """Return the keys, a tuple a group."""
        columns = [self.table().column(name).to_pylist() for name in self.names] if len(self) else []
        return list(zip(*columns, strict=True))
