"""Columns written to a Parquet or CSV file, or to standard output, a batch of rows at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from qckm.cli.output_files import writing
from qckm.common.arrays import Array, Flags

# Takes the columns of a batch, and which of its rows are left empty, if any.
Write: TypeAlias = Callable[[Sequence[Array], Flags | None], None]


@contextlib.contextmanager
def writing_columns(target: str, columns: Mapping[str, np.dtype[Any]]) -> Iterator[Write]:
    """Give a function that writes a batch; a file appears whole, at the end, or not at all."""
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    schema = pa.schema([pa.field(name, pa.from_numpy_dtype(dtype)) for name, dtype in columns.items()])
    with contextlib.ExitStack() as stack:
        sink = stack.enter_context(pa.PythonFile(_Sink(stack.enter_context(writing(target))), mode="w"))
        kind = pq.ParquetWriter if target.lower().endswith(".parquet") else pacsv.CSVWriter
        writer: Any = stack.enter_context(kind(sink, schema))

        def write(batch: Sequence[Array], empty: Flags | None) -> None:
            mask = None if empty is None or not empty.any() else empty
            arrays = [pa.array(column, mask=mask) for column in batch]
            writer.write(pa.Table.from_batches([pa.RecordBatch.from_arrays(arrays, schema=schema)]))

        yield write


class _Sink:
    """What pyarrow writes to, as a file that it may close."""

    closed = False

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write

    def write(self, data: bytes) -> int:
        self._write(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: all is written at once."""

    def close(self) -> None:
        """Do nothing: whoever opened it closes it."""
