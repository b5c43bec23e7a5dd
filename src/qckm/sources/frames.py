"""Frames of other libraries: pandas, polars (also lazy), DuckDB relations, and all that speaks Arrow's C stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from qckm.sources.ipc import BatchesTable

_BATCH_ROWS = 1 << 16


def open_frame(frame: Any) -> BatchesTable:
    """Return the table of a frame; nothing of its library is imported that is not there already.

    What it hands over is checked batch by batch (`arrow.require_valid`): lengths, offsets, dictionaries. The addresses
    of a C stream are not: nobody can, and its library is trusted with them.
    """
    label = f"{type(frame).__module__.split('.')[0]} {type(frame).__name__}"

    def batches() -> tuple[pa.Schema, Iterator[pa.RecordBatch], Callable[[], int]]:
        reader = read_frame(frame)
        return reader.schema, iter(reader), lambda: 0

    # A reader is used up by reading it; frames and relations give a new one each time.
    used_up = isinstance(frame, pa.RecordBatchReader)
    # Columns of mixed objects cannot.
    table = BatchesTable(label, batches, used_up, "cannot be turned into Arrow columns; select some first")
    length = getattr(frame, "num_rows", None)
    if length is None and hasattr(frame, "__len__") and not hasattr(frame, "fetchall"):
        length = len(frame)
    table.n_rows = length if isinstance(length, int) else None
    return table


def is_frame(value: object) -> bool:
    """Whether `open_frame` knows what to do with it."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "collect_schema") or hasattr(value, "to_batches")


def read_frame(frame: Any) -> pa.RecordBatchReader:
    """Return a reader of a frame's batches, all columns."""
    if isinstance(frame, pa.RecordBatchReader):
        return frame
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):  # a polars LazyFrame
        return _read_lazily(frame)
    if isinstance(frame, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(frame.schema, [frame])
    if hasattr(frame, "to_arrow_reader"):  # a DuckDB relation
        return frame.to_arrow_reader(_BATCH_ROWS)
    if hasattr(frame, "fetch_arrow_reader"):  # the same, before DuckDB 2: it must be told to begin anew
        return frame.execute().fetch_arrow_reader(_BATCH_ROWS)
    if not hasattr(frame, "to_batches") and hasattr(frame, "to_arrow"):  # a polars frame
        frame = frame.to_arrow()
    if hasattr(frame, "to_batches"):  # an Arrow table or dataset
        return pa.RecordBatchReader.from_batches(frame.schema, frame.to_batches())
    return pa.RecordBatchReader.from_stream(frame)


def _read_lazily(frame: Any) -> pa.RecordBatchReader:
    """Stream a polars lazy frame where this polars can; else collect it."""
    if not hasattr(frame, "collect_batches"):
        return read_frame(frame.collect())
    schema = frame.head(0).collect().to_arrow().schema
    parts = frame.collect_batches(chunk_size=_BATCH_ROWS, maintain_order=True)
    batches = (batch for part in parts for batch in part.to_arrow().to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)
