"""Columns that commands write batch by batch, as CSV, Parquet or Arrow; and pictures."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from qckm.cli.console import writing
from qckm.common.arrays import Array, Flags
from qckm.common.text import guarded, line
from qckm.errors import SourceError

ENDINGS = (".csv", ".parquet", ".arrow", ".feather")


class Write(Protocol):
    """Takes the columns of a batch, which of its rows are left empty, if any, and what is carried through."""

    def __call__(self, batch: Sequence[Array], empty: Flags | None, kept: Any = None) -> None:
        """Write a batch."""


@contextlib.contextmanager
def writing_columns(target: str, columns: Mapping[str, np.dtype[Any]], kept: Any = None) -> Iterator[Write]:
    """Give a function that writes a batch; a file appears whole, at the end, or not at all.

    `kept` is the Arrow schema of columns that are carried through, which come first.
    """
    import pyarrow as pa

    schema = pa.schema([pa.field(name, pa.from_numpy_dtype(dtype)) for name, dtype in columns.items()])
    whole = schema if kept is None else pa.schema([*kept, *schema])
    with contextlib.ExitStack() as stack:
        sink = stack.enter_context(pa.PythonFile(_Sink(stack.enter_context(writing(target))), mode="w"))
        writer: Any = stack.enter_context(_writer(target, sink, whole, kept))

        def write(batch: Sequence[Array], empty: Flags | None, kept: Any = None) -> None:
            mask = None if empty is None or not empty.any() else empty
            arrays = [pa.chunked_array([pa.array(column, mask=mask)]) for column in batch]
            before = () if kept is None else kept.columns
            writer.write_table(pa.Table.from_arrays([*before, *arrays], schema=whole))

        yield write


def _writer(target: str, sink: Any, schema: Any, kept: Any) -> Any:
    """Return what writes tables: by the name's ending; CSV on standard output."""
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    ending = os.path.splitext(target)[1].lower()
    if ending == ".parquet":
        return pq.ParquetWriter(sink, schema)
    if ending in (".arrow", ".feather"):
        return pa.ipc.new_file(sink, schema)
    # Columns of ours alone, which are numbers, are written fast.
    return pacsv.CSVWriter(sink, schema) if kept is None else _TextWriter(sink, schema)


class _TextWriter:
    """CSV of columns of others: their texts and names are in quotes where they have to be, and no formulas."""

    def __init__(self, sink: Any, schema: Any) -> None:
        self._sink = sink
        self._write([list(map(guarded, schema.names))])

    def _write(self, lines: Iterable[Iterable[str | None]]) -> None:
        self._sink.write("".join(line([cell or "" for cell in cells]) for cells in lines).encode())

    def write_table(self, table: Any) -> None:
        self._write(zip(*map(_as_text, table.columns), strict=True))

    def __enter__(self) -> _TextWriter:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: whoever opened the sink closes it."""


def _as_text(column: Any) -> list[str | None]:
    """Return the values of a column as texts, None where there is none."""
    import pyarrow as pa

    try:
        texts: list[str | None] = column.cast(pa.string()).to_pylist()
    except (pa.ArrowException, NotImplementedError) as error:
        raise SourceError(f"A CSV has no place for a column to keep: {error}. Write .parquet or .arrow.") from error
    if pa.types.is_primitive(column.type):  # numbers, times, truth: nothing that others wrote
        return texts
    return [text and guarded(text) for text in texts]


class _Sink:
    """What pyarrow writes to, as a file that it may close."""

    closed = False

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write

    def write(self, data: bytes) -> int:
        self._write(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: all is written at once."""

    def close(self) -> None:
        """Do nothing: whoever opened it closes it."""


PICTURES = (".png", ".svg", ".pdf")


def drawn(target: str, draw: Callable[[Any], Any]) -> bytes:
    """Return the picture that a function draws on axes, in the format of the target's ending."""
    with contextlib.suppress(ImportError):  # whoever draws says so
        import matplotlib

        matplotlib.use("Agg")
    figure: Any = draw(None).get_figure()
    out = io.BytesIO()
    kind = os.path.splitext(target)[1][1:].lower() or "png"
    figure.savefig(out, format=kind, dpi=120, bbox_inches="tight")
    return out.getvalue()
