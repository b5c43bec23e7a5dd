"""Parquet files: row groups, which can be read alone, and hive partitions, whose keys are in the path."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq

from qckm.errors import SourceError
from qckm.sources.arrow import BatchesTable
from qckm.sources.parquet_sizes import read_footer
from qckm.sources.table import reading

_MOST_ROWS = 1 << 48


class ParquetTable(BatchesTable):
    """One Parquet file. It is opened for its footer, and again when it is read: thousands may be waiting."""

    def __init__(self, path: str) -> None:
        self.label = self.path = path
        self.n_bytes = os.path.getsize(path)
        with reading(path, "expected a Parquet file"), pq.ParquetFile(path, pre_buffer=False) as file:
            metadata = file.metadata
            self._schema = file.schema_arrow
            self._groups = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
            rows = metadata.num_rows
        self._keys = {name: key for name, key in _partition_keys(path).items() if name not in self._schema.names}
        self.n_rows = sum(self._groups)
        if not all(0 <= rows <= _MOST_ROWS for rows in self._groups):
            raise SourceError(f"{path}: expected numbers of rows, got {min(self._groups)} to {max(self._groups)}.")
        if self.n_rows != rows:
            raise SourceError(f"{path}: expected {rows} rows, as its footer says, got {self.n_rows} in its row groups.")

    def _batches(
        self, names: Sequence[str], first_row: int, batch_rows: int
    ) -> Iterator[tuple[pa.RecordBatch, int, int]]:
        begin = sum(start + rows <= first_row for start, rows in self.blocks())
        row = sum(self._groups[:begin])
        # Buffering ahead, pyarrow keeps all row groups in memory, and is several times slower for it.
        with pq.ParquetFile(self.place, pre_buffer=False) as file, open(self.place, "rb", buffering=0) as again:
            paths = [file.schema.column(number).path for number in range(len(file.schema))]
            wanted = {n for n, path in enumerate(paths) if {path, path.split(".")[0]} & {*names}}
            footer = read_footer(again, wanted, self._groups)
            for groups in self._together(begin, batch_rows):
                footer.require_modest_pages(again, self.n_bytes or 0, groups, self.label)
                end = row + sum(self._groups[number] for number in groups)
                for batch in file.iter_batches(batch_size=batch_rows, row_groups=groups, columns=list(names)):
                    before, row = row, row + batch.num_rows
                    yield batch, before, row * (self.n_bytes or 0) // max(1, self.n_rows or 0)
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


def _partition_keys(path: str) -> dict[str, str]:
    """Return the hive keys of a path: {"year": "2026"} of data/year=2026/part.parquet."""
    parts = os.path.normpath(path).split(os.sep)[:-1]
    return dict(part.split("=", 1) for part in parts if "=" in part and not part.startswith("="))
