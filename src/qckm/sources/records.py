"""Text cut into blocks of whole records, at line ends outside quotes, however it arrives (RFC 4180).

A cell that begins with a quote ends at the next one that is not doubled, and may hold delimiters and line breaks. Then
a delimiter, a line end or the end of the text must follow: otherwise nobody knows which quote is the stray one, nor
where rows begin, and the text is refused. A quote inside a cell that does not begin with one is a character like any.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Bytes
from qckm.errors import SourceError

# A record without end must not fill the memory.
LONGEST = 1 << 26
_PART = 1 << 20
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_STRAY = "a stray quote? Remove it, or double it inside a cell in quotes."

Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Block:
    """Whole records, the number of their first line in the file, and what a parser must heed."""

    text: bytes
    line: int
    quotes: bool = False  # whether there is a quote at all
    breaks: bool = False  # whether cells in quotes hold line breaks


class Records:
    """Cuts a text that arrives in pieces of any size; the pieces change nothing, and each byte is looked at once.

    Errors call it by its label; `line` is the number of its first line.
    """

    def __init__(self, label: str, delimiter: str, line: int = 1) -> None:
        self._label, self._line = label, line
        self._ends = {ord(delimiter), _NEWLINE, _RETURN}
        self._around = np.zeros(256, bool)  # what may stand before a quote that opens, and after one that closes
        self._around[[*self._ends, _QUOTE]] = True
        self._last = _NEWLINE  # the byte before what comes next
        self._held = b""  # last bytes whose meaning depends on the next one
        # The record that is not whole yet: its bytes, whether they end inside quotes, and where those were opened.
        self._parts: list[bytes] = []
        self._size = self._opened = 0
        self._inside = self._quotes = self._breaks = False

    def feed(self, data: bytes) -> Block | None:
        """Take some bytes; return the records that are whole by now, if there are any."""
        data, self._held = self._held + data, b""
        if data.endswith(b"\r"):  # half a line end, perhaps
            data, self._held = data[:-1], b"\r"
        if b"\0" in data:
            hint = "Is this UTF-16? Convert it to UTF-8." if data.count(b"\0") > len(data) // 4 else "Remove it."
            line = self._line_of(self._size + data.index(b"\0"), data)
            self._fail(f"expected text, got a NUL byte in line {line}. {hint}")
        if self._inside or b'"' in data:
            data, cut, lines = self._cut_quoted(data)
        else:
            cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
            lines = count_lines(data, cut)
        return self._taken(data, cut, lines) if data else None

    def finish(self) -> Block | None:
        """Return what is left when the text has ended, if it is a record."""
        if self._inside and not self._held.startswith(b'"'):
            line = self._line_of(self._opened)
            self._fail(f"expected the quote opened in line {line} to be closed, got the end of the file: {_STRAY}")
        text = b"".join([*self._parts, self._held])
        return Block(text, self._line, self._quotes, self._breaks) if text.strip(b"\r\n") else None

    def _cut_quoted(self, data: bytes) -> tuple[bytes, int, int]:
        """Return the data, less a last quote that may be half of a doubled one, where to cut, and the lines before."""
        quotes, opened = self.structure(data)
        inside = self._inside ^ (len(quotes) % 2 == 1)
        if len(quotes) and not inside and quotes[-1] == len(data) - 1:
            data, quotes, inside, self._held = data[:-1], quotes[:-1], True, b'"' + self._held
        ends = line_ends(data)
        within = (np.searchsorted(quotes, ends) + self._inside) % 2 == 1
        outside = ends[~within]
        cut = int(outside[-1]) + 1 if len(outside) else 0
        if opened >= 0:
            self._opened = opened - cut if cut else self._size + opened
        self._inside, self._quotes, self._breaks = inside, True, self._breaks or bool(within.any())
        return data, cut, int(np.searchsorted(ends, cut))

    def structure(self, data: bytes) -> tuple[Places, int]:
        """Return where the quotes are that open and close cells, in turn, and the last that opens one, or −1."""
        found, values = places_of(_QUOTE, data), np.frombuffer(data, np.uint8)
        opening, closing = (found[1::2], found[::2]) if self._inside else (found[::2], found[1::2])
        before, after = values[opening - 1], values[closing[closing < len(data) - 1] + 1]
        inner = False
        if len(opening) and opening[0] == 0:
            before[0], inner = self._last, self._last == _QUOTE  # that one was inside a cell: others are held back
        # As a rule all quotes do, where a doubled one is said to close a cell and to open it again.
        if self._around[before].all() and self._around[after].all() and not inner:
            first = opening[before != _QUOTE]
            return found, int(first[-1]) if len(first) else -1
        return self._structure_one_by_one(data, found)

    def _structure_one_by_one(self, data: bytes, found: Places) -> tuple[Places, int]:
        """Do the same where quotes stand inside cells, too."""
        inside, opened, doubled, kept = self._inside, -1, False, array("q")
        for start in range(0, len(found), _PART):  # a list of all of them would be large
            for at in found[start : start + _PART].tolist():
                if doubled:
                    doubled = False
                elif not inside:
                    if (data[at - 1] if at else self._last) in self._ends:
                        inside, opened = True, at
                        kept.append(at)
                elif at + 1 == len(data) or data[at + 1] in self._ends:
                    inside = False
                    kept.append(at)
                elif data[at + 1] == _QUOTE:
                    doubled = True
                else:
                    self._fail_after(data, at, opened)
        return np.array(kept, np.intp), opened

    def _fail_after(self, data: bytes, at: int, opened: int) -> NoReturn:
        begun = self._line_of(self._size + opened if opened >= 0 else self._opened, data)
        line = self._line_of(self._size + at, data)
        self._fail(
            f"expected a delimiter or a line end after the quote in line {line} that closes a cell opened in "
            f"line {begun}: {_STRAY}"
        )

    def _taken(self, data: bytes, cut: int, lines: int) -> Block | None:
        """Keep what is not whole, return what is: it ends so many lines further."""
        self._last = data[-1]
        if not cut:
            self._parts.append(data)
            self._size += len(data)
            if self._size > LONGEST:
                what = "the quote opened in line {} to be closed" if self._inside else "an end of line {}"
                line = self._line_of(self._opened if self._inside else 0)
                self._fail(f"expected {what.format(line)}, got {self._size} bytes without it.")
            return None
        text = b"".join([*self._parts, memoryview(data)[:cut]])  # one copy of megabytes, not two
        block = Block(text, self._line, self._quotes, self._breaks)
        self._line += lines + sum(map(count_lines, self._parts))
        rest = data[cut:]
        self._parts, self._size = [rest], len(rest)
        self._quotes, self._breaks = b'"' in rest, count_lines(rest) > 0
        return block

    def _line_of(self, place: int, data: bytes = b"") -> int:
        """Return the number of the line of a byte, counted from the start of the unfinished record; data follow it."""
        return self._line + count_lines(b"".join([*self._parts, data])[:place])

    def _fail(self, words: str) -> NoReturn:
        raise SourceError(f"{self._label}: {words}")


def records_of(block: Block, delimiter: str) -> Iterator[tuple[int, bytes]]:
    """Yield the records of a block that are not blank, each with the number of the line in which it begins."""
    quotes, _ = Records("", delimiter).structure(block.text)
    ends = line_ends(block.text)
    outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
    starts = [0, *(outside + 1).tolist()]
    lines = block.line + np.searchsorted(ends, starts)
    for start, end, line in zip(starts, [*starts[1:], len(block.text)], lines.tolist(), strict=True):
        record = block.text[start:end]
        if record.strip(b"\r\n"):
            yield line, record


def line_ends(data: bytes) -> Places:
    """Return where lines end: at a newline, or at a return that no newline follows."""
    ends = places_of(_NEWLINE, data)
    if b"\r" not in data:
        return ends
    returns = places_of(_RETURN, data)
    return np.sort(np.concatenate([ends, np.setdiff1d(returns, ends - 1, assume_unique=True)]))


def places_of(byte: int, data: bytes) -> Places:
    """Return where a byte is."""
    return np.concatenate([np.flatnonzero(part == byte) + start for start, part in _parts(data)] or [np.empty(0, int)])


def count_lines(data: bytes, stop: int | None = None) -> int:
    r"""Count the line ends, \n, \r\n and \r, before a byte or in all."""
    count = sum(int(np.count_nonzero(part == _NEWLINE)) for _, part in _parts(data, stop))
    return count + data.count(b"\r", 0, stop) - data.count(b"\r\n", 0, stop) if b"\r" in data else count


def _parts(data: bytes, stop: int | None = None) -> Iterator[tuple[int, Bytes]]:
    """Yield parts that fit into a cache: to compare megabytes in one go costs more for the memory than for the work."""
    values = np.frombuffer(data, np.uint8)[:stop]
    return ((start, values[start : start + _PART]) for start in range(0, len(values), _PART))
