"""From what the user holds, a path, a glob, a folder, a frame, an array, to a Source."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Sequence

import numpy as np

from qckm.common import foreign_files
from qckm.common.text import is_url, public_name
from qckm.errors import QckmError, SourceError
from qckm.sources.raw import COMPRESSIONS, ENDINGS, SNIFF, Peekable, decompressed, is_data, open_file, open_stdin
from qckm.sources.rows import as_rows
from qckm.sources.source import Source
from qckm.sources.table import AllBut, Table, reading, select
from qckm.sources.text import UNKNOWN, TextFormat

# By the first bytes of a file.
_FORMATS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow-file",
    b"\xff\xff\xff\xff": "arrow-stream",
    b"\x93NUMPY": "numpy",
    b"PK\x03\x04": "numpy",
    b"\x89QCKM": "sketch",
}
# An object per line; or a list of them, or of lists, which is no lines.
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(\{|\[\s*(?:[\[{]|$))")


def open_source(
    data: object,
    columns: Sequence[str | int] | None = None,
    dtype: str = "auto",
    usual: Sequence[str] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    comment: str | None = None,
    exclude: Sequence[str | int] = (),
) -> Source:
    """Open rows wherever they are.

    Parameters
    ----------
    data : path, array, frame, or list of them
        Paths: Parquet, CSV, TSV or JSON lines (plain, gzip, zstd, bz2, lz4), Arrow IPC files and streams, .npy, .npz;
        folders and globs of these, read in the order of their names; "-" for standard input (CSV, JSON lines or an
        Arrow stream). URLs: https://, s3://, gs:// and whatever fsspec knows, also with patterns where a store can list
        files; they are copied to the folder for temporary files first. Arrays:
        NumPy, memory maps, and tensors through DLPack. Frames: pandas, polars (also lazy), Arrow, DuckDB relations.
    columns : sequence of str or int, optional
        The columns to read, in this order; all by default, which must then be numbers. A whole number, 0 or "0", is a
        position, unless a column has that very name. Columns without names are called "0", "1", … The keys of hive
        partitions (year=2026/…) and the index of a pandas frame, in Parquet and Arrow files, too, are columns when
        named here.
    dtype : {"auto", "float32", "float64"}
        What values are read as. "auto": float32 where all columns are, else float64.
    usual : sequence of str, optional
        The columns to read where none are asked for, if columns have names: those of an operator or a model.
    header : bool, optional
        Whether the first line of a CSV holds names. By default it does if there is text in it; what was assumed is
        said by `source.assumptions`.
    delimiter : str, optional
        What stands between the cells of a CSV, one ASCII character; by default the first line tells.
    decimal : {".", ","}
        The decimal mark of numbers in a CSV.
    comment : str, optional
        One ASCII character: lines of a CSV that begin with it are skipped.
    exclude : sequence of str or int
        The columns to leave out, in the place of `columns`: all others are read.

    Returns
    -------
    Source
        Foreign data are checked before they are read, as far as they can be. What cannot: the addresses that a frame
        hands over through Arrow's C interface, or a tensor through DLPack. They are memory of this process, and its
        libraries are trusted with it. A memory map of the caller's own (`numpy.memmap`) must not be cut short.

    Notes
    -----
    Values are read as float64, or as float32 where all columns are. Whole numbers beyond 2**53 become the nearest
    float64, from every format and as an operator takes them in an array.

    Examples
    --------
    >>> import numpy as np
    >>> source = open_source(np.arange(6.0).reshape(3, 2))
    >>> [batch.rows.tolist() for batch in source.batches()]
    [[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]]
    """
    if dtype not in ("auto", "float32", "float64"):
        raise SourceError(f"Expected dtype 'auto', 'float32' or 'float64', got {dtype!r}.")
    text = TextFormat(header, delimiter, decimal, comment)
    if exclude:
        if columns is not None:
            raise SourceError("Expected columns to read, or columns to exclude, got both.")
        columns = AllBut(exclude)
    parts: Sequence[object] = [data]
    if isinstance(data, (list, tuple)) and all(isinstance(one, (str, os.PathLike)) or _is_rows(one) for one in data):
        parts = data
    tables = [table for one in parts for table in _open(one, text)]
    if not tables:
        raise SourceError("Expected data, got none.")
    if sum(table.once for table in tables) and len(tables) > 1:
        raise SourceError("Expected a pipe alone, such as standard input, got other data beside it.")
    require_each_once([table.url or table.place for table in tables if table.path is not None])
    return Source(tuple(tables), select(tables, columns, usual, dtype))


def tables_of(path: str) -> list[Table]:
    """Open the files that a path, a folder or a glob stands for; no column is chosen, so that all may be looked at."""
    return _open_path(path, UNKNOWN)


def _is_rows(value: object) -> bool:
    from qckm.sources.ipc import is_frame

    return isinstance(value, np.ndarray) or is_frame(value)


def _open(data: object, text: TextFormat) -> list[Table]:
    if isinstance(data, (str, os.PathLike)):
        return _open_path(os.fspath(data), text)
    from qckm.sources import ipc, npy

    with reading(type(data).__name__):
        if not isinstance(data, np.ndarray):
            if ipc.is_frame(data):
                return [ipc.open_frame(data)]
            if hasattr(data, "__dlpack__"):
                data = npy.from_dlpack(data)
        return [npy.ArrayTable(as_rows(data))]


def paths_of(path: str) -> list[str]:
    """List the files that a path, a folder or a glob stands for, in the order they are read: each once.

    A file that has several names there, as links have, is listed under the first that is no link.
    """
    names = _names_of(path)
    found: dict[object, str] = {}
    for name in sorted(names, key=os.path.islink):  # links last, else as they were
        found.setdefault(_identity(name), name)
    return [name for name in names if found[_identity(name)] == name]


def require_files_once(paths: Sequence[str]) -> None:
    """Refuse paths, folders and globs of this machine that stand for a file twice: its rows would count twice."""
    require_each_once([name for path in paths if not is_url(path) for name in _names_of(path)])


def require_each_once(names: Sequence[str]) -> None:
    """Refuse paths and URLs of which two are of one file."""
    seen: dict[object, str] = {}
    for name in names:
        identity = _identity(name)
        if identity in seen:
            raise SourceError(
                f"{public_name(name)}: expected each file once, got it as {public_name(seen[identity])} before: its "
                "rows would count twice."
            )
        seen[identity] = name


def _identity(name: str) -> object:
    """Return what two names of a file have in common; of what is no file here, the name."""
    if is_url(name) and not os.path.exists(name):
        from qckm.sources.remote import plain  # with all that the web needs

        name = plain(name)
    try:
        found = os.stat(name)
    except (OSError, ValueError):
        return name
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) and found.st_ino else name


def _names_of(path: str) -> list[str]:
    path = os.path.expanduser(path)
    if not os.path.exists(path) and glob.has_magic(path):
        return sorted(name for name in glob.glob(path, recursive=True) if os.path.isfile(name))
    return _files_in(path) if os.path.isdir(path) else [path]


def _open_path(path: str, text: TextFormat) -> list[Table]:
    if path == "-":
        return [_open_pipe(open_stdin(), "standard input", text)]
    if is_url(path) and not os.path.exists(path):
        from qckm.sources.remote import fetch  # with all that the web needs

        return [open_table(place, text, url) for url, place in fetch(path)]
    found = paths_of(path)
    if not found and os.path.isdir(os.path.expanduser(path)):
        raise SourceError(f"{path}: expected data files ({', '.join(ENDINGS)}) in this folder, found none.")
    if not found:
        raise SourceError(f"{path}: expected files, found none of that pattern.")
    return [_open_one(name, text) for name in found]


def open_table(path: str, text: TextFormat, url: str | None) -> Table:
    """Open one file, or the copy of one that lies elsewhere, which is called by its URL."""
    label = path if url is None else public_name(url)
    try:
        table = _open_one(path, text)
    except QckmError as error:
        raise type(error)(str(error).replace(path, label), error.about, **error.values) from error
    table.label, table.url = label, url
    return table


def _files_in(folder: str) -> list[str]:
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        found += [os.path.join(parent, name) for name in names if is_data(name)]
    return sorted(found)


def _open_one(path: str, text: TextFormat) -> Table:
    """Open a file by what is in it; names of files may say anything."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # a named pipe, /dev/stdin: what is read of it is gone
        return _open_pipe(open_file(path), path, text)
    with reading(path):
        with open(path, "rb") as file:
            start = file.read(SNIFF)
        kind = _format_of(start)
        if kind in ("numpy", "json-lines", "sketch"):  # or another archive, or a model of ours
            foreign_files.require_rows(start, path, SourceError)
        if kind == "parquet":
            from qckm.sources.parquet import ParquetTable

            return ParquetTable(path)
        if kind == "numpy":
            from qckm.sources.npy import open_numpy

            return open_numpy(path)
        if kind == "arrow-file":
            from qckm.sources.ipc import ArrowFileTable

            return ArrowFileTable(path)
        if kind == "arrow-stream":
            from qckm.sources.ipc import open_arrow_stream

            return open_arrow_stream(lambda: open_file(path), path, path)
        return _open_text(kind, path, text)


def _format_of(start: bytes) -> str:
    """Tell a format by the first bytes; text is taken for CSV, and what is compressed, or a web page, is unknown."""
    for magic, name in _FORMATS.items():
        if start.startswith(magic):
            return name
    if b"\0" in start or start.startswith(tuple(COMPRESSIONS)):
        return "unknown"
    if foreign_files.recognised(start[: foreign_files.START]) == foreign_files.HTML:
        return "unknown"  # what a server sends in place of a CSV
    json = _JSON.match(start)
    return "csv" if json is None else "json-lines" if json[1] == b"{" else "json"


def _open_text(kind: str, path: str, text: TextFormat) -> Table:
    hint = ""
    if kind == "unknown":  # compressed, perhaps: then it is what is inside that counts
        with decompressed(open_file(path), path) as plain:
            start = plain.peek(SNIFF)
        kind = _format_of(start)
        foreign_files.require_rows(start, path, SourceError)
        if b"\0" in start and kind == "unknown":
            line = 1 + start.count(b"\n", 0, start.index(b"\0"))
            hint = f" with a NUL byte in line {line}"
    if kind not in _TEXT:
        raise SourceError(f"{path}: expected Parquet, CSV, JSON lines, Arrow or NumPy data, got something else{hint}.")
    return _text_table(kind, lambda: open_file(path), path, path, text)


# What text may be.
_TEXT = ("csv", "json-lines", "json")


def _text_table(
    kind: str, open_stream: Callable[[], Peekable], label: str, path: str | None, text: TextFormat
) -> Table:
    if kind == "json":
        raise SourceError(
            f"{label}: expected JSON lines, one object per line, got a list of JSON. Write its objects one per line.",
            "export",
            path=label,
            kind=foreign_files.JSON_LIST,
        )
    if kind == "json-lines":
        from qckm.sources.json_lines import JsonLinesTable

        return JsonLinesTable(open_stream, label, path)
    from qckm.sources.csv import CsvTable

    return CsvTable(open_stream, label, path, text)


def _open_pipe(stream: Peekable, label: str, text: TextFormat) -> Table:
    with reading(label):
        kind = _format_of(stream.peek(4))  # no more: an endless pipe may be slow to give any
        if kind == "unknown":
            stream = decompressed(stream, label)
            kind = _format_of(stream.peek(4))

        def once() -> Peekable:
            return stream

        if kind == "arrow-stream":
            from qckm.sources.ipc import open_arrow_stream

            return open_arrow_stream(once, label)
        if kind in ("numpy", "unknown", "sketch"):
            foreign_files.require_rows(stream.peek(foreign_files.START), label, SourceError)
        if kind not in (*_TEXT, "unknown"):
            raise SourceError(
                f"{label}: expected CSV, JSON lines or an Arrow stream in a pipe, got {kind} data: give the file's "
                "name instead."
            )
        return _text_table(kind, once, label, None, text)
