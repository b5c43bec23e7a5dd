"""Arrow batches to blocks: columns of numbers, or one column of vectors; weights in a column of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from qckm.common.arrays import Array, Rows, Weights
from qckm.engines.jobs import Block
from qckm.errors import RowsError
from qckm.sources.arrow import is_arrow_number, numbers_of, require_valid, rows_of
from qckm.sources.rows import as_rows, as_weights
from qckm.sources.source import BATCH_BYTES
from qckm.sources.table import Selection, reading

_LEAST_ROWS = 1 << 16  # of a block, where there are so many


def blocks_of(
    batches: Iterable[pa.RecordBatch | pa.Table],
    columns: Sequence[str],
    weight: str | None = None,
    vector: bool = False,
) -> Iterator[Block]:
    """Yield blocks of Arrow batches or tables. With `vector`, the only column holds lists, a row each.

    Spark gives 10 000 rows at a time: a few of its batches make a block, as each block has a cost of its own.
    """
    held: list[Block] = []
    for block in _each(batches, columns, weight, vector):
        if held and block.rows.shape[1] != held[0].rows.shape[1]:  # vectors of another length: the operator will refuse
            yield _together(held)
            held = []
        held.append(block)
        if sum(len(one.rows) for one in held) >= _LEAST_ROWS:
            yield _together(held)
            held = []
    if held:
        yield _together(held)


def _together(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    weights: list[Array] = [block.weights for block in blocks if block.weights is not None]
    return Block(np.concatenate([block.rows for block in blocks]), np.concatenate(weights) if weights else None)


def _each(
    batches: Iterable[pa.RecordBatch | pa.Table], columns: Sequence[str], weight: str | None, vector: bool
) -> Iterator[Block]:
    selection, read = Selection(tuple(columns)), [*columns, *([] if weight is None else [weight])]
    for held in batches:
        for batch in held.to_batches() if isinstance(held, pa.Table) else [held]:
            require_valid(batch, read, "a batch of the engine's")
            width = 8 * (64 if vector else len(columns))
            height = max(1, BATCH_BYTES // width)
            for start in range(0, batch.num_rows, height):
                part = batch.slice(start, height)
                rows = vectors_of(part.column(columns[0])) if vector else rows_of(part, selection)
                yield Block(rows, None if weight is None else _weights(part, weight))


def vectors_of(column: pa.Array | pa.ChunkedArray) -> Rows:
    """Return a column of lists, all of one length, as rows; a missing list is a row of NaN."""
    with reading("a column of vectors", "expected Arrow data"):
        column.validate(full=True)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ExtensionArray):  # Ray's tensors
        with reading("a column of tensors", "expected tensors of one shape"):
            return as_rows(np.asarray(column.to_numpy(zero_copy_only=False)).reshape(len(column), -1))
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise RowsError(f"Expected a column of vectors, got one of type {kind}: name several columns instead.")
    if not is_arrow_number(kind.value_type):
        raise RowsError(f"Expected vectors of numbers, got {kind}: convert them first.")
    # One nested type less to deal with: fixed sizes have no offsets, and hide values behind nulls.
    lists = column.cast(pa.large_list(kind.value_type))
    lengths = lists.value_lengths().drop_null()
    if not len(lengths):
        return np.full((len(column), 1), np.nan)
    width = lengths[0].as_py()
    if any(length != width for length in lengths.unique().to_pylist()):
        raise RowsError(f"Expected vectors of {width} numbers, got some of {sorted(lengths.unique().to_pylist())}.")
    rows = np.full((len(lists), width), np.nan)
    rows[lists.is_valid().to_numpy(zero_copy_only=False)] = numbers_of(lists.flatten()).reshape(-1, width)
    return rows


def _weights(batch: pa.RecordBatch, name: str) -> Weights:
    weights = rows_of(batch, Selection((name,), "float64"))[:, 0]
    if not np.isfinite(weights).all():
        raise RowsError(f"Expected finite weights in column {name!r}, got a null, NaN or infinity.")
    return as_weights(weights, batch.num_rows)
