"""CSV and TSV, plain and compressed, from files and pipes: cut into blocks of whole lines, parsed by pyarrow.

As in pyarrow, a line is a row: values in quotes may hold the delimiter, but no line breaks.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from qckm.errors import SourceError
from qckm.sources.raw import SNIFF, Peekable, decompressed
from qckm.sources.table import Chunk, Column, Rows, Selection, Table, split

_BLOCK = 1 << 23
_LONGEST_LINE = 1 << 28
_BOM = b"\xef\xbb\xbf"


class CsvTable(Table):
    """One CSV file or pipe. Delimiter, header and which columns are numbers are told from its first lines."""

    def __init__(self, open_stream: Callable[[], Peekable], label: str, path: str | None = None) -> None:
        self.label, self.path, self.once = label, path, path is None
        self.n_bytes = os.path.getsize(path) if path else None
        self.faults: dict[int, str] = {}
        self._open = open_stream
        file, stream = self._opened()
        try:
            # Of a pipe the header and one row have to do: there may be no more for a while.
            self._look(stream.peek_lines(2, SNIFF) if self.once else stream.peek(SNIFF))
        except BaseException:
            stream.close()
            raise
        self._waiting: tuple[Peekable, Peekable] | None = (file, stream) if self.once else None
        if not self.once:
            stream.close()

    def _opened(self) -> tuple[Peekable, Peekable]:
        """Return the file, which knows how much of it was read, and its plain bytes."""
        file = self._open()
        return file, decompressed(file, self.label)

    def _look(self, start: bytes) -> None:
        """Tell delimiter, header and types from the first lines."""
        label = self.label
        start = start.removeprefix(_BOM)
        whole = start[: start.rfind(b"\n") + 1] or start
        if not whole.strip():
            raise SourceError(f"{label}: expected rows, got nothing: the file is empty.")
        first, _, rest = whole.partition(b"\n")
        self._delimiter = _delimiter(_text(first))
        cells = self._cells(first)
        self.named = not all(_is_number(cell) for cell in cells)
        self._names = cells if self.named else [str(number) for number in range(len(cells))]
        twice = sorted({name for name in self._names if self._names.count(name) > 1})
        if twice:
            raise SourceError(f"{label}: expected different column names, got {', '.join(twice)} more than once.")
        self._columns = self._infer(rest if self.named else whole)

    def columns(self) -> list[Column]:
        """List the columns."""
        return self._columns

    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield rows; those before `first_row` are read and dropped."""
        file, stream = self._waiting or self._opened()
        row, line = 0, 1 + self.named
        try:
            for block in self._lines(stream):
                rows = self._parse(block, selection, row, line)
                line += block.count(b"\n")
                start = min(len(rows), max(0, first_row - row))
                row += len(rows)
                for part in split(rows[start:], batch_rows):
                    yield part, file.taken
        finally:
            stream.close()

    def _lines(self, stream: Peekable) -> Iterator[bytes]:
        """Yield blocks of whole lines, without the header; from a pipe, as soon as there are some."""
        rest, header = b"", self.named
        bom = True
        while True:
            data = stream.read(_BLOCK)
            if not data:
                break
            if bom:
                data, bom = data.removeprefix(_BOM), False
            cut = data.rfind(b"\n") + 1
            if not cut:
                rest += data
                if len(rest) > _LONGEST_LINE:
                    raise SourceError(f"{self.label}: expected lines, got {len(rest)} bytes without a line end.")
                continue
            block, rest = rest + data[:cut], data[cut:]
            if header:
                block, header = block.partition(b"\n")[2], False
            if block:
                yield block
        if rest.strip() and not header:
            yield rest

    def _parse(self, block: bytes, selection: Selection, first_row: int, first_line: int) -> Rows:
        try:
            table = pacsv.read_csv(
                pa.BufferReader(block),
                pacsv.ReadOptions(column_names=self._names),
                pacsv.ParseOptions(delimiter=self._delimiter),
                pacsv.ConvertOptions(
                    include_columns=list(selection.names), column_types=dict.fromkeys(selection.names, pa.float64())
                ),
            )
        except (pa.ArrowInvalid, pa.ArrowKeyError):
            return self._parse_by_hand(block, selection, first_row, first_line)
        out: Rows = np.empty((len(selection.names), table.num_rows), selection.dtype_of(False))
        with np.errstate(over="ignore"):
            for place, name in enumerate(selection.names):
                out[place] = table.column(name).to_numpy()
        return out.T

    def _parse_by_hand(self, block: bytes, selection: Selection, first_row: int, first_line: int) -> Rows:
        """Parse a block with a line that is none of ours: its cells become NaN, bad rows that have a place."""
        places, n_cells = [self._names.index(name) for name in selection.names], len(self._names)
        rows: list[list[float]] = []
        reader = csv.reader(io.StringIO(_text(block)), delimiter=self._delimiter)
        try:
            for cells in reader:
                if not cells:
                    continue
                whole = len(cells) == n_cells
                if not whole and not self.faults:
                    line = first_line + reader.line_num - 1
                    self.faults[first_row + len(rows)] = (
                        f"expected {n_cells} fields, as the first line has, got {len(cells)} in line {line}"
                    )
                rows.append([_number(cells[place]) if whole else np.nan for place in places])
        except csv.Error as error:
            raise SourceError(f"{self.label}: cannot be read as CSV: {error}") from error
        with np.errstate(over="ignore"):
            return np.array(rows, selection.dtype_of(False)).reshape(len(rows), len(places))

    def _cells(self, line: bytes) -> list[str]:
        try:
            found = next(csv.reader([_text(line).rstrip("\r")], delimiter=self._delimiter))
        except (csv.Error, StopIteration) as error:
            raise SourceError(f"{self.label}: expected column names or numbers in the first line: {error}") from error
        return [cell.strip() for cell in found]

    def _infer(self, sample: bytes) -> list[Column]:
        """Tell which columns hold numbers, from the first lines; a column of nothing may still become one."""
        lines = sample.splitlines()[:1000]
        rows = [row for row in csv.reader(_text(b"\n".join(lines)).splitlines(), delimiter=self._delimiter) if row]
        columns = []
        for place, name in enumerate(self._names):
            cells = [row[place] for row in rows if len(row) == len(self._names)]
            text = [cell for cell in cells if cell.strip() and not _is_number(cell)]
            # One cell in ten may be bad: it is then a bad row, that is named, and not a column of text.
            numeric = len(text) <= len(cells) / 10
            columns.append(Column(name, numeric, "number" if numeric else f"text such as {text[0]!r:.40}"))
        return columns


def _delimiter(line: str) -> str:
    counts = {mark: line.count(mark) for mark in ",;\t|"}
    return max(counts, key=lambda mark: counts[mark])


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return np.nan


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
