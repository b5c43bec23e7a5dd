"""JSON lines: one object a line, plain or compressed, from files and pipes; cut into blocks and parsed by pyarrow.

A key that a line lacks is a missing value. What pyarrow refuses is parsed once more, a line at a time, to find the line
that is wrong: it becomes a bad row, which has a place.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pajson

from qckm.common.arrays import Rows
from qckm.common.foreign_files import each_once
from qckm.errors import SourceError
from qckm.sources.arrow import numbers_of
from qckm.sources.raw import Peekable, decompressed
from qckm.sources.table import Chunk, Column, Kept, Selection, Table, number_expected, split

_BLOCK = 1 << 23
# A line without end must not fill the memory.
LONGEST = 1 << 26
_MOST_BLANK = 10_000


class JsonLinesTable(Table):
    """One file or pipe of JSON lines. Its columns are the keys of the first object.

    Parameters
    ----------
    open_stream : callable
        Gives the bytes, each time from their beginning.
    label : str
    path : str, optional
        Without one, it is a pipe, and can be read once.
    """

    def __init__(self, open_stream: Callable[[], Peekable], label: str, path: str | None = None) -> None:
        self.label, self.path, self.once = label, path, path is None
        self.n_bytes = os.path.getsize(path) if path else None
        self.faults: dict[int, str] = {}
        self._open = open_stream
        file, stream = self._opened()
        try:
            self._columns = _columns(_first_object(stream, label))
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

    def columns(self) -> list[Column]:
        """List the keys of the first object."""
        return self._columns

    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield rows; those before `first_row` are read and dropped."""
        file, stream = self._waiting or self._opened()
        row, line = 0, 1
        try:
            for block in self._blocks(stream):
                rows = self._parse(block, selection, row, line)
                start = min(len(rows), max(0, first_row - row))
                row, line = row + len(rows), line + block.count(b"\n")
                for part in split(rows[start:], batch_rows):
                    yield part, file.taken
        finally:
            stream.close()

    def keep(self, names: Sequence[str]) -> Kept:
        """Return values as text: that of a string is the string, of anything else its JSON."""
        schema = pa.schema([pa.field(name, pa.string()) for name in names])

        def batches() -> Iterator[pa.RecordBatch]:
            _, stream = self._opened()
            with stream:
                for block in self._blocks(stream):
                    found = [_object(text) for text in block.split(b"\n") if text.strip()]
                    columns = [pa.array([_text(one.get(name)) for one in found], pa.string()) for name in names]
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)

        return schema, batches()

    def _blocks(self, stream: Peekable) -> Iterator[bytes]:
        """Yield whole lines; from a pipe, as soon as there are some."""
        held: list[bytes] = []
        while data := stream.read(_BLOCK):
            cut = data.rfind(b"\n") + 1
            if cut:
                yield b"".join([*held, data[:cut]])
                held = []
            held.append(data[cut:])
            if sum(map(len, held)) > LONGEST:
                raise SourceError(f"{self.label}: expected lines of at most {LONGEST} bytes, got one that is longer.")
        if held:
            yield b"".join(held)

    def _parse(self, block: bytes, selection: Selection, first_row: int, line: int) -> Rows:
        try:
            if not block.strip():
                return np.empty((0, len(selection.names)), selection.dtype_of(False))
            table = self._parsed(block, selection)
            if table.num_rows != sum(1 for text in block.split(b"\n") if text.strip()):
                raise pa.ArrowInvalid("objects that are not one a line")
        except pa.ArrowException:
            return self._parse_by_hand(block, selection, first_row, line)
        out: Rows = np.empty((len(selection.names), table.num_rows), selection.dtype_of(False))
        with np.errstate(over="ignore"):
            for place, name in enumerate(selection.names):
                out[place] = numbers_of(table.column(name))
        self._note(block, selection, out.T, first_row, line)
        return out.T

    def _note(self, block: bytes, selection: Selection, rows: Rows, first_row: int, line: int) -> None:
        """Note the line of the first row that lacks a value."""
        if self.faults or np.isfinite(rows).all():
            return
        row, place = (int(at) for at in np.argwhere(~np.isfinite(rows))[0])
        lines = [number for number, text in enumerate(block.split(b"\n"), line) if text.strip()]
        found = "nothing" if np.isnan(rows[row, place]) else str(rows[row, place])
        self.faults[first_row + row] = number_expected(lines[row], first_row + row, selection.names[place], found)

    def _parsed(self, block: bytes, selection: Selection) -> pa.Table:
        schema = pa.schema([pa.field(name, pa.float64()) for name in selection.names])
        return pajson.read_json(
            pa.BufferReader(block),
            pajson.ReadOptions(block_size=len(block) + 1),
            pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )

    def _parse_by_hand(self, block: bytes, selection: Selection, first_row: int, line: int) -> Rows:
        rows: list[list[float]] = []
        for place, text in enumerate(block.split(b"\n")):
            if text.strip():
                rows.append(self._row(text, selection, first_row + len(rows), line + place))
        with np.errstate(over="ignore"):
            found = np.array(rows, np.float64).reshape(len(rows), -1).astype(selection.dtype_of(False))
        self._note(block, selection, found, first_row, line)
        return found

    def _row(self, text: bytes, selection: Selection, row: int, line: int) -> list[float]:
        fault = None
        try:
            found = json.loads(text, object_pairs_hook=each_once)
            if not isinstance(found, dict):
                raise ValueError(f"{type(found).__name__}, no object")
        except (ValueError, RecursionError) as error:
            found, fault = {}, f"expected an object of JSON in line {line}, got {_shown(text)}: {error}"
        values = []
        for name in selection.names:
            value = found.get(name)
            if value is not None and not isinstance(value, (int, float)):
                fault = fault or number_expected(line, row, name, f"{value!r:.40}")
            values.append(_as_float(value))
        if fault and not self.faults:
            self.faults[row] = fault
        return values


def _object(text: bytes) -> dict[str, Any]:
    """Return the object of a line; none where it is a bad row."""
    try:
        found = json.loads(text, object_pairs_hook=each_once)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _as_float(value: Any) -> float:
    try:
        return float(value) if isinstance(value, (int, float)) else math.nan
    except OverflowError:
        return math.inf


def _first_object(stream: Peekable, label: str) -> dict[str, Any]:
    """Return the first object, without taking it."""
    start = 0
    for number in range(1, _MOST_BLANK):
        line = stream.peek_line(start, LONGEST)
        if line.strip():
            try:
                found = json.loads(line, object_pairs_hook=each_once)
            except (ValueError, RecursionError) as error:
                raise SourceError(
                    f"{label}: expected JSON lines, one whole object a line, got {_shown(line)} in line {number}: "
                    f"{error}."
                ) from error
            if not isinstance(found, dict):
                raise SourceError(f"{label}: expected JSON lines, one object a line, got {_shown(line)}.")
            return found
        if not line:
            break
        start += len(line)
    raise SourceError(f"{label}: expected rows, got nothing: the file is empty.")


def _columns(first: dict[str, Any]) -> list[Column]:
    return [
        Column(name, True, "number")
        if value is None or isinstance(value, (int, float))
        else Column(name, False, f"{_KINDS.get(type(value), 'text')} such as {value!r:.40}")
        for name, value in first.items()
    ]


_KINDS: dict[type, str] = {dict: "an object", list: "a list"}


def _shown(text: bytes) -> str:
    return repr(text.strip()[:60].decode("utf-8", "replace"))
