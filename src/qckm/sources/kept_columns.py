"""Columns of any kind that are carried through beside the rows: read once more, in the same order, as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from qckm.errors import SourceError
from qckm.sources.source import Source
from qckm.sources.table import reading, require_names, resolve


class KeptColumns:
    """The columns of a source that are kept, a batch of rows at a time.

    Parameters
    ----------
    source : Source
        Files; a pipe is read once, and its rows are gone.
    names : sequence of str
        Names, or positions where no column has that name.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from qckm.sources.opening import open_source
    >>> source = open_source(pa.table({"id": ["007", "008"], "x": [1.0, 2.0]}), columns=["x"])
    >>> KeptColumns(source, ["id"]).take(2).to_pydict()
    {'id': ['007', '008']}
    """

    def __init__(self, source: Source, names: Sequence[str]) -> None:
        if source.once:
            raise SourceError(
                f"{source.tables[0].label}: expected a file, as columns to keep are read again, got a pipe. Save it."
            )
        self._tables = source.tables
        self.names: list[str] = resolve(names, [column.name for column in source.tables[0].columns])
        if len(set(self.names)) != len(self.names):
            raise SourceError(f"Expected each column to keep once, got {', '.join(self.names)}.")
        for table in self._tables:
            require_names(table, self.names)
        with reading(self._tables[0].label):
            self.schema: pa.Schema = self._tables[0].keep(self.names)[0]
        nested = [field.name for field in self.schema if pa.types.is_nested(field.type)]
        if nested:
            raise SourceError(f"Expected columns of plain values to keep, got lists or structures in {nested[0]!r}.")
        self._batches, self._left = self._read(), pa.Table.from_batches([], self.schema)

    def _read(self) -> Iterator[pa.RecordBatch]:
        for table in self._tables:
            with reading(table.label, "the columns to keep cannot be read"):
                _, batches = table.keep(self.names)
                for batch in batches:
                    yield batch if batch.schema == self.schema else batch.cast(self.schema)

    def take(self, rows: int) -> pa.Table:
        """Return the next rows."""
        found = [self._left]
        while sum(part.num_rows for part in found) < rows:
            batch = next(self._batches, None)
            if batch is None:
                raise SourceError(
                    f"Expected {rows} more rows of the columns to keep: a file changed while it was read."
                )
            found.append(pa.Table.from_batches([batch], self.schema))
        whole = pa.concat_tables(found)
        self._left = whole.slice(rows)
        return whole.slice(0, rows)
