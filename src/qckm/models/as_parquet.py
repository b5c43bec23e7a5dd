"""A model as a Parquet table, with the names, units and facts in its metadata.

Only what `to_parquet` writes is read: plain numbers, uncompressed or with Snappy, which grow 20-fold at most. With
other codecs, kilobytes become gigabytes.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from qckm.errors import FileError
from qckm.models.as_csv import OURS, headings
from qckm.models.as_json import FORMAT, MIXTURE_FORMAT, dump, format_of, notes_of, numbers_of, parse, require_sane
from qckm.models.model import Model

if TYPE_CHECKING:
    from qckm.sources.parquet_sizes import Footer

# By their numbers in parquet.thrift.
_INT32, _INT64, _FLOAT, _DOUBLE = 1, 2, 4, 5
_KINDS = (_INT32, _INT64, _FLOAT, _DOUBLE)
_UNCOMPRESSED, _SNAPPY = 0, 1
_CODECS = (_UNCOMPRESSED, _SNAPPY)
# Parquet says of each column where it lies, of what type and codec it is: never in fewer bytes.
_LEAST_BYTES_PER_COLUMN = 16
_MOST_GROUPS = 1000


def to_parquet(model: Model) -> bytes:
    """Return the centroids as a Parquet table, with the units and facts in its metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [pa.array(np.arange(len(model.centers), dtype=np.int32)), pa.array(model.weights), pa.array(model.spreads)]
    arrays += [pa.array(np.ascontiguousarray(column)) for column in model.centers.T]
    notes: dict[str, object] = {
        "units": model.units.tolist(),
        "feature_names": model.feature_names,
        "facts": model.facts,
    }
    if model.covariances is not None:
        notes["covariances"] = model.covariances.tolist()
    # The notes have the true names; above the columns there is what Parquet can hold of them.
    above = [
        name.encode("utf-8", "backslashreplace").decode() for name in headings(model.feature_names, len(model.units))
    ]
    fields = [pa.field(name, array.type) for name, array in zip([*OURS, *above], arrays, strict=True)]
    schema = pa.schema(fields, metadata={format_of(model): dump(notes)})
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), out, compression="snappy")
    return out.getvalue()


def from_parquet(data: bytes) -> Model:
    """Undo `to_parquet`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from qckm.sources.parquet_sizes import MAGIC, read_footer

    if not data.startswith(MAGIC):
        raise FileError("expected a whole Parquet file")
    footer = read_footer(io.BytesIO(data))
    known = {name.encode(): name for name in (FORMAT, MIXTURE_FORMAT)}
    written = [(known[key], text) for key, text in footer.notes if key in known]
    if len(written) != 1:
        raise FileError(f"got a Parquet file of {'several models' if written else 'something else'}")
    kind, notes = written[0][0], parse(written[0][1])
    names, facts = notes_of(notes)
    units = numbers_of("units", notes.get("units"))
    _require_plain(footer, len(OURS) + units.size, len(data))
    footer.require_modest_pages(io.BytesIO(data), len(data), range(len(footer.rows)), "the model")
    # pyarrow makes a list as long as the file says before it reads the first element.
    longest = max(1, len(data) // _LEAST_BYTES_PER_COLUMN)
    limits = {"thrift_string_size_limit": len(data), "thrift_container_size_limit": longest}
    table = pq.ParquetFile(pa.BufferReader(data), **limits).read(use_threads=False)
    kinds = table.schema.types
    if tuple(table.column_names[:3]) != OURS or len(kinds) != len(OURS) + units.size:
        raise FileError(f"expected the columns {', '.join(OURS)} and {units.size} more, got {len(kinds)}")
    if not all(pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in kinds):
        raise FileError("expected columns of numbers")
    # By place: in older files a column may have one of our names.
    columns = [np.asarray(table.column(place).to_numpy(), np.float64) for place in range(table.num_columns)]
    if not np.array_equal(columns[0], np.arange(table.num_rows)):
        raise FileError("expected clusters in order, from 0")
    covariances = numbers_of("covariances", notes.get("covariances")) if kind == MIXTURE_FORMAT else None
    return Model(np.stack(columns[3:], axis=1), columns[1], columns[2], units, names, facts, covariances)


def _require_plain(footer: Footer, n_columns: int, available: int) -> None:
    """Refuse a table that takes more memory than a model of so many bytes can, before it is read."""
    if footer.nested or len(footer.rows) > _MOST_GROUPS or any(rows < 0 for rows in footer.rows):
        raise FileError("expected a plain table")
    require_sane(8 * n_columns * sum(footer.rows), available)
    for chunks in footer.chunks:
        if len(chunks) != n_columns:
            raise FileError(f"expected {n_columns} columns, got {len(chunks)}")
        if not all(chunk.kind in _KINDS and chunk.codec in _CODECS for chunk in chunks):
            raise FileError("expected columns of numbers, uncompressed or with Snappy")
    footer.require_as_many_values()
