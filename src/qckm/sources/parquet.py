"""Parquet files: row groups, which can be read alone, and hive partitions, whose keys are in the path."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from qckm.errors import SourceError
from qckm.sources.arrow import columns_of, kept_batch, plain_type, require_valid, rows_of
from qckm.sources.parquet_sizes import PageChunk, read_footer, require_modest_pages
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
            held = columns_of(file.schema_arrow)
            self._groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        self._keys, self._held = partition_keys(path), {column.name for column in held}
        self.columns = held + [Column(name, False, PATH_KEY) for name in self._keys if name not in self._held]
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
        with reading(self.label, "expected a Parquet file"), pq.ParquetFile(self.place, pre_buffer=False) as file:
            kinds = {name: file.schema_arrow.field(name).type for name in held}
        schema = pa.schema([pa.field(name, plain_type(kinds.get(name, pa.string()))) for name in names])

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
        group, row = 0, 0
        while group < len(self._groups) and row + self._groups[group] <= first_row:
            row += self._groups[group]
            group += 1
        # Buffering ahead, pyarrow keeps all row groups in memory, and is several times slower for it.
        with reading(self.label, "cannot be read on"), pq.ParquetFile(self.place, pre_buffer=False) as file:
            chunks = self._chunks(file, set(names))
            for groups in self._spans(group, batch_rows):
                self._require_modest([chunks[number] for number in groups])
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
        found, row = [], 0
        for rows in self._groups:
            found.append((row, rows))
            row += rows
        return found

    def _spans(self, first: int, batch_rows: int) -> Iterator[list[int]]:
        """Yield row groups that are read together: one that is large enough, or several that make a batch."""
        span: list[int] = []
        for group in range(first, len(self._groups)):
            span.append(group)
            if sum(self._groups[number] for number in span) >= batch_rows or group == len(self._groups) - 1:
                yield span
                span = []

    def _chunks(self, opened: Any, names: set[str]) -> tuple[tuple[PageChunk, ...], ...]:
        """Return where pages are of columns, in each row group."""
        paths = [opened.schema.column(number).path for number in range(len(opened.schema))]
        columns = {number for number, path in enumerate(paths) if path.split(".")[0] in names or path in names}
        with open(self.place, "rb") as file:
            footer = read_footer(file, columns)
        if list(footer.rows) != self._groups:
            raise SourceError(f"{self.label}: expected row groups of {self._groups[:9]} rows, got {footer.rows[:9]}.")
        footer.require_as_many_values()
        return footer.chunks

    def _require_modest(self, groups: list[tuple[PageChunk, ...]]) -> None:
        with open(self.place, "rb", buffering=0) as file:
            for chunks in groups:
                require_modest_pages(file, self.n_bytes or 0, chunks, self.label)

    def _key(self, name: str) -> float:
        value = number(self._keys[name])
        if math.isnan(value):
            raise SourceError(f"{self.label}: {name}={self._keys[name]} in the path is not a number.")
        return value


def partition_keys(path: str) -> dict[str, str]:
    """Return the hive keys of a path: {"year": "2026"} of data/year=2026/part.parquet."""
    parts = os.path.normpath(path).split(os.sep)[:-1]
    return dict(part.split("=", 1) for part in parts if "=" in part and not part.startswith("="))
