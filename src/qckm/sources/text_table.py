"""Files and pipes of text, in blocks of whole records, for CSV and JSON lines; lines that are comments are left out."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from qckm.common.arrays import Rows
from qckm.errors import SourceError
from qckm.sources.arrow import numbers_of
from qckm.sources.raw import Peekable, decompressed
from qckm.sources.records import LONGEST, Block
from qckm.sources.table import Chunk, Column, Kept, Selection, Span, Table, evenly

_MOST_BLANK = 10_000
# Bytes that tell whether cells are in quotes.
_LOOK = 1 << 20


class TextTable(Table):
    """A file or pipe of text, plain or compressed, in blocks of whole records that pyarrow parses.

    `open_stream` gives the bytes, each time from their beginning. Without a path it is a pipe, and can be read once.
    Lines that begin with `comment` are passed over.
    """

    def __init__(
        self, open_stream: Callable[[], Peekable], label: str, path: str | None = None, comment: str | None = None
    ) -> None:
        self.label, self.path, self.once = label, path, path is None
        self.n_bytes = os.path.getsize(path) if path else None
        self.faults: dict[int, str] = {}
        self._open, self._comment = open_stream, comment
        self._within: Span | None = None  # the bytes to read, from the beginning of a line to that of another
        file, stream = self._opened()
        try:
            self.columns = self._look(stream)
        except BaseException:
            stream.close()
            raise
        self._waiting: tuple[Peekable, Peekable] | None = (file, stream) if self.once else None
        if not self.once:
            stream.close()

    @abstractmethod
    def _look(self, stream: Peekable) -> list[Column]:
        """Return the columns, by the first lines, which are not taken."""

    @abstractmethod
    def _blocks(self, stream: Peekable) -> Iterator[Block]:
        """Yield blocks of whole records; from a pipe, as soon as there are some."""

    @abstractmethod
    def _parse(self, block: Block, selection: Selection) -> Rows:
        """Return the rows of a block; those that are no numbers have a NaN."""

    @abstractmethod
    def _fault(self, block: Block, number: int, row: int, place: int, names: Sequence[str], value: float) -> str:
        """Return what is wrong with a row of a block, by its number there and in all: its value of `names[place]`."""

    @abstractmethod
    def _texts(self, block: Block, names: Sequence[str]) -> list[Any]:
        """Return columns of a block as Arrow arrays of texts."""

    def _opened(self) -> tuple[Peekable, Peekable]:
        """Return the file, which knows how much of it was read, and its plain bytes."""
        file = self._open()
        if self._within is not None:
            return (part := Peekable(_Within(file, *self._within))), part
        plain = decompressed(file, self.label)
        return file, plain if self._comment is None else without_comments(plain, self._comment)

    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield rows; those before `first_row` are read and dropped."""
        file, stream = self._waiting or self._opened()
        row = 0
        try:
            for block in self._blocks(stream):
                rows = self._parse(block, selection)
                if not self.faults and not np.isfinite(rows).all():  # of the first such row
                    number, place = map(int, np.argwhere(~np.isfinite(rows))[0])
                    value = float(rows[number, place])
                    self.faults[row + number] = self._fault(block, number, row + number, place, selection.names, value)
                start = min(len(rows), max(0, first_row - row))
                row += len(rows)
                for at in range(start, len(rows), batch_rows):
                    yield rows[at : at + batch_rows], file.taken
        finally:
            stream.close()

    def spans(self, n_bytes: int) -> list[Span] | None:
        """Cut plain text into bytes; the lines that begin in a span belong to it.

        Where lines may be comments, or cells hold line breaks, for all that the first lines tell, it is not cut.
        """
        if self.path is None or not self.n_bytes or self._comment is not None:
            return None
        file, plain = self._opened()
        with plain:
            if plain is not file:  # compressed
                return None
            if self._may_break(plain.peek(self._skipped + _LOOK)[self._skipped :]):
                return None
        return evenly(range(0, self.n_bytes, n_bytes), self.n_bytes, 1.0, n_bytes)

    def narrow(self, span: Span) -> None:
        """Read the lines that begin in these bytes only; lines and rows are then counted from the first of them."""
        begin, end = (self._line_after(at) for at in span)
        self._within = begin, end
        if begin > self._skipped:
            self.label = f"{self.label}, from byte {begin} on"

    def _line_after(self, at: int) -> int:
        """Return where the first line begins at a byte or after it; before the first row is no line."""
        if at <= self._skipped:
            return self._skipped
        with open(self.place, "rb") as file:
            file.seek(at - 1)
            file.readline(LONGEST)
            return min(file.tell(), self.n_bytes or 0)

    @property
    def _skipped(self) -> int:
        """The bytes before the first row."""
        return 0

    def _may_break(self, text: bytes) -> bool:
        """Whether a line end in such a text may be inside a cell."""
        return False

    def keep(self, names: Sequence[str]) -> Kept:
        """Return columns as text."""
        schema = pa.schema([pa.field(name, pa.string()) for name in names])

        def batches() -> Iterator[pa.RecordBatch]:
            _, stream = self._opened()
            with stream:
                for block in self._blocks(stream):
                    yield pa.RecordBatch.from_arrays(self._texts(block, names), schema=schema)

        return schema, batches()


class _Within:
    """Some bytes of a file."""

    def __init__(self, file: Peekable, begin: int, end: int) -> None:
        self._file, self._left = file, end - begin
        file.seek(begin)

    def read(self, size: int) -> bytes:
        found = self._file.read(min(size, self._left))
        self._left -= len(found)
        return found

    def close(self) -> None:
        self._file.close()


def rows_of_numbers(table: pa.Table, selection: Selection) -> Rows:
    """Return parsed columns of numbers as rows, each column contiguous."""
    out: Rows = np.empty((len(selection.names), table.num_rows), selection.dtype_of(False))
    with np.errstate(over="ignore"):
        for place, name in enumerate(selection.names):
            out[place] = numbers_of(table.column(name))
    return out.T


def number_expected(line: int, row: int, name: str, found: str) -> str:
    """Return what is wrong with a cell of a text that is no number."""
    return f"expected a finite number in line {line} (row {row}, the first is 0), column {name!r}, got {found}"


def first_line(stream: Peekable, label: str, start: int = 0, blank: bytes | None = b"\r\n") -> tuple[int, int, bytes]:
    """Return where the first line begins that is not blank, its number, and the line, which is not taken."""
    for number in range(1, _MOST_BLANK):
        line = stream.peek_line(start, LONGEST)
        if line.strip(blank):
            return start, number, line
        if not line:
            raise SourceError(f"{label}: expected rows, got nothing: the file is empty.")
        start += len(line)
    raise SourceError(f"{label}: expected rows, got {_MOST_BLANK} blank lines.")


BOM = b"\xef\xbb\xbf"


def without_comments(stream: Peekable, mark: str) -> Peekable:
    """Return a stream in which lines that begin with a mark are empty."""
    return Peekable(_WithoutComments(stream, mark.encode()))


class _WithoutComments:
    """Bytes as they come: of a line only its first one must be known."""

    def __init__(self, stream: Peekable, mark: bytes) -> None:
        self._stream, self._mark = stream, mark
        self._begun = self._comment = False  # whether the line that comes next has begun, and is a comment
        self._ahead = BOM if stream.peek(len(BOM)) == BOM else b""
        stream.read(len(self._ahead))

    def read(self, size: int) -> bytes:
        """Return some bytes; none at the end only."""
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        while data := self._stream.read(size):
            kept = self._without(data)
            if kept:
                return kept
        return b""

    def _without(self, data: bytes) -> bytes:
        if not self._comment and self._mark not in data:
            self._begun = not data.endswith((b"\r", b"\n"))
            return data
        kept: list[bytes] = []
        for line in data.splitlines(keepends=True):
            if not self._begun:
                self._comment = line.startswith(self._mark)
            whole = line.endswith((b"\r", b"\n"))
            if not self._comment:
                kept.append(line)
            elif whole:
                kept.append(line[len(line.rstrip(b"\r\n")) :])
            self._begun = not whole
            self._comment = self._comment and not whole
        return b"".join(kept)

    def close(self) -> None:
        self._stream.close()
