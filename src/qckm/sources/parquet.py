"""Parquet files: row groups, which can be read alone, and hive partitions, whose keys are in the path."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from qckm.errors import SourceError
from qckm.sources.arrow import columns_of, rows_of
from qckm.sources.table import Chunk, Column, Selection, Table


class ParquetTable(Table):
    """One Parquet file. It is opened for its footer, and again when it is read: thousands may be waiting."""

    def __init__(self, path: str) -> None:
        self.label = self.path = path
        try:
            with pq.ParquetFile(path, pre_buffer=False) as file:
                metadata = file.metadata
                self._columns = columns_of(file.schema_arrow)
                self._groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        except pa.ArrowException as error:
            raise SourceError(f"{path}: expected a Parquet file: {error}") from error
        self._keys = partition_keys(path)
        self.n_rows = sum(self._groups)
        self.n_bytes = os.path.getsize(path)

    def columns(self) -> list[Column]:
        """List the columns of the file, then those of the path."""
        held = {column.name for column in self._columns}
        keys = [Column(name, False, "a key of the path") for name in self._keys if name not in held]
        return self._columns + keys

    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield rows; the row groups before `first_row` are not touched."""
        held = {column.name for column in self._columns}
        constants = {name: self._key(name) for name in selection.names if name not in held}
        group, row = 0, 0
        while group < len(self._groups) and row + self._groups[group] <= first_row:
            row += self._groups[group]
            group += 1
        total = max(1, self.n_rows or 0)
        try:
            # Buffering ahead, pyarrow keeps all row groups in memory, and is several times slower for it.
            with pq.ParquetFile(self.path, pre_buffer=False) as file:
                for batch in file.iter_batches(
                    batch_size=batch_rows,
                    row_groups=list(range(group, len(self._groups))),
                    columns=[name for name in selection.names if name in held],
                ):
                    skip = min(batch.num_rows, max(0, first_row - row))
                    row += batch.num_rows
                    if skip < batch.num_rows:
                        yield rows_of(batch.slice(skip), selection, constants), row * (self.n_bytes or 0) // total
        except pa.ArrowException as error:
            raise SourceError(f"{self.label}: cannot be read on: {error}") from error

    def blocks(self) -> list[tuple[int, int]]:
        """List the row groups."""
        found, row = [], 0
        for rows in self._groups:
            found.append((row, rows))
            row += rows
        return found

    def _key(self, name: str) -> float:
        try:
            return float(self._keys[name])
        except ValueError as error:
            raise SourceError(f"{self.label}: {name}={self._keys[name]} in the path is not a number.") from error


def partition_keys(path: str) -> dict[str, str]:
    """Return the hive keys of a path: {"year": "2026"} of data/year=2026/part.parquet."""
    parts = os.path.normpath(path).split(os.sep)[:-1]
    return dict(part.split("=", 1) for part in parts if "=" in part and not part.startswith("="))
