"""One sketch per group: GROUP BY whose aggregate is a sketch. In one pass, whatever the order of the rows."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qckm.common.arrays import Int64s, Rows
from qckm.errors import RowsError, SourceError
from qckm.kernels.portable import GroupSums
from qckm.kernels.sketcher import gather
from qckm.sketch import SketchOperator
from qckm.sketch.columns import ColumnSums
from qckm.sketch.sketch import Sketch
from qckm.sources.arrow import columns_of, require_valid, rows_of
from qckm.sources.ipc import is_frame, read_frame
from qckm.sources.rows import OnBad, engine_of, require_on_bad
from qckm.sources.source import BATCH_BYTES, Batch, Position
from qckm.sources.table import Selection, reading, resolve

# Rows of a group that are summed together, as far as so many bytes may be held.
_ROWS_PER_GROUP, _MOST_BYTES, _BLOCK_ROWS = 128, 1 << 29, 1 << 16
# Combinations of values of keys that a table of numbers is made for: 256 MB of it for a moment.
_DENSE = 1 << 26


def sketch_by(
    operator: SketchOperator,
    table: object,
    by: str | Sequence[str],
    columns: Sequence[str | int] | None = None,
    on_bad: OnBad = "error",
) -> GroupedSketches:
    """Sketch a table group by group: a sketch of each device, day or customer, to be merged or decoded on its own.

    Parameters
    ----------
    operator : SketchOperator
    table : frame or path
        pandas, polars (also lazy), Arrow tables, datasets and readers, DuckDB relations; a Parquet file or a folder of
        them, whose hive partitions are columns.
    by : str or sequence of str
        The column, or columns, that make the groups.
    columns : sequence of str or int, optional
        The columns to sketch, by name or position; by default those that the operator knows, or all others.
    on_bad : {"error", "skip"}
        As in `sketch_source`.

    Returns
    -------
    GroupedSketches
        A mapping: the sketch of each group, by its key, in the order in which groups appear: a value of the column, or
        a tuple of the values of several. Nulls make a group, None. It is as large as there are groups; a table of it
        is written by `qckm.sketch.group_tables.save`.

    Examples
    --------
    >>> import pyarrow as pa, qckm
    >>> op = qckm.SketchOperator.draw(n_features=1, n_frequencies=20, scale=1.0, random_state=0)
    >>> table = pa.table({"device": ["a", "b", "a"], "x": [0.0, 5.0, 1.0]})
    >>> sketches = qckm.sketch_by(op, table, by="device")
    >>> {device: sketch.count for device, sketch in sketches.items()}
    {'a': 2, 'b': 1}
    >>> sum(sketches.values()) == op.sketch([[0.0], [5.0], [1.0]])
    True
    """
    keys = (by,) if isinstance(by, str) else tuple(by)
    reader, label = _opened(table)
    selection = _selected(reader.schema, keys, columns, operator, label)
    found = GroupedSketches(operator, keys, alone=isinstance(by, str))
    row = 0
    with found.filling(on_bad) as add:
        for batch in _batches(reader, [*keys, *selection.names], label):
            rows = rows_of(batch, selection)
            add(batch.select(list(keys)), Batch(rows, label, row, selection.names, Position(), 0))
            row += len(rows)
    return found


class GroupedSketches(Mapping[Any, Sketch]):
    """A sketch of each group, by its key: sums side by side in arrays, and a `Sketch` of one when it is asked for.

    Parameters
    ----------
    operator : SketchOperator
    by : sequence of str
        The columns that make groups.
    alone : bool
        Whether a key is the value of the only column, and not a tuple.
    """

    def __init__(self, operator: SketchOperator, by: Sequence[str], alone: bool = False) -> None:
        self.operator, self.keys_of_groups, self._alone = operator, GroupKeys(by), alone
        self.sums = GroupSums(operator.measurement, 0)
        self.skipped = np.zeros(0, np.int64)
        self._places: dict[Any, int] = {}

    @contextlib.contextmanager
    def filling(
        self, on_bad: OnBad = "error", n_jobs: int | None = None
    ) -> Iterator[Callable[[pa.Table | pa.RecordBatch, Batch], None]]:
        """Give what adds a batch of rows, and a table of their keys beside them; all are in when the context ends.

        Batches wait for each other until groups have some rows each: a group has a price, however few its rows.
        """
        require_on_bad(on_bad)
        window = _Window(self.operator.n_features)

        def add(keys: pa.Table | pa.RecordBatch, batch: Batch) -> None:
            numbers, rows = self.keys_of_groups.number(keys), batch.rows
            self.make_room()
            if not np.isfinite(rows).all():
                good = batch.finite()
                if on_bad == "error":
                    batch.require_finite()
                np.add.at(self.skipped, numbers[~good], 1)
                numbers, rows = numbers[good], rows[good]
            for start in range(0, len(rows), _BLOCK_ROWS):
                some = slice(start, start + _BLOCK_ROWS)
                if not window.takes(rows[some], _ROWS_PER_GROUP * len(self.keys_of_groups)):
                    self._add(*window.emptied(), n_jobs)
                window.put(numbers[some], rows[some])

        yield add
        self._add(*window.emptied(), n_jobs)
        self._places = {}

    def make_room(self) -> None:
        """Make room for the groups that have appeared."""
        wanted, room = len(self.keys_of_groups), len(self.skipped)
        if wanted > room:
            self.sums = self.sums.grown(self.operator.measurement, 2 * wanted)
            self.skipped = np.concatenate([self.skipped, np.zeros(2 * wanted - room, np.int64)])

    def _add(self, numbers: Int64s, rows: Rows, n_jobs: int | None) -> None:
        gathered, present, stops = gather(rows, numbers, len(self.keys_of_groups))
        bad = self.operator.sketcher.on_cpu.sum_groups(gathered, stops, present, self.sums, n_jobs)
        if bad is not None:  # it was looked for before
            raise RowsError("Expected finite rows.")

    def __repr__(self) -> str:
        return f"GroupedSketches(groups={len(self)}, by={self.keys_of_groups.names!r}, operator={self.operator!r})"

    def __len__(self) -> int:
        return len(self.keys_of_groups)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._by_key())

    def __getitem__(self, key: Any) -> Sketch:
        return self.at(self._by_key()[key])

    def _by_key(self) -> dict[Any, int]:
        if len(self._places) != len(self):
            keys = self.keys_of_groups.tuples()
            self._places = {key[0] if self._alone else key: place for place, key in enumerate(keys)}
        return self._places

    def at(self, place: int) -> Sketch:
        """Return the sketch of the group of a number."""
        sums, count = self.sums, int(self.sums.count[place])
        if not count:
            return replace(self.operator.empty(), skipped=int(self.skipped[place]))
        products = None if sums.products is None else sums.products[place].copy()
        return Sketch(
            self.operator,
            sums.total[place].copy(),
            count,
            int(sums.saturated[place]),
            (sums.lower[place].copy(), sums.upper[place].copy()),
            skipped=int(self.skipped[place]),
            column_sums=ColumnSums(sums.codes[place].copy(), sums.squares[place].copy(), products),
        )


class GroupKeys:
    """The numbers of groups by the values of some columns, from 0 in the order in which they appear; null is a value.

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
        """Return the keys, a row per group."""
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


class _Window:
    """Rows that wait until they are worth sorting, each in one piece, and the numbers of their groups."""

    def __init__(self, n_features: int) -> None:
        self._rows, self._numbers, self._held = np.empty((0, n_features), np.float32), np.empty(0, np.int64), 0

    def takes(self, rows: Rows, wanted: int) -> bool:
        """Whether rows can be put here before those that are have to go: so many are wanted at least."""
        full = self._held >= wanted or self._held + len(rows) > _MOST_BYTES // (self._rows.itemsize * rows.shape[1])
        return not self._held or (rows.dtype == self._rows.dtype and not full)

    def put(self, numbers: Int64s, rows: Rows) -> None:
        """Hold some rows."""
        stop = self._held + len(rows)
        if not self._held and rows.dtype != self._rows.dtype:
            self._rows = np.empty((0, rows.shape[1]), rows.dtype)
        if stop > len(self._rows):
            larger = np.empty((2 * stop, rows.shape[1]), self._rows.dtype)
            larger[: self._held] = self._rows[: self._held]
            self._rows, self._numbers = larger, np.resize(self._numbers, 2 * stop)
        self._rows[self._held : stop], self._numbers[self._held : stop] = rows, numbers
        self._held = stop

    def emptied(self) -> tuple[Int64s, Rows]:
        """Return the numbers and rows that are held: until the next are put here."""
        held, self._held = self._held, 0
        return self._numbers[:held], self._rows[:held]


def _opened(table: object) -> tuple[pa.RecordBatchReader, str]:
    if isinstance(table, (str, os.PathLike)):
        import pyarrow.dataset as ds

        with reading(os.fspath(table), "expected Parquet"):
            return ds.dataset(os.fspath(table), partitioning="hive").scanner().to_reader(), os.fspath(table)
    if engine_of(table):
        raise SourceError(
            f"Groups of rows held by {engine_of(table)} are sketched there: qckm.engines.spark.sketch_by, of files "
            "qckm.engines.files.FileRows.sketch_by."
        )
    if not is_frame(table):
        raise SourceError(f"Expected a table with named columns or a path, got {type(table).__name__}.")
    label = type(table).__name__
    with reading(label, "cannot be turned into Arrow columns"):
        return read_frame(table), label


def _selected(
    schema: pa.Schema, keys: tuple[str, ...], columns: Sequence[str | int] | None, operator: SketchOperator, label: str
) -> Selection:
    held = {column.name: column for column in columns_of(schema)}
    if columns:
        names = resolve(columns, schema.names)
    else:
        names = list(operator.feature_names or [name for name in held if name not in keys and not held[name].index])
    twice = [name for name in (*keys, *names) if schema.names.count(name) > 1]
    if twice or len(set(names)) != len(names):
        raise SourceError(f"{label}: expected each column once, got {', '.join((twice or names)[:30])}.")
    missing = [name for name in (*keys, *names) if name not in held]
    if missing:
        raise SourceError(f"{label}: expected the column(s) {', '.join(missing)}, got {', '.join(list(held)[:30])}.")
    text = [f"{name} ({held[name].kind})" for name in names if not held[name].numeric]
    if text:
        raise SourceError(
            f"{label}: expected columns of numbers, got {', '.join(text[:5])}. Choose columns=[…].", about="columns"
        )
    if len(names) != operator.n_features:
        raise SourceError(
            f"{label}: expected {operator.n_features} columns, as the operator has, got {len(names)}: "
            f"{', '.join(names[:12])}. Choose columns=[…].",
            about="columns",
        )
    return Selection(tuple(names))


def _batches(reader: pa.RecordBatchReader, names: Sequence[str], label: str) -> Iterator[pa.RecordBatch]:
    """Yield batches of a bounded size whose columns are checked: those that are read, keys too."""
    height = max(1, BATCH_BYTES // (8 * len(names)))
    with reading(label):
        for batch in reader:
            require_valid(batch, names, label)
            for start in range(0, batch.num_rows, height):
                yield batch.slice(start, height)
