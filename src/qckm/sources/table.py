"""Table: one file, frame or array. It knows its columns, and yields its rows in order from any row on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Rows

# Rows of a table, and how many of its bytes have been read to get there.
Chunk = tuple[Rows, int]
# A schema of Arrow's, and batches of it.
Kept = tuple[Any, Iterator[Any]]
_KEPT_ROWS = 1 << 16


@dataclass(frozen=True)
class Column:
    """A column's name, whether it holds numbers, and what it holds in the words of its format.

    One that does not may still be `readable` where it is asked for by name: text in a CSV, which may be numbers further
    on, and the keys of a path. An `index` tells rows apart, and is no feature of them.
    """

    name: str
    numeric: bool
    kind: str
    readable: bool = True
    index: bool = False


@dataclass(frozen=True)
class Selection:
    """The columns to read, by name, and the floats to read them as: float32, float64, or what they are ("auto").

    `left_out` are those that nobody asked for, and that would have been read if they were like the others.
    """

    names: tuple[str, ...]
    dtype: str = "auto"
    left_out: tuple[str, ...] = ()

    def dtype_of(self, single: bool) -> npt.DTypeLike:
        """Return the type of the rows; `single` says whether all columns fit in float32."""
        if self.dtype != "auto":
            return np.dtype(self.dtype)
        return np.float32 if single else np.float64


class Table(ABC):
    """One file, frame or array of rows."""

    label: str  # what errors call it
    path: str | None = None  # where it lies, if it is a file
    copied: bool = False  # whether it lies elsewhere, and the path is that of a copy
    named: bool = True  # whether its columns have names; else they are called "0", "1", …
    once: bool = False  # whether it can be read only once: a pipe
    n_rows: int | None = None
    n_bytes: int | None = None
    assumed: str | None = None  # what was taken for granted on opening it, and may be wrong
    faults: Mapping[int, str] = MappingProxyType({})  # what is wrong with a row as such; the first read has to do

    @property
    def place(self) -> str:
        """The path of a table that is a file."""
        assert self.path is not None
        return self.path

    @abstractmethod
    def columns(self) -> list[Column]:
        """List the columns."""

    @abstractmethod
    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield the rows from `first_row` on, at most `batch_rows` at a time."""

    def keep(self, names: Sequence[str]) -> Kept:
        """Return columns of any kind as they are: their schema, and all rows in batches. By default, as numbers."""
        import pyarrow as pa

        schema = pa.schema([pa.field(name, pa.float64()) for name in names])

        def batches() -> Iterator[Any]:
            for rows, _ in self.read(Selection(tuple(names), "float64"), 0, _KEPT_ROWS):
                yield pa.RecordBatch.from_arrays([pa.array(column) for column in rows.T], schema=schema)

        return schema, batches()

    def blocks(self) -> list[tuple[int, int]] | None:
        """List (first row, rows) of parts that can be read alone without reading what lies before; None if none can."""
        return None


def number_expected(line: int, row: int, name: str, found: str) -> str:
    """Return what is wrong with a cell of a text that is no number."""
    return f"expected a finite number in line {line} (row {row}, the first is 0), column {name!r}, got {found}"


def split(rows: Rows, batch_rows: int) -> Iterator[Rows]:
    """Cut rows into batches."""
    for start in range(0, len(rows), batch_rows):
        yield rows[start : start + batch_rows]
