"""Table: one file, frame or array. It knows its columns, and yields rows in order from any row on."""

from __future__ import annotations

import contextlib
import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Rows
from qckm.errors import QckmError, SourceError, Topic

# From where to where a part of a table goes, in whatever its format can be entered at: rows, bytes, batches.
Span = tuple[int, int]
# Rows of a table, and how many of its bytes have been read to get there.
Chunk = tuple[Rows, int]
# A schema of Arrow's, and batches of it.
Kept = tuple[Any, Iterator[Any]]
_KEPT_ROWS = 1 << 16


@dataclass(frozen=True)
class Column:
    """A column's name, whether it holds numbers, and what it holds in the words of its format.

    One that does not may still be `readable` where it is asked for by name: text in a CSV, which may be numbers further
    on, and the keys of a path. An `index` tells rows apart, and is no feature of them.
    """

    name: str
    numeric: bool
    kind: str
    readable: bool = True
    index: bool = False


@dataclass(frozen=True)
class Selection:
    """The columns to read, by name, and the floats to read them as: float32, float64, or what they are ("auto").

    `left_out` are those that nobody asked for, and that would have been read if they were like the others.
    """

    names: tuple[str, ...]
    dtype: str = "auto"
    left_out: tuple[str, ...] = ()

    def dtype_of(self, single: bool) -> npt.DTypeLike:
        """Return the type of the rows; `single` says whether all columns fit in float32."""
        if self.dtype != "auto":
            return np.dtype(self.dtype)
        return np.float32 if single else np.float64


class Table(ABC):
    """One file, frame or array of rows."""

    label: str  # what errors call it
    columns: list[Column]
    path: str | None = None  # where it lies, if it is a file
    url: str | None = None  # where it lies, if the path is that of a copy
    named: bool = True  # whether its columns have names; else they are called "0", "1", …
    once: bool = False  # whether it can be read only once: a pipe
    n_rows: int | None = None
    n_bytes: int | None = None
    assumed: str | None = None  # what was taken for granted on opening it, and may be wrong
    faults: Mapping[int, str] = MappingProxyType({})  # what is wrong with a row as such; the first read has to do
    row_span: Span | None = None  # the rows to read, where that is not all of them

    @property
    def first_row(self) -> int:
        """The first row to read."""
        return 0 if self.row_span is None else self.row_span[0]

    @property
    def place(self) -> str:
        """The path of a table that is a file."""
        assert self.path is not None
        return self.path

    @abstractmethod
    def read(self, selection: Selection, first_row: int, batch_rows: int) -> Iterator[Chunk]:
        """Yield the rows from `first_row` on, at most `batch_rows` at a time."""

    def keep(self, names: Sequence[str]) -> Kept:
        """Return columns of any kind as they are: their schema, and the rows in batches. By default, as numbers.

        Of a table that is narrowed there may be more rows than those of its span, after them.
        """
        import pyarrow as pa

        schema = pa.schema([pa.field(name, pa.float64()) for name in names])

        def batches() -> Iterator[Any]:
            for rows, _ in self.read(Selection(tuple(names), "float64"), self.first_row, _KEPT_ROWS):
                yield pa.RecordBatch.from_arrays([pa.array(column) for column in rows.T], schema=schema)

        return schema, batches()

    def blocks(self) -> list[tuple[int, int]] | None:
        """List (first row, rows) of parts that can be read alone without reading what lies before; None if none can."""
        return None

    def spans(self, n_bytes: int) -> list[Span] | None:
        """Cut the table into spans of about so many bytes, each of which can be read alone; None if it cannot be cut.

        By default spans are rows, of whole blocks.
        """
        blocks = self.blocks()
        if not blocks or not self.n_bytes or not self.n_rows:
            return None
        return evenly([first for first, _ in blocks], self.n_rows, self.n_bytes / self.n_rows, n_bytes)

    def narrow(self, span: Span) -> None:
        """Read nothing but this span from now on; its rows keep their numbers, where these are known."""
        self.row_span = span


def evenly(starts: Sequence[int], end: int, bytes_each: float, n_bytes: int) -> list[Span]:
    """Return spans that begin at some of `starts`, the last of which ends at `end`, of about `n_bytes`.

    Examples
    --------
    >>> evenly([0, 10, 20, 30, 40], 50, 1.0, 20)
    [(0, 20), (20, 40), (40, 50)]
    """
    found = [starts[0]]
    for start in starts[1:]:
        if (start - found[-1]) * bytes_each >= n_bytes:
            found.append(start)
    return list(zip(found, [*found[1:], end], strict=True))


PATH_KEY = "a key of the path"
_DECIMAL_COMMA = re.compile(r"text such as ' *[+-]?[0-9]*,[0-9]+ *'")
_THOUSANDS = re.compile(r"text such as ' *[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)? *'")


class AllBut(tuple[Any, ...]):
    """The columns to leave out, in the place of those to read."""


def resolve(columns: Sequence[Any], held: Sequence[Any]) -> list[Any]:
    """Return the names of columns that are asked for by name or position; what is neither stays as it is.

    A whole number, 0 or "0", is a position, unless a column has that very name.

    Examples
    --------
    >>> resolve(["weight", 0], ["height", "weight"])
    ['weight', 'height']
    >>> resolve(["0"], ["1", "0"])
    ['0']
    """
    if isinstance(columns, (str, bytes)):
        raise SourceError(f"Expected columns as a sequence of names, got {columns!r}: use [{columns!r}].")
    names = set(held)
    return [wanted if wanted in names else _by_position(wanted, held, names) for wanted in columns]


def _by_position(wanted: Any, held: Sequence[Any], names: set[Any]) -> Any:
    whole = isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool)
    if whole and str(wanted) in names:
        return str(wanted)
    if whole or (isinstance(wanted, str) and wanted.isascii() and wanted.isdecimal()):
        place = int(wanted) if len(str(wanted)) < 10 else -1
        if 0 <= place < len(held):
            return held[place]
    return wanted


def select(
    tables: Sequence[Table], columns: Sequence[Any] | None, usual: Sequence[str] | None, dtype: str
) -> Selection:
    """Choose the columns: as asked for, else the usual ones, if columns have names, else all but an index of pandas.

    `columns` may be those to leave out of all (`AllBut`). All tables must have them, and they must be numbers.
    """
    first = tables[0]
    left_out: tuple[str, ...] = ()
    if columns is not None and not isinstance(columns, AllBut):
        names = resolve(columns, [column.name for column in first.columns])
    elif usual is not None and first.named and columns is None:
        names = list(usual)
    else:
        out = resolve(columns or (), [column.name for column in first.columns])
        require_names(first, out)
        usable = [c for c in first.columns if c.kind != PATH_KEY and not c.index and c.name not in out]
        names = [column.name for column in usable]
        left_out = tuple(column.name for column in first.columns if column.index)
        _require_numeric(first, usable)
    if len(set(names)) != len(names):
        raise SourceError(f"{first.label}: expected each column once, got {_listed(names)}.")
    if not names:
        raise SourceError(f"{first.label}: expected columns, got none.")
    for table in tables:
        require_held(table, names)
    return Selection(tuple(names), dtype, left_out)


def _require_numeric(table: Table, columns: list[Column]) -> None:
    text = [column for column in columns if not column.numeric]
    if text:
        numeric = [column.name for column in columns if column.numeric]
        hint = f"Choose columns={numeric[:30]}." if numeric else "There is no column of numbers."
        listed = "; ".join(f"{column.name!r} ({column.kind})" for column in text[:5])
        grouped = [column for column in text if _THOUSANDS.fullmatch(column.kind)]
        if grouped and all(column in grouped or not _DECIMAL_COMMA.fullmatch(column.kind) for column in text):
            raise SourceError(
                f"{table.label}: expected columns of numbers, got {listed}. If these commas separate thousands, remove "
                "them; if they are decimal commas, the numbers are read with decimal=','.",
                about="decimal",
            )
        if any(_DECIMAL_COMMA.fullmatch(column.kind) for column in text):
            raise SourceError(
                f"{table.label}: expected columns of numbers, got {listed}. Numbers with a decimal comma are read with "
                "decimal=','.",
                about="decimal",
            )
        few = len(numeric) <= len(text)
        about: Topic | None = ("columns" if few else "exclude") if numeric else None
        values = ",".join(numeric if few else [column.name for column in text])
        raise SourceError(f"{table.label}: expected columns of numbers, got {listed}. {hint}", about, columns=values)


def require_held(table: Table, names: Sequence[Any]) -> None:
    """Refuse a table without the columns, with one of them twice, or with one that cannot be read as numbers."""
    held = require_names(table, names)
    wrong = [f"{name!r} ({held[name][0].kind})" for name in names if not held[name][0].readable]
    if wrong:
        raise SourceError(f"{table.label}: expected columns of numbers, got {'; '.join(wrong[:5])}. Convert them.")


def require_names(table: Table, names: Sequence[Any]) -> dict[Any, list[Column]]:
    """Refuse a table without the columns, or with one of them twice; return its columns by name."""
    held: dict[Any, list[Column]] = {}
    for column in table.columns:
        held.setdefault(column.name, []).append(column)
    missing = [name for name in names if name not in held]
    if missing:
        hint = f" Note that {table.assumed}." if table.assumed else ""
        what = "column" if len(missing) == 1 else "columns"
        raise SourceError(
            f"{table.label}: expected the {what} {', '.join(map(repr, missing[:30]))}"
            f"{_nearest(missing, list(held))}, got {_listed(list(held))}.{hint}"
        )
    twice = [name for name in names if len(held[name]) > 1]
    if twice:
        raise SourceError(f"{table.label}: expected different column names, got {_listed(twice)} more than once.")
    return held


def _nearest(missing: Sequence[Any], held: Sequence[Any]) -> str:
    """Return which columns may be meant, as a question."""
    found = []
    for name in missing[:30]:
        lower = {str(other).lower(): other for other in held}
        found += [lower[near] for near in difflib.get_close_matches(str(name).lower(), list(lower), 1)]
    return f" (did you mean {', '.join(map(repr, dict.fromkeys(found)))}?)" if found else ""


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names[:30])) + (f", … ({len(names)})" if len(names) > 30 else "")


@contextlib.contextmanager
def reading(label: str, expected: str = "cannot be read") -> Iterator[None]:
    """Turn an error of whoever reads for us (zlib, zipfile, NumPy, pyarrow, polars, …) into ours.

    Ours pass, and so do errors of the system that name a file: no such file, no permission. A MemoryError stays one.
    """
    try:
        yield
    except (QckmError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        words = str(error).strip() or type(error).__name__
        raise SourceError(f"{label}: {expected}: {words}") from error
