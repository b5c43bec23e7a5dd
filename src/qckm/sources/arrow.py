"""Arrow batches and columns to rows: checked before they are read, what is a number, and how nulls become NaN."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from pyarrow import types

from qckm.common.arrays import Rows
from qckm.common.text import format_bytes
from qckm.errors import SourceError
from qckm.sources.table import PATH_KEY, Chunk, Column, Kept, Selection, Table, reading
from qckm.sources.text import number

# A file may ask for this much memory at a time, or for so many times its own bytes.
_MOST_UNPACKED, _MOST_TIMES = 1 << 29, 64
_KEPT_ROWS = 1 << 16


class BatchesTable(Table):
    """Arrow record batches, which a subclass gives: they are checked before anything is read of them."""

    _schema: pa.Schema
    _keys: Mapping[str, str] = MappingProxyType({})  # columns that no batch holds, of one value each

    @cached_property
    def columns(self) -> list[Column]:  # type: ignore[override]
        """The columns of the batches, and the keys."""
        with reading(self.label):  # a name may be no text
            return [*columns_of(self._schema), *(Column(name, False, PATH_KEY) for name in self._keys)]

    @abstractmethod
    def _batches(
        self, names: Sequence[str], first_row: int, batch_rows: int
    ) -> Iterator[tuple[pa.RecordBatch, int, int]]:
        """Yield batches with these columns, or their parts: each with its first row and the bytes read by its end.

        Those before `first_row` may be left out, those of more than `batch_rows` be parted.
        """

    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield rows."""
        names = [name for name in selection.names if name not in self._keys]
        constants = {name: self._number_of(name) for name in selection.names if name in self._keys}
        with reading(self.label, "cannot be read on"):
            for batch, begin, taken in self._batches(names, first_row, batch_rows):
                require_valid(batch, names, self.label)
                for at in range(max(0, first_row - begin), batch.num_rows, batch_rows):
                    yield rows_of(batch.slice(at, batch_rows), selection, constants), taken

    def keep(self, names: Sequence[str]) -> Kept:
        """Return columns of any kind as they are; keys as text."""
        held = {name: plain_type(self._schema.field(name).type) for name in names if name not in self._keys}
        schema = pa.schema([pa.field(name, held.get(name, pa.string())) for name in names])

        def batches() -> Iterator[pa.RecordBatch]:
            for batch, begin, _ in self._batches(list(held), self.first_row, _KEPT_ROWS):
                require_valid(batch, list(held), self.label)
                yield kept_batch(batch.slice(max(0, self.first_row - begin)), schema, self._keys)

        return schema, batches()

    def _number_of(self, key: str) -> float:
        value = number(self._keys[key])
        if math.isnan(value):
            raise SourceError(f"{self.label}: {key}={self._keys[key]} in the path is not a number.")
        return value


def columns_of(schema: pa.Schema) -> list[Column]:
    """List the columns of a schema."""
    index = _pandas_index(schema)
    return [
        Column(field.name, numeric := is_arrow_number(field.type), str(field.type), numeric, field.name in index)
        for field in schema
    ]


def is_arrow_number(kind: pa.DataType) -> bool:
    """Whether a type is one of numbers: also booleans, decimals, and dictionaries of these."""
    if types.is_dictionary(kind):
        return is_arrow_number(kind.value_type)
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _pandas_index(schema: pa.Schema) -> set[str]:
    """Return the columns that pandas keeps its index in, by the notes that it leaves in a schema.

    An index that only counts the rows is no column.
    """
    try:
        found = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))["index_columns"]
        return {name for name in found if isinstance(name, str)}
    except (ValueError, KeyError, TypeError, RecursionError):  # notes of somebody else
        return set()


def require_valid(batch: pa.RecordBatch, names: Sequence[str], label: str) -> None:
    """Refuse a batch of which columns that will be read say what their buffers do not hold.

    Arrow believes what the data say of themselves: how many rows there are, where a list ends, which entry of a
    dictionary is meant. To read on would be to read memory that is not theirs.
    """
    with reading(label, "expected Arrow data, got a damaged batch"):
        columns = [batch.column(name) for name in dict.fromkeys(names)]
        for name, column in zip(dict.fromkeys(names), columns, strict=True):
            if len(column) != batch.num_rows:
                raise SourceError(f"{label}: expected {batch.num_rows} values in column {name!r}, got {len(column)}.")
            column.validate(full=True)


def require_modest_size(packed: int, unpacked: int, what: str, label: str) -> None:
    """Refuse what unpacks to far more bytes than it is, unless it is not much."""
    if unpacked > max(_MOST_UNPACKED, _MOST_TIMES * packed):
        raise SourceError(
            f"{label}: expected {what} of at most {format_bytes(_MOST_UNPACKED)}, got {format_bytes(packed)} that "
            f"unpack to {format_bytes(unpacked)}. Write smaller ones."
        )


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of values, where a type is that of a dictionary of them."""
    return kind.value_type if types.is_dictionary(kind) else kind


def kept_batch(batch: pa.RecordBatch, schema: pa.Schema, constants: Mapping[str, str]) -> pa.RecordBatch:
    """Return columns of a batch that has been checked, as a schema wants them; `constants` are those it lacks."""
    held, found = set(batch.schema.names), []
    for field in schema:
        if field.name in held:
            array = batch.column(field.name)
            found.append(array.dictionary_decode() if types.is_dictionary(array.type) else array)
        else:
            found.append(pa.array([constants[field.name]] * batch.num_rows, pa.string()))
    return pa.RecordBatch.from_arrays(found, schema=schema)


def rows_of(batch: pa.RecordBatch, selection: Selection, extra: dict[str, float] | None = None) -> Rows:
    """Return the selected columns as rows (rows, n), each column contiguous: kernels read any layout, copies cost.

    The batch has been checked (`require_valid`). `extra` are columns that it does not hold, of one value each: the keys
    of hive partitions.
    """
    constants = extra or {}
    arrays = {name: batch.column(name) for name in selection.names if name not in constants}
    single = not constants and all(_fits_single(array.type) for array in arrays.values())
    out: Rows = np.empty((len(selection.names), batch.num_rows), selection.dtype_of(single))
    for place, name in enumerate(selection.names):
        if name in constants:
            out[place] = constants[name]
        else:
            # A number too large for float32 becomes infinity, a bad row; a NaN that signals is a NaN.
            with np.errstate(over="ignore", invalid="ignore"):
                out[place] = numbers_of(arrays[name], f" in column {name!r}")
    return out.T


def numbers_of(array: pa.Array | pa.ChunkedArray, place: str = "") -> Rows:
    """Return a column as numbers; its nulls are NaN."""
    if not is_arrow_number(array.type):
        raise SourceError(f"Expected numbers{place}, got the type {array.type}. Convert it first.")
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    elif not (types.is_integer(array.type) or types.is_floating(array.type)):  # decimals, nulls
        array = array.cast(pa.float64())
    # Where they lie: pyarrow's own way would import pandas, where there is pandas, in the thread that reads.
    parts = [_values_of(part) for part in (array.chunks if isinstance(array, pa.ChunkedArray) else [array])]
    return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.empty(0)])


def _values_of(array: pa.Array) -> Rows:
    """Return the values of integers or floats; where some are null, as floats, and those as NaN."""
    dtype = np.dtype(array.type.to_pandas_dtype())
    if not len(array):
        return np.empty(0, dtype)
    valid, held = array.buffers()
    if array.null_count == len(array):
        return np.full(len(array), np.nan)
    values: Rows = np.frombuffer(held, dtype, len(array), array.offset * dtype.itemsize)
    if not array.null_count:
        return values
    known = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little", count=array.offset + len(array))
    return np.where(known[array.offset :].astype(bool), values, np.nan)


def _fits_single(kind: pa.DataType) -> bool:
    return bool(types.is_float32(kind) or types.is_float16(kind))
