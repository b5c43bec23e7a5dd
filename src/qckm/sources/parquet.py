"""Parquet files: row groups, which can be read alone, and hive partitions, whose keys are in the path."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq

from qckm.errors import SourceError
from qckm.sources.arrow import columns_of, kept_batch, plain_type, require_valid, rows_of
from qckm.sources.parquet_sizes import read_footer
from qckm.sources.table import PATH_KEY, Chunk, Column, Kept, Selection, Table, reading
from qckm.sources.text import number

_MOST_ROWS = 1 << 48
_KEPT_ROWS = 1 << 16


class ParquetTable(Table):
    """One Parquet file. It is opened for its footer, and again when it is read: thousands may be waiting."""

    def __init__(self, path: str) -> None:
        self.label = self.path = path
        self.n_bytes = os.path.getsize(path)
        with reading(path, "expected a Parquet file"), pq.ParquetFile(path, pre_buffer=False) as file:
            metadata = file.metadata
            self._schema = file.schema_arrow
            self._groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        self._keys, self._held = _partition_keys(path), set(self._schema.names)
        self.columns = columns_of(self._schema)
        self.columns += [Column(name, False, PATH_KEY) for name in self._keys if name not in self._held]
        self.n_rows = sum(self._groups)
        if not all(0 <= rows <= _MOST_ROWS for rows in self._groups):
            raise SourceError(f"{path}: expected numbers of rows, got {min(self._groups)} to {max(self._groups)}.")

    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield rows; the row groups before `first_row` are not touched."""
        names = [name for name in selection.names if name in self._held]
        constants = {name: self._key(name) for name in selection.names if name not in self._held}
        total = max(1, self.n_rows or 0)
        for batch, row in self._batches(names, first_row, batch_rows):
            yield rows_of(batch, selection, constants), row * (self.n_bytes or 0) // total

    def keep(self, names: Sequence[str]) -> Kept:
        """Return columns of any kind as they are; the keys of the path as text."""
        held = [name for name in names if name in self._held]
        kinds = {name: plain_type(self._schema.field(name).type) for name in held}
        schema = pa.schema([pa.field(name, kinds.get(name, pa.string())) for name in names])

        def batches() -> Iterator[pa.RecordBatch]:
            if not held:
                columns = [pa.array([self._keys[name]] * (self.n_rows or 0), pa.string()) for name in names]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
                return
            for batch, _ in self._batches(held, self.first_row, _KEPT_ROWS):
                yield kept_batch(batch, schema, self._keys)

        return schema, batches()

    def _batches(self, names: list[str], first_row: int, batch_rows: int) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield batches from a row on, each with the row after it."""
        begin = sum(start + rows <= first_row for start, rows in self.blocks())
        row = sum(self._groups[:begin])
        # Buffering ahead, pyarrow keeps all row groups in memory, and is several times slower for it.
        with (
            reading(self.label, "cannot be read on"),
            pq.ParquetFile(self.place, pre_buffer=False) as file,
            open(self.place, "rb", buffering=0) as again,
        ):
            paths = [file.schema.column(number).path for number in range(len(file.schema))]
            footer = read_footer(again, {n for n, path in enumerate(paths) if {path, path.split(".")[0]} & {*names}})
            if list(footer.rows) != self._groups:
                raise SourceError(
                    f"{self.label}: expected row groups of {self._groups[:9]} rows, got {footer.rows[:9]}."
                )
            footer.require_as_many_values()
            for groups in self._together(begin, batch_rows):
                footer.require_modest_pages(again, self.n_bytes or 0, groups, self.label)
                end = row + sum(self._groups[number] for number in groups)
                for batch in file.iter_batches(batch_size=batch_rows, row_groups=groups, columns=names):
                    require_valid(batch, names, self.label)
                    skip = min(batch.num_rows, max(0, first_row - row))
                    row += batch.num_rows
                    if skip < batch.num_rows:
                        yield batch.slice(skip), row
                if row != end:
                    raise SourceError(f"{self.label}: expected {end} rows so far, as its footer says, got {row}.")

    def blocks(self) -> list[tuple[int, int]]:
        """List the row groups."""
        return list(zip(accumulate(self._groups, initial=0), self._groups, strict=False))

    def _together(self, begin: int, batch_rows: int) -> Iterator[list[int]]:
        """Yield row groups that are read together: one that is large enough, or several that make a batch."""
        span, rows = [], 0
        for group in range(begin, len(self._groups)):
            span.append(group)
            rows += self._groups[group]
            if rows >= batch_rows or group == len(self._groups) - 1:
                yield span
                span, rows = [], 0

    def _key(self, name: str) -> float:
        value = number(self._keys[name])
        if math.isnan(value):
            raise SourceError(f"{self.label}: {name}={self._keys[name]} in the path is not a number.")
        return value


def _partition_keys(path: str) -> dict[str, str]:
    """Return the hive keys of a path: {"year": "2026"} of data/year=2026/part.parquet."""
    parts = os.path.normpath(path).split(os.sep)[:-1]
    return dict(part.split("=", 1) for part in parts if "=" in part and not part.startswith("="))
