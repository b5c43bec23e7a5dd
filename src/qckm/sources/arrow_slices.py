"""Some rows of a large Arrow batch in a file: its columns lie there one after the other, and can be read in parts.

This is for columns of plain numbers that are not compressed. Others are read with their batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import types

from qckm.sources.arrow_sizes import Batch

# Bits of a column's nulls are read in whole bytes.
_ROWS_A_BYTE = 8


@dataclass(frozen=True)
class Column:
    """How many nulls a column has, and where their bits and its numbers lie in a batch: (offset, length)."""

    name: str
    kind: pa.DataType
    n_nulls: int
    nulls: tuple[int, int]
    numbers: tuple[int, int]


def locate(batch: Batch, schema: pa.Schema, names: Sequence[str]) -> list[Column] | None:
    """Return where columns lie; None where they cannot be read in parts."""
    if batch.compressed:
        return None
    found, node, buffer = {}, 0, 0
    for field in schema:
        size = _footprint(field.type)
        if size is None:
            return None
        if field.name in names:
            kind = field.type
            if not (types.is_integer(kind) or types.is_floating(kind)):
                return None
            column = Column(field.name, kind, batch.nulls[node], *batch.buffers[buffer : buffer + 2])
            if batch.lengths[node] != batch.rows or not _fits(column, batch.rows):
                return None  # pyarrow will say what is wrong
            found[field.name] = column
        node, buffer = node + size[0], buffer + size[1]
    return [found[name] for name in names]


def read_slices(
    columns: Sequence[Column], n_rows: int, height: int, read: Callable[[int, int], bytes]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a batch, about `height` at a time; `read(offset, size)` gives bytes of its body."""
    height = max(_ROWS_A_BYTE, height - height % _ROWS_A_BYTE)
    left = [column.n_nulls for column in columns]
    for start in range(0, n_rows, height):
        rows = min(height, n_rows - start)
        arrays = [_slice(column, start, rows, read) for column in columns]
        left = [before - array.null_count for before, array in zip(left, arrays, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])
    for column, wrong in zip(columns, left, strict=True):
        if wrong:
            raise ValueError(f"expected {column.n_nulls} nulls in column {column.name!r}, got {column.n_nulls - wrong}")


def _slice(column: Column, start: int, rows: int, read: Callable[[int, int], bytes]) -> pa.Array:
    width = column.kind.bit_width // 8
    numbers = pa.py_buffer(read(column.numbers[0] + start * width, rows * width))
    nulls = None
    if column.n_nulls:  # without any, whatever bits there are mean nothing, as to pyarrow
        nulls = pa.py_buffer(read(column.nulls[0] + start // _ROWS_A_BYTE, -(-rows // _ROWS_A_BYTE)))
    return pa.Array.from_buffers(column.kind, rows, [nulls, numbers])


def _fits(column: Column, rows: int) -> bool:
    enough = column.n_nulls == 0 or (column.n_nulls > 0 and column.nulls[1] >= -(-rows // _ROWS_A_BYTE))
    return (
        enough and column.numbers[1] >= rows * (column.kind.bit_width // 8) and min(*column.nulls, *column.numbers) >= 0
    )


def _footprint(kind: pa.DataType) -> tuple[int, int] | None:
    """Return how many arrays and buffers a column is made of; None of what is too special."""
    if types.is_dictionary(kind) or types.is_primitive(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        return 1, 2
    if types.is_null(kind):
        return 1, 0
    if types.is_fixed_size_binary(kind):
        return 1, 2
    if any(test(kind) for test in (types.is_string, types.is_binary, types.is_large_string, types.is_large_binary)):
        return 1, 3
    return None
