"""Windows as a table, a row each with its sketch, for whoever works on with Arrow, DuckDB or pandas."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa

from qckm.collector import sums
from qckm.collector.database import Database
from qckm.collector.sums import Asked
from qckm.sketch import SketchOperator, files

_TIME = pa.timestamp("ms", tz="UTC")  # Parquet has no seconds
SCHEMA = pa.schema(
    [("group", pa.string()), ("start", _TIME), ("end", _TIME), ("rows", pa.int64()), ("sketch", pa.binary())]
)


def windows_table(db: Database, operator: SketchOperator, asked: Asked) -> Any:
    """Return the windows of a span and a group; `sketch` holds the bytes of a .qckm file."""
    rows = [
        (cell.group, 1000 * cell.start, 1000 * cell.end, count, files.dumps(sums.sketch_of_cell(db, operator, cell)))
        for cell, count in sums.cells_of(db, asked).items()
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(SCHEMA)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], SCHEMA)


def write_table(table: Any, form: str) -> bytes:
    """Return a table as a Parquet file or an Arrow stream."""
    buffer = io.BytesIO()
    if form == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, buffer)
    else:
        with pa.ipc.new_stream(buffer, table.schema) as writer:
            writer.write_table(table)
    return buffer.getvalue()
