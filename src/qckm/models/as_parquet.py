"""A model as a Parquet table, with the names, units and facts in its metadata.

Only what `to_parquet` writes is read: plain numbers, uncompressed or with Snappy, which grow 20-fold at most. With
other codecs, kilobytes become gigabytes.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from qckm.errors import FileError
from qckm.models.as_json import FORMAT, dump, notes_of, numbers_of, parse
from qckm.models.bounds import require_sane
from qckm.models.column_names import OURS, headings
from qckm.models.model import Model

_CODECS = ("SNAPPY", "UNCOMPRESSED")
_KINDS = ("INT32", "INT64", "FLOAT", "DOUBLE")
# Parquet says of each column where it lies, of what type and codec it is: never in fewer bytes.
_LEAST_BYTES_A_COLUMN = 16
_MOST_GROUPS = 1000


def to_parquet(model: Model) -> bytes:
    """Return the centroids as a Parquet table, with the units and facts in its metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [pa.array(np.arange(len(model.centers), dtype=np.int32)), pa.array(model.weights), pa.array(model.spreads)]
    arrays += [pa.array(np.ascontiguousarray(column)) for column in model.centers.T]
    notes = {"units": model.units.tolist(), "feature_names": model.feature_names, "facts": model.facts}
    # The notes have the true names; above the columns there is what Parquet can hold of them.
    above = [
        name.encode("utf-8", "backslashreplace").decode() for name in headings(model.feature_names, len(model.units))
    ]
    fields = [pa.field(name, array.type) for name, array in zip([*OURS, *above], arrays, strict=True)]
    schema = pa.schema(fields, metadata={FORMAT: dump(notes)})
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), out, compression="snappy")
    return out.getvalue()


def from_parquet(data: bytes) -> Model:
    """Undo `to_parquet`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # A list is made as long as the file says before its first element is read.
    longest = max(1, len(data) // _LEAST_BYTES_A_COLUMN)
    file = pq.ParquetFile(
        pa.BufferReader(data), thrift_string_size_limit=len(data), thrift_container_size_limit=longest
    )
    kept = (file.metadata.metadata or {}).get(FORMAT.encode())
    if kept is None:
        raise FileError("got a Parquet file of something else")
    notes = parse(kept)
    names, facts = notes_of(notes)
    units = numbers_of("units", notes.get("units"))
    _require_plain(file.metadata, len(data))
    kinds = file.schema_arrow.types
    if not all(pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in kinds):
        raise FileError("expected columns of numbers")
    if tuple(file.schema_arrow.names[:3]) != OURS or len(kinds) != len(OURS) + units.size:
        raise FileError(f"expected the columns {', '.join(OURS)} and {units.size} more, got {len(kinds)}")
    table = file.read(use_threads=False)
    # By place: in older files a column may have one of our names.
    columns = [np.asarray(table.column(place).to_numpy(), np.float64) for place in range(table.num_columns)]
    if not np.array_equal(columns[0], np.arange(table.num_rows)):
        raise FileError("expected clusters in order, from 0")
    return Model(np.stack(columns[3:], axis=1), columns[1], columns[2], units, names, facts)


def _require_plain(metadata: Any, available: int) -> None:
    """Refuse a table that takes more memory than a model of so many bytes can, before it is read."""
    if metadata.num_row_groups > _MOST_GROUPS:
        raise FileError(f"expected at most {_MOST_GROUPS} groups of rows, got {metadata.num_row_groups}")
    if any(metadata.schema.column(place).max_repetition_level for place in range(metadata.num_columns)):
        raise FileError("expected columns of numbers, got lists")
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    if any(group.num_rows < 0 for group in groups):
        raise FileError("expected numbers of rows, got less than 0")
    require_sane(8 * metadata.num_columns * sum(group.num_rows for group in groups), available)
    for group in groups:
        for place in range(group.num_columns):
            column = group.column(place)
            if column.compression not in _CODECS or column.physical_type not in _KINDS:
                raise FileError(f"expected plain numbers, got {column.physical_type} with {column.compression}")
