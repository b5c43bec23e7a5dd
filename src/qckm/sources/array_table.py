"""Arrays in memory: NumPy's; PyTorch's and others' through DLPack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from qckm.common.arrays import Rows
from qckm.sources.read_errors import reading
from qckm.sources.rows import as_rows
from qckm.sources.table import Chunk, Column, Selection, Table

# Rows of an array can be read anywhere; this many together are a block of the pilot.
BLOCK_ROWS = 4096


class ArrayTable(Table):
    """A 2-D array (rows, n) in memory, or the caller's own map of a file, which must not be cut short meanwhile."""

    named = False
    label = "array"

    def __init__(self, array: object) -> None:
        self._rows = as_rows(array)
        self.n_rows, self.n_bytes = len(self._rows), self._rows.nbytes

    def columns(self) -> list[Column]:
        """List the columns by number, "0" first."""
        return [Column(str(number), True, str(self._rows.dtype)) for number in range(self._rows.shape[1])]

    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield copies: a map of a file is read here, in the reading thread."""
        places = [int(name) for name in selection.names]
        dtype = selection.dtype_of(self._rows.dtype.itemsize <= 4 and self._rows.dtype.kind == "f")
        everything = places == list(range(self._rows.shape[1]))
        total = max(1, len(self._rows))
        for start in range(first_row, len(self._rows), batch_rows):
            part = self._rows[start : start + batch_rows]
            with np.errstate(over="ignore", invalid="ignore"):  # what is too large for float32 is a bad row
                rows = np.array(part if everything else part[:, places], dtype)
            yield rows, (start + len(rows)) * (self.n_bytes or 0) // total

    def blocks(self) -> list[tuple[int, int]]:
        """List blocks of a few thousand rows."""
        return blocks_of_rows(len(self._rows))


def blocks_of_rows(total: int) -> list[tuple[int, int]]:
    """List (first row, rows) of blocks of an array of so many rows."""
    return [(start, min(BLOCK_ROWS, total - start)) for start in range(0, total, BLOCK_ROWS)]


def from_dlpack(tensor: Any) -> Rows:
    """Return the array of a PyTorch or other tensor, without a copy where it lies in this machine's memory.

    A tensor hands over an address, a shape and strides. Nobody can check these: its library is trusted with them.
    """
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu()
    with reading(type(tensor).__name__, "expected a tensor in this machine's memory, of numbers NumPy has"):
        rows: Rows = np.from_dlpack(tensor)
    return rows
