"""Arrays in memory, and NumPy's files: read, not mapped, as a file that is cut short meanwhile would kill us (SIGBUS).

What a header says is compared with how many bytes there are before anything is allocated. Rows are read a batch at a
time, from .npz files, too: a few megabytes of these may unpack to any size.
"""

from __future__ import annotations

import contextlib
import io
import os
import zipfile
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from qckm.common.arrays import Rows
from qckm.errors import SourceError
from qckm.sources.rows import as_rows
from qckm.sources.table import Chunk, Column, Selection, Table, reading

# Columns one after the other, and compressed: such an array must be unpacked as a whole.
_MOST_UNPACKED = 1 << 28
_EXPECTED = "expected a 2-D array of numbers in NumPy's format"


# Rows of an array can be read anywhere; this many together are a block of the pilot.
BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Layout:
    """What an array's header says, and where its values begin."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_column: bool = False
    start: int = 0

    @property
    def row_bytes(self) -> int:
        """The bytes of a row."""
        return self.shape[1] * self.dtype.itemsize


class NumpyTable(Table):
    """A 2-D array in a file or in memory, of which a subclass reads some rows. Its columns are called by number."""

    named = False

    def __init__(self, layout: Layout, path: str | None = None) -> None:
        (rows, width), kind = layout.shape, str(layout.dtype)  # NumPy takes its time to name one
        self.label, self.path, self._layout = path or "array", path, layout
        self.columns = [Column(str(number), True, kind) for number in range(width)]
        self.n_rows, self.n_bytes = rows, os.path.getsize(path) if path else rows * layout.row_bytes

    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield rows, as floats."""
        places = [int(name) for name in selection.names]
        (total, width), kept = self._layout.shape, self._layout.dtype
        dtype = selection.dtype_of(kept.itemsize <= 4 and kept.kind == "f")
        # Of what somebody else holds, copies: a map of a file is read here, in the reading thread.
        convert: Any = np.array if self.path is None else np.asarray
        row = first_row
        for rows in self.rows(first_row, batch_rows):
            row += len(rows)
            with np.errstate(over="ignore", invalid="ignore"):  # what is too large for float32 is a bad row
                chosen = convert(as_rows(rows if places == [*range(width)] else rows[:, places]), dtype)
            yield chosen, row * (self.n_bytes or 0) // total

    @abstractmethod
    def rows(self, first_row: int, batch_rows: int) -> Iterator[Rows]:
        """Yield all columns of the rows from `first_row` on, as the array has them."""

    def blocks(self) -> list[tuple[int, int]]:
        """List blocks of a few thousand rows."""
        total = self._layout.shape[0]
        return [(start, min(BLOCK_ROWS, total - start)) for start in range(0, total, BLOCK_ROWS)]

    def _require_whole(self, got: int, wanted: int) -> None:
        if got != wanted:
            raise SourceError(f"{self.label}: expected {wanted} bytes of rows, got {got}: the file is cut short.")


class ArrayTable(NumpyTable):
    """Rows (rows, n) in memory: the caller's, perhaps a map of a file, which must not be cut short meanwhile.

    Or those of a .npz file that had to be unpacked as a whole, as its columns come one after the other.
    """

    def __init__(self, array: Rows, path: str | None = None) -> None:
        super().__init__(Layout(array.shape, array.dtype), path)
        self._array = array

    def rows(self, first_row: int, batch_rows: int) -> Iterator[Rows]:
        """Yield rows."""
        for start in range(first_row, len(self._array), batch_rows):
            yield self._array[start : start + batch_rows]


class NpyTable(NumpyTable):
    """A .npy file."""

    def rows(self, first_row: int, batch_rows: int) -> Iterator[Rows]:
        """Yield rows, each batch by one read; where columns are one after the other, by one per column."""
        layout = self._layout
        total, width = layout.shape
        with open(self.place, "rb") as file:
            for first in range(first_row, total, batch_rows):
                height = min(batch_rows, total - first)
                if layout.by_column:
                    out = np.empty((width, height), layout.dtype)
                    for column in range(width):
                        self._fill(file, out[column], (column * total + first) * layout.dtype.itemsize)
                    yield out.T
                else:
                    out = np.empty((height, width), layout.dtype)
                    self._fill(file, out, first * layout.row_bytes)
                    yield out

    def _fill(self, file: io.BufferedReader, out: Rows, start: int) -> None:
        file.seek(self._layout.start + start)
        self._require_whole(file.readinto(out.reshape(-1).view(np.uint8).data), out.nbytes)


class NpzTable(NumpyTable):
    """The only array of a .npz file, rows after each other, unpacked as it is read.

    Where a reading ended the next one goes on, if it begins further on: a pilot of rows in order costs one pass.
    """

    def __init__(self, layout: Layout, path: str, member: str) -> None:
        super().__init__(layout, path)
        self._member = member
        self._left: list[tuple[contextlib.ExitStack, IO[bytes], int]] = []

    def rows(self, first_row: int, batch_rows: int) -> Iterator[Rows]:
        """Yield rows; those before `first_row` are unpacked and dropped."""
        total, width = self._layout.shape
        stack, file, row = self._at(first_row)
        try:
            while row < first_row:
                row += len(self._next(file, min(BLOCK_ROWS, first_row - row)))
            while row < total:
                rows = self._next(file, min(batch_rows, total - row))
                row += len(rows)
                yield rows.reshape(-1, width)
            file.read(1)  # at its end the checksum is compared
        except GeneratorExit:
            self._left.append((stack, file, row))
            raise
        except BaseException:
            stack.close()
            raise
        stack.close()

    def _at(self, first_row: int) -> tuple[contextlib.ExitStack, IO[bytes], int]:
        while self._left:
            stack, file, row = self._left.pop()
            if row <= first_row:
                return stack, file, row
            stack.close()
        stack = contextlib.ExitStack()
        file = stack.enter_context(stack.enter_context(zipfile.ZipFile(self.place)).open(self._member))
        file.read(self._layout.start)
        return stack, file, 0

    def _next(self, file: IO[bytes], height: int) -> Rows:
        wanted = height * self._layout.row_bytes
        data = file.read(wanted)
        self._require_whole(len(data), wanted)
        return np.frombuffer(data, self._layout.dtype).reshape(height, self._layout.shape[1])


def open_numpy(path: str) -> NumpyTable:
    """Open a .npy file, or the only array of a .npz file."""
    with reading(path, _EXPECTED), open(path, "rb") as file:
        if file.read(2) == b"PK":
            return _open_npz(path)
        file.seek(0)
        layout = _layout(file, path, os.path.getsize(path))
        return NpyTable(layout, path)


def _open_npz(path: str) -> NumpyTable:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) != 1:
            names = ", ".join(member.filename.removesuffix(".npy") for member in members[:10])
            raise SourceError(
                f"{path}: expected one array, got {len(members)}: {names or 'none'}. "
                "Save the rows alone: numpy.save('rows.npy', rows)."
            )
        (member,) = members
        # NumPy writes no others; unpacking LZMA takes as much memory as its header wants.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise SourceError(f"{path}: expected an array that is stored or deflated, got another compression.")
        with archive.open(member) as file:
            layout = _layout(file, path, member.file_size)
            if not layout.by_column:
                return NpzTable(layout, path, member.filename)
            size = layout.shape[0] * layout.row_bytes
            if size > _MOST_UNPACKED:
                raise SourceError(
                    f"{path}: expected rows one after the other, got columns, {size} bytes, which cannot be unpacked "
                    "in parts. Save them with numpy.save, or numpy.ascontiguousarray(rows) with numpy.savez."
                )
            return ArrayTable(np.frombuffer(file.read(size), layout.dtype).reshape(layout.shape, order="F"), path)


def _layout(file: IO[bytes], path: str, size: int) -> Layout:
    """Read a header, and refuse one that promises what the `size` bytes do not hold."""
    version = np.lib.format.read_magic(file)
    readers: Any = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:  # 3.0 is for records whose fields have names in other scripts
        raise SourceError(f"{path}: {_EXPECTED} 1.0 or 2.0, got {version[0]}.{version[1]}.")
    shape, by_column, dtype = readers[version](file)
    if len(shape) != 2:
        raise SourceError(f"{path}: expected a 2-D array (rows, features), got {len(shape)} dimension(s).")
    if dtype.hasobject:
        raise SourceError(f"{path}: expected numbers, got Python objects, which would be unpickled: never.")
    as_rows(np.empty((0, 1), dtype))  # refuses what are no numbers
    start = file.tell()
    rows, width = (int(length) for length in shape)
    if rows < 0 or width < 0 or start + rows * width * dtype.itemsize > size:
        raise SourceError(
            f"{path}: expected {rows} x {width} values of {dtype.itemsize} bytes, as its header says, got "
            f"{size - start} bytes in all."
        )
    return Layout((rows, width), dtype, by_column, start)


def from_dlpack(tensor: Any) -> Rows:
    """Return the array of a PyTorch or other tensor, without a copy where it lies in this machine's memory.

    A tensor hands over an address, a shape and strides. Nobody can check these: its library is trusted with them.
    """
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu()
    with reading(type(tensor).__name__, "expected a tensor in this machine's memory, of numbers NumPy has"):
        rows: Rows = np.from_dlpack(tensor)
    return rows
