"""JSON lines: one object per line, plain or compressed, from files and pipes; cut into blocks and parsed by pyarrow.

A key that a line lacks is a missing value. What pyarrow refuses is parsed once more, a line at a time, to find the line
that is wrong: it becomes a bad row, which has a place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pajson

from qckm.common.arrays import Rows
from qckm.common.foreign_files import each_once
from qckm.errors import SourceError
from qckm.sources.raw import Peekable
from qckm.sources.records import LONGEST, Block
from qckm.sources.table import Column, Selection
from qckm.sources.text_table import TextTable, first_line, number_expected, rows_of_numbers

_BLOCK = 1 << 23


class JsonLinesTable(TextTable):
    """One file or pipe of JSON lines. Its columns are the keys of the first object."""

    def _look(self, stream: Peekable) -> list[Column]:
        return _columns(_first_object(stream, self.label))

    def _texts(self, block: Block, names: Sequence[str]) -> list[pa.Array]:
        """Return values as text: that of a string is the string, of anything else its JSON."""
        found = [_object(text) for _, text in _lines(block)]
        return [pa.array([_text(one.get(name)) for one in found], pa.string()) for name in names]

    def _blocks(self, stream: Peekable) -> Iterator[Block]:
        """Yield whole lines; from a pipe, as soon as there are some."""
        held: list[bytes] = []
        line = 1
        while data := stream.read(_BLOCK):
            cut = data.rfind(b"\n") + 1
            if cut:
                block = Block(b"".join([*held, data[:cut]]), line)
                line += block.text.count(b"\n")
                yield block
                held = []
            held.append(data[cut:])
            if sum(map(len, held)) > LONGEST:
                raise SourceError(f"{self.label}: expected lines of at most {LONGEST} bytes, got one that is longer.")
        if held:
            yield Block(b"".join(held), line)

    def _parse(self, block: Block, selection: Selection) -> Rows:
        try:
            if not block.text.strip():
                return np.empty((0, len(selection.names)), selection.dtype_of(False))
            table = self._parsed(block.text, selection)
            if table.num_rows != sum(1 for _ in _lines(block)):
                raise pa.ArrowInvalid("objects that are not one per line")
            return rows_of_numbers(table, selection)
        except pa.ArrowException:
            objects = [_object(text) for _, text in _lines(block)]
        rows = [[_as_float(found.get(name)) for name in selection.names] for found in objects]
        with np.errstate(over="ignore"):
            return np.array(rows, np.float64).reshape(len(rows), -1).astype(selection.dtype_of(False))

    def _fault(self, block: Block, number: int, row: int, place: int, names: Sequence[str], value: float) -> str:
        line, text = next(islice(_lines(block), number, None))
        try:
            held = _parsed_object(text)
        except (ValueError, RecursionError) as error:
            return f"expected an object of JSON in line {line}, got {_shown(text)}: {error}"
        for name in names:
            if held.get(name) is not None and not isinstance(held[name], (int, float)):
                return number_expected(line, row, name, f"{held[name]!r:.40}")
        return number_expected(line, row, names[place], "nothing" if math.isnan(value) else str(value))

    def _parsed(self, block: bytes, selection: Selection) -> pa.Table:
        schema = pa.schema([pa.field(name, pa.float64()) for name in selection.names])
        return pajson.read_json(
            pa.BufferReader(block),
            pajson.ReadOptions(block_size=len(block) + 1),
            pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )


def _lines(block: Block) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, each with its number."""
    return ((number, text) for number, text in enumerate(block.text.split(b"\n"), block.line) if text.strip())


def _parsed_object(text: bytes) -> dict[str, Any]:
    found = json.loads(text, object_pairs_hook=each_once)
    if not isinstance(found, dict):
        raise ValueError(f"{type(found).__name__}, no object")
    return found


def _object(text: bytes) -> dict[str, Any]:
    """Return the object of a line; none where it is a bad row."""
    try:
        return _parsed_object(text)
    except (ValueError, RecursionError):
        return {}


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _as_float(value: Any) -> float:
    try:
        return float(value) if isinstance(value, (int, float)) else math.nan
    except OverflowError:
        return math.inf


def _first_object(stream: Peekable, label: str) -> dict[str, Any]:
    """Return the first object, without taking it."""
    _, number, line = first_line(stream, label, blank=None)
    try:
        found = json.loads(line, object_pairs_hook=each_once)
    except (ValueError, RecursionError) as error:
        raise SourceError(
            f"{label}: expected JSON lines, one whole object per line, got {_shown(line)} in line {number}: {error}."
        ) from error
    if not isinstance(found, dict):
        raise SourceError(f"{label}: expected JSON lines, one object per line, got {_shown(line)}.")
    return found


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
