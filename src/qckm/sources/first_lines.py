"""What the first lines of a CSV tell: its delimiter, whether it has a header, its columns, which of them are numbers.

Only the first record is looked at and, where it is a header, the one after it: a pipe may have no more for a while, and
the same bytes must mean the same from a file and from a pipe.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from qckm.errors import SourceError
from qckm.sources.raw import Peekable
from qckm.sources.records import LONGEST, Records, count_lines, places_of
from qckm.sources.table import Column
from qckm.sources.text import TextFormat, is_text
from qckm.sources.text_table import BOM, first_line

_DELIMITERS = ",;\t|"
# What comments begin with, as a rule.
_COMMENTS = (b"#", b"%")
# A first record in quotes may go over some lines.
_MOST_LINES = 100
# More than this are a mistake: each costs more memory than its few bytes in the file.
_MOST_COLUMNS = 1 << 20


@dataclass(frozen=True)
class FirstLines:
    """What they tell."""

    delimiter: str
    named: bool  # whether the first record holds names
    columns: list[Column]
    skip: int  # the bytes before the first row
    line: int  # the number of the first row's line
    assumed: str | None  # what was taken for granted, and may be wrong


def look(stream: Peekable, label: str, text: TextFormat) -> FirstLines:
    """Look at the first lines, without taking them; `text` says what is known of them."""
    skip, line, _ = first_line(stream, label, len(BOM) if stream.peek(len(BOM)) == BOM else 0)
    marks = text.delimiter or _DELIMITERS.replace(text.decimal, "")
    delimiter, record = _first_record(stream, skip, label, line, marks)
    if text.comment is not None and count_lines(record.rstrip(b"\r\n")):
        raise SourceError(
            f"{label}: expected no line breaks in line {line} where lines may be comments, got a cell of some."
        )
    cells = cells_of(record, delimiter)
    named, assumed = (text.header, None) if text.header is not None else _is_header(cells, text.decimal)
    if named:
        names = _names(cells, label, line)
        skip, line = skip + len(record), line + count_lines(record)
        row = _record(stream, skip, delimiter)
    else:
        names, row = [str(number) for number in range(len(cells))], record
    first = cells_of(row, delimiter) if row else []
    fields = max(_cells_so_far(row, mark)[0] for mark in marks)
    if record.startswith(_COMMENTS) and row and fields != len(cells):
        shown = record.strip().decode("utf-8", "replace")
        raise SourceError(
            f"{label}: expected names or a row in line {line - count_lines(record)}, got {shown!r:.60}, and "
            f"{fields} fields in the line after it. Pass over lines that are comments: "
            f"comment={record[:1].decode()!r}.",
            about="comment",
        )
    return FirstLines(delimiter, named, _columns(names, first, text.decimal), skip, line, assumed)


def _first_record(stream: Peekable, start: int, label: str, line: int, marks: str) -> tuple[str, bytes]:
    """Return the delimiter and the first record: of all delimiters, the one it has most of outside quotes."""
    text, left, best = b"", [*marks], marks[0]
    for _ in range(_MOST_LINES):
        more = stream.peek_line(start + len(text), LONGEST - len(text))
        text += more
        if b"\0" in text:
            break
        if max(text.count(mark.encode()) for mark in marks) >= _MOST_COLUMNS:
            raise SourceError(f"{label}: expected at most {_MOST_COLUMNS} columns, got more in line {line}.")
        found = {mark: _cells_so_far(text, mark) for mark in left}
        best = max(found, key=lambda mark: found[mark])
        if found[best][1]:
            return best, text
        # One that has fewer cells in a record that ends here is out: the next line would be another record.
        left = [mark for mark in left if found[mark] != _NONE and not found[mark][1]]
        if not more or len(text) > LONGEST or not left:
            break
    records = Records(label, best, line)  # for its words
    records.feed(text)
    if more:
        raise SourceError(f"{label}: expected the quote opened in line {line} to be closed within {_MOST_LINES} lines.")
    records.finish()
    raise SourceError(f"{label}: expected column names or a row in line {line}.")


# How many cells a text has, and whether it ends outside quotes.
Cells = tuple[int, bool]
_NONE: Cells = (0, False)


def _cells_so_far(text: bytes, delimiter: str) -> Cells:
    """Count the cells of a text that may go on, by one delimiter; none where its quotes make no sense."""
    try:
        quotes, _ = Records("", delimiter).structure(text)
    except SourceError:
        return _NONE
    marks = places_of(ord(delimiter), text)
    outside = np.searchsorted(quotes, marks) % 2 == 0
    return 1 + int(np.count_nonzero(outside)), len(quotes) % 2 == 0


def _record(stream: Peekable, start: int, delimiter: str) -> bytes:
    """Return the record that begins there; b"" if there is none, or if it is for the reader to say what is wrong."""
    text = b""
    for _ in range(_MOST_LINES):
        more = stream.peek_line(start + len(text), LONGEST - len(text))
        text += more
        if not text.strip(b"\r\n"):
            start, text = start + len(text), b""
        elif (cells := _cells_so_far(text, delimiter))[1]:
            return text
        elif cells == _NONE:
            break
        if not more or len(text) > LONGEST:
            break
    return b""


def cells_of(record: bytes, delimiter: str) -> list[bytes]:
    """Return the cells of a whole record."""
    text, mark = record.rstrip(b"\r\n"), delimiter.encode()
    if b'"' not in text:
        return text.split(mark)
    cells, at = [], 0
    while True:
        if text[at : at + 1] == b'"':
            end = text.index(b'"', at + 1)
            while text[end + 1 : end + 2] == b'"':
                end = text.index(b'"', end + 2)
            cells.append(text[at + 1 : end].replace(b'""', b'"'))
            at = end + 1
        else:
            end = text.find(mark, at)
            cells.append(text[at : end if end >= 0 else None])
            at = end if end >= 0 else len(text)
        if at >= len(text):
            return cells
        at += 1


def _is_header(cells: list[bytes], decimal: str) -> tuple[bool, str | None]:
    """Tell whether cells are names, and what was taken for granted."""
    text = [is_text(cell.decode("utf-8", "replace"), decimal) for cell in cells]
    if not any(text):
        return False, "the first line holds numbers only, and was read as a row, not as names"
    if not all(text):
        return True, "the first line holds text and numbers, and was read as names, not as a row"
    return True, None


def _names(cells: list[bytes], label: str, line: int) -> list[str]:
    try:
        names = [cell.decode().strip() for cell in cells]
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{label}: expected names in UTF-8, got {error.object!r:.40} in line {line}. Convert the file: "
            "iconv -f latin1 -t utf-8."
        ) from error
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise SourceError(f"{label}: expected different column names, got {', '.join(twice[:5])} more than once.")
    return names


def _columns(names: list[str], row: list[bytes], decimal: str) -> list[Column]:
    """Tell which columns hold numbers, by the first row; a row of another length tells nothing."""
    cells = [cell.decode("utf-8", "replace") for cell in row] if len(row) == len(names) else [""] * len(names)
    return [
        Column(name, False, f"text such as {cell!r:.40}") if is_text(cell, decimal) else Column(name, True, "number")
        for name, cell in zip(names, cells, strict=True)
    ]
