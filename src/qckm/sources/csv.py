"""CSV and TSV, plain and compressed, from files and pipes: cut into blocks of whole records, parsed by pyarrow.

pyarrow takes a quote that is never closed, or that something follows, for what it is not; and where cells hold line
breaks it must be told. Blocks are checked for the first, and say the second (`records.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from qckm.common.arrays import Flags, Rows
from qckm.errors import SourceError, SplitError
from qckm.sources.first_lines import cells_of, look
from qckm.sources.raw import Peekable
from qckm.sources.records import Block, Records, records_of
from qckm.sources.table import Column, Selection
from qckm.sources.text import UNKNOWN, TextFormat, number
from qckm.sources.text_table import BOM, TextTable, number_expected, rows_of_numbers

_BLOCK = 1 << 23
# pyarrow parses such pieces of a block in parallel; a record must fit into one.
_PIECE, _BYTES_PER_CELL = 1 << 20, 64
# More columns than these are parsed here, cell by cell: pyarrow takes 10 kB for each, however few rows there are.
_MANY_COLUMNS = 1 << 15


class CsvTable(TextTable):
    """One CSV file or pipe. Delimiter, header and which columns are numbers are told from its first two records.

    `text` is what is known of it beforehand; the other parameters are those of any text.
    """

    def __init__(
        self, open_stream: Callable[[], Peekable], label: str, path: str | None = None, text: TextFormat = UNKNOWN
    ) -> None:
        self._text = text
        super().__init__(open_stream, label, path, text.comment)

    def _look(self, stream: Peekable) -> list[Column]:
        self._first = look(stream, self.label, self._text)
        self.named, self.assumed = self._first.named, self._first.assumed
        self._names = [column.name for column in self._first.columns]
        return self._first.columns

    @property
    def _skipped(self) -> int:
        return self._first.skip

    def _may_break(self, text: bytes) -> bool:
        return b'"' in text

    def _texts(self, block: Block, names: Sequence[str]) -> list[pa.Array]:
        """Return the cells of columns as they are, "007" stays that; a line of another length has none."""
        try:
            table = self._parsed(block, names, pa.string())
            return [table.column(name).combine_chunks() for name in names]
        except (pa.ArrowInvalid, pa.ArrowKeyError):
            table, whole = self._split(block, names)
        plain = block.text.isascii()
        found: list[pa.Array] = []
        for name in names:
            cells = np.full(len(whole), None, object)
            # Beyond ASCII the cells are what Latin-1 makes of UTF-8, see `_parsed`.
            cells[whole] = [
                (cell if plain else cell.decode().encode("latin1")).decode("utf-8", "replace")
                for cell in table.column(name).to_pylist()
            ]
            found.append(pa.array(cells, pa.string()))
        return found

    def _blocks(self, stream: Peekable) -> Iterator[Block]:
        """Yield blocks of whole records, without the header; from a pipe, as soon as there are some."""
        skip, line = (self._first.skip, self._first.line) if self._within is None else (0, 1)
        records = Records(self.label, self._first.delimiter, line)
        while data := stream.read(_BLOCK):
            if self._within is not None and self._may_break(data):
                raise SplitError(f"{self.label}: expected no cells in quotes in a file read in parts, got some.")
            skipped = min(skip, len(data))
            skip -= skipped
            block = records.feed(data[skipped:] if skipped else data)
            if block:
                yield self._checked(block)
        block = records.finish()
        if block:
            yield self._checked(block)

    def _checked(self, block: Block) -> Block:
        """Refuse cells with line breaks where lines may be comments: nobody knows which of the two a line is."""
        if block.breaks and self._comment is not None:
            raise SourceError(
                f"{self.label}: expected no line breaks inside cells in quotes where lines may be comments, got one "
                f"after line {block.line}."
            )
        return block

    def _parse(self, block: Block, selection: Selection) -> Rows:
        try:
            if len(selection.names) > _MANY_COLUMNS:
                return self._parse_cells(block, selection)
            return rows_of_numbers(self._parsed(block, selection.names, pa.float64()), selection)
        except (pa.ArrowInvalid, pa.ArrowKeyError):
            return self._parse_by_hand(block, selection)

    def _fault(self, block: Block, number: int, row: int, place: int, names: Sequence[str], value: float) -> str:
        """Return the line of a row, and the cell as it stands there."""
        line, record = next(islice(records_of(block, self._first.delimiter), number, None))
        cells = cells_of(record, self._first.delimiter)
        if len(cells) != len(self._names):
            return f"expected {len(self._names)} fields, as the first line has, got {len(cells)} in line {line}"
        cell = cells[self._names.index(names[place])].decode("utf-8", "replace")
        return number_expected(line, row, names[place], f"{cell!r:.60}" if cell.strip() else "nothing")

    def _parse_cells(self, block: Block, selection: Selection) -> Rows:
        """Parse a block of many columns; a line of another length has no numbers."""
        places = {name: place for place, name in enumerate(self._names)}
        wanted, decimal = [places[name] for name in selection.names], self._text.decimal
        rows = []
        for _, record in records_of(block, self._first.delimiter):
            cells = cells_of(record, self._first.delimiter)
            row = np.full(len(wanted), np.nan)
            if len(cells) == len(self._names):
                row[:] = [number(cells[place].decode("latin1"), decimal) for place in wanted]
            rows.append(row)
        with np.errstate(over="ignore"):
            return np.array(rows).reshape(len(rows), len(wanted)).astype(selection.dtype_of(False))

    def _parse_by_hand(self, block: Block, selection: Selection) -> Rows:
        """Parse a block with a line that is none of ours: its cells become NaN, bad rows that have a place."""
        table, whole = self._split(block, selection.names)
        rows = np.full((len(whole), len(selection.names)), np.nan)
        for place, name in enumerate(selection.names):
            rows[whole, place] = [
                number(cell.decode("latin1"), self._text.decimal) for cell in table.column(name).to_pylist()
            ]
        with np.errstate(over="ignore"):
            return rows.astype(selection.dtype_of(False))

    def _split(self, block: Block, names: Sequence[str]) -> tuple[pa.Table, Flags]:
        """Return the cells of lines of the right length, and which lines these are."""
        wrong: list[Any] = []

        def note(row: Any) -> str:
            wrong.append(row)
            return "skip"

        table = self._parsed(block, names, pa.binary(), note)
        whole = np.ones(table.num_rows + len(wrong), bool)
        whole[[row.number - 1 for row in wrong]] = False
        return table, whole

    def _parsed(self, block: Block, names: Sequence[str], kind: pa.DataType, on_wrong: Any = None) -> pa.Table:
        text = block.text
        if on_wrong and not text.isascii():
            text = text.decode("latin1").encode()  # pyarrow shows us a wrong line as UTF-8, and fails if it is not
        if text.startswith(BOM):
            text = b"\n" + text  # pyarrow would remove it from the first cell, but this is not where the file begins
        # In one piece pyarrow looks for no line end to cut at, which it would find in cells in quotes, too.
        piece = len(text) + 1 if block.breaks or on_wrong else max(_PIECE, _BYTES_PER_CELL * len(self._names))
        return pacsv.read_csv(
            pa.BufferReader(text),
            pacsv.ReadOptions(column_names=self._names, block_size=piece, use_threads=on_wrong is None),
            pacsv.ParseOptions(
                delimiter=self._first.delimiter, quote_char='"' if block.quotes else False, invalid_row_handler=on_wrong
            ),
            pacsv.ConvertOptions(
                include_columns=list(names), column_types=dict.fromkeys(names, kind), decimal_point=self._text.decimal
            ),
        )
