"""One sketch a group: GROUP BY whose aggregate is a sketch. In one pass, whatever the order of the rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from qckm.common.arrays import Rows
from qckm.errors import RowsError, SourceError
from qckm.sketch import SketchOperator
from qckm.sketch.sketch import Sketch
from qckm.sketch.sketch_operator import sketch_batch
from qckm.sources.arrow import columns_of, require_valid, rows_of
from qckm.sources.engine_rows import engine_of
from qckm.sources.ipc import is_frame, read_frame
from qckm.sources.rows import OnBad
from qckm.sources.source import BATCH_BYTES, Batch, Position
from qckm.sources.table import Selection, reading, resolve


def sketch_by(
    operator: SketchOperator,
    table: object,
    by: str | Sequence[str],
    columns: Sequence[str | int] | None = None,
    on_bad: OnBad = "error",
) -> dict[Any, Sketch]:
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
    dict
        The sketch of each group, by its key, in the order in which groups appear: a value of the column, or a tuple of
        the values of several. Nulls make a group, None. It is as large as there are groups.

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
    found: dict[Any, Sketch] = {}
    row = 0
    for batch in _batches(reader, [*keys, *selection.names], label):
        rows = rows_of(batch, selection)
        try:
            for key, part in _groups(batch, keys, rows):
                group = Batch(part, f"{label}, group {key!r}", 0, selection.names, Position(), 0)
                sketch = sketch_batch(operator, group, on_bad)
                name = key[0] if isinstance(by, str) else key
                found[name] = found[name] + sketch if name in found else sketch
        except RowsError:
            Batch(rows, label, row, selection.names, Position(), 0).require_finite()  # by its place in the table
            raise
        row += len(rows)
    return found


def _opened(table: object) -> tuple[pa.RecordBatchReader, str]:
    if isinstance(table, (str, os.PathLike)):
        import pyarrow.dataset as ds

        with reading(os.fspath(table), "expected Parquet"):
            return ds.dataset(os.fspath(table), partitioning="hive").scanner().to_reader(), os.fspath(table)
    if engine_of(table):
        raise SourceError(
            f"Groups of rows held by {engine_of(table)} are sketched there, with its own grouping: docs/scaling-out.md "
            "has the recipe."
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


def _groups(batch: pa.RecordBatch, keys: tuple[str, ...], rows: Rows) -> Iterator[tuple[tuple[Any, ...], Rows]]:
    """Yield each group of a batch: its key and its rows, sorted together so that they are sketched in one go."""
    codes, n_codes = np.zeros(batch.num_rows, np.int64), 1
    for name in keys:
        encoded = batch.column(name)
        if not pa.types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode(null_encoding="encode")
        indices = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        n_values = len(encoded.dictionary) + 1
        if n_codes * n_values >= 2**63:  # renumbered, lest groups fall together
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
            n_codes = batch.num_rows
        codes, n_codes = codes * n_values + indices, n_codes * n_values
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(which, kind="stable")
    stops = np.cumsum(np.bincount(which))
    for number in np.argsort(first):
        part = order[stops[number - 1] if number else 0 : stops[number]]
        at = int(first[number])
        yield tuple(batch.column(name)[at].as_py() for name in keys), rows[part]
