"""Arrow columns to rows: what is a number, and how nulls become NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from qckm.errors import SourceError
from qckm.sources.table import Column, Rows, Selection


def columns_of(schema: pa.Schema) -> list[Column]:
    """List the columns of a schema."""
    return [Column(field.name, _is_numeric(field.type), str(field.type)) for field in schema]


def rows_of(batch: pa.RecordBatch, selection: Selection, extra: dict[str, float] | None = None) -> Rows:
    """Return the selected columns as rows (rows, n), each column contiguous: kernels read any layout, copies cost.

    `extra` are columns that the batch does not hold, of one value each: the keys of hive partitions.
    """
    constants = extra or {}
    arrays = {name: batch.column(name) for name in selection.names if name not in constants}
    single = not constants and all(_fits_single(array.type) for array in arrays.values())
    out: Rows = np.empty((len(selection.names), batch.num_rows), selection.dtype_of(single))
    for place, name in enumerate(selection.names):
        if name in constants:
            out[place] = constants[name]
        else:
            with np.errstate(over="ignore"):  # a number too large for float32 becomes infinity, a bad row
                out[place] = _numbers(arrays[name], name)
    return out.T


def _numbers(array: Any, name: str) -> Rows:
    """Return a column as numbers; its nulls are NaN."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    try:
        if pa.types.is_boolean(kind):
            array = array.cast(pa.uint8())
        elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            array = array.cast(pa.float64())
    except pa.ArrowException as error:
        raise SourceError(f"Column {name!r} of type {kind} cannot be read as numbers: {error}") from error
    numbers: Rows = array.to_numpy(zero_copy_only=False)
    return numbers


def _is_numeric(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_numeric(kind.value_type)
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    return any(test(kind) for test in tests)


def _fits_single(kind: pa.DataType) -> bool:
    return bool(pa.types.is_float32(kind) or pa.types.is_float16(kind))
