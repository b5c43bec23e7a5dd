"""Arrays: NumPy's and its files, memory-mapped; PyTorch's and others' through DLPack."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from qckm.errors import SourceError
from qckm.rows import as_rows
from qckm.sources.table import Chunk, Column, Rows, Selection, Table

# Rows of an array can be read anywhere; this many together are a block of the pilot.
_BLOCK = 4096


class ArrayTable(Table):
    """A 2-D array (rows, n), in memory or mapped from a file."""

    named = False

    def __init__(self, array: Any, label: str = "array", path: str | None = None) -> None:
        self._rows = as_rows(array)
        self.label, self.path = label, path
        self.n_rows = len(self._rows)
        self.n_bytes = os.path.getsize(path) if path else self._rows.nbytes

    def columns(self) -> list[Column]:
        """List the columns by number, "0" first."""
        return [Column(str(number), True, str(self._rows.dtype)) for number in range(self._rows.shape[1])]

    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield copies: whoever maps a file wants it read here, in the reading thread."""
        places = [int(name) for name in selection.names]
        dtype = selection.dtype_of(self._rows.dtype.itemsize <= 4 and self._rows.dtype.kind == "f")
        everything = places == list(range(self._rows.shape[1]))
        total = max(1, len(self._rows))
        for start in range(first_row, len(self._rows), batch_rows):
            part = self._rows[start : start + batch_rows]
            rows = np.array(part if everything else part[:, places], dtype)
            yield rows, (start + len(rows)) * (self.n_bytes or 0) // total

    def blocks(self) -> list[tuple[int, int]]:
        """List blocks of a few thousand rows."""
        total = len(self._rows)
        return [(start, min(_BLOCK, total - start)) for start in range(0, total, _BLOCK)]


def open_numpy(path: str) -> ArrayTable:
    """Open a .npy file, mapped, or the only array of a .npz file."""
    try:
        with open(path, "rb") as file:
            if file.read(2) == b"PK":
                file.seek(0)
                return ArrayTable(_only_array(file, path), path, path)
        # A file of Python objects would be unpickled: never.
        return ArrayTable(np.load(path, mmap_mode="r", allow_pickle=False), path, path)
    except SourceError:
        raise
    except (ValueError, EOFError, KeyError, TypeError, SyntaxError, zipfile.BadZipFile, NotImplementedError) as error:
        raise SourceError(f"{path}: expected a 2-D array of numbers in NumPy's format: {error}") from error


def _only_array(file: Any, path: str) -> Rows:
    with np.load(file, allow_pickle=False) as arrays:
        names = arrays.files
        if len(names) != 1:
            raise SourceError(
                f"{path}: expected one array, got {len(names)}: {', '.join(names) or 'none'}. "
                "Save the rows alone: numpy.save('rows.npy', rows)."
            )
        rows: Rows = arrays[names[0]]
        return rows


def from_dlpack(tensor: Any) -> Rows:
    """Return the array of a PyTorch or other tensor, without a copy where it lies in this machine's memory."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu()
    try:
        rows: Rows = np.from_dlpack(tensor)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise SourceError(f"Expected a tensor in this machine's memory, of numbers NumPy has: {error}") from error
    return rows
