"""Files that anybody may have written: what they are, and what is wrong with them, said in our own errors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from qckm.errors import FileError, QckmError, Topic

# How the files of qckm start, and those that are often taken for them. As in PNG, a sketch has a byte above 127 and
# both line endings, so that text-mode copying is noticed in the first bytes.
SKETCH, CHECKPOINT = b"\x89QCKM\r\n\x1a", b"qckm checkpoint "
EXCEL, OLD_EXCEL, ORC, UTF16 = "an Excel workbook", "an old Excel workbook", "an ORC file", "text in UTF-16"
ZIP, SEVEN_ZIP, XZ = "a zip archive", "a 7z archive", "a file compressed by xz"
DUCKDB, SQLITE = "a DuckDB database", "an SQLite database"
HTML, JSON_LIST = "a web page", "a list of JSON"
TEXT = "text, a CSV perhaps"
# Of a zip archive, the name of the first file in it stands at byte 30.
_KINDS = {
    re.escape(SKETCH): "a sketch",
    re.escape(CHECKPOINT): "a checkpoint",
    rb'\s*\{\s*"format"\s*:\s*"qckm-model/': "a model",
    rb'(\xef\xbb\xbf)?"?cluster"?,"?weight"?,"?spread( in units)?"?,': "a model",
    rb"PK\x03\x04.{26}centers\.npy": "a model",
    rb"PAR1": "a Parquet file",
    rb"PK\x03\x04.{26}(\[Content_Types\]|_rels/|xl/|docProps/)": EXCEL,
    rb"PK\x03\x04.{26}[^/\x00-\x1f]*\.npy": "arrays of NumPy's",
    rb"PK\x03\x04": ZIP,
    rb"\x93NUMPY": "an array of NumPy's",
    rb"ARROW1|\xff\xff\xff\xff": "Arrow data",
    rb"\x1f\x8b|\x28\xb5\x2f\xfd|BZh|\x04\x22\x4d\x18": "a compressed file",
    rb"\xfd7zXZ\x00": XZ,
    rb"7z\xbc\xaf\x27\x1c": SEVEN_ZIP,
    rb".{8}DUCK": DUCKDB,
    rb"SQLite format 3\x00": SQLITE,
    rb"ORC": ORC,
    rb"Obj\x01": "an Avro file",
    rb"\x89HDF\r\n\x1a\n": "an HDF5 file",
    rb"\xd0\xcf\x11\xe0": OLD_EXCEL,
    rb"%PDF-": "a PDF",
    rb"(?i:\s*<(!doctype html|html))": HTML,
    rb"\x80[\x02-\x05][\x00-\xff]": "a pickle of Python's",
    rb"\xff\xfe|\xfe\xff|[\t\r\n -~]\x00[\t\r\n -~]\x00|\x00[\t\r\n -~]\x00[\t\r\n -~]": UTF16,
}
# Files that may hold rows, and are not read.
OTHERS = (
    EXCEL, OLD_EXCEL, ZIP, XZ, SEVEN_ZIP, DUCKDB, SQLITE, ORC, UTF16, HTML, "an Avro file", "an HDF5 file", "a PDF",
    "a pickle of Python's",
)  # fmt: skip
# So many bytes are enough for that.
START = 64
_LONGEST = 300
# What rows are read from. A remedy for them is to sketch them, for other files to make rows of them first.
_ROWS = ("a Parquet file", "arrays of NumPy's", "an array of NumPy's", "Arrow data", "a compressed file", TEXT)


def recognised(start: bytes) -> str | None:
    r"""Return what a file is by its first bytes, in words; None where they tell nothing.

    Examples
    --------
    >>> recognised(b"SQLite format 3\x00..."), recognised(b"age,income\n20,9000\n"), recognised(b"\x00\x01")
    ('an SQLite database', 'text, a CSV perhaps', None)
    """
    found = next((words for pattern, words in _KINDS.items() if re.match(pattern, start, re.DOTALL)), None)
    if found is None and start and b"\0" not in start:
        with contextlib.suppress(UnicodeDecodeError):  # of the last character there may be only a part
            start[: max(1, len(start) - 3)].decode()
            return TEXT
    return found


def topic_of(kind: str | None) -> Topic | None:
    """Return what a remedy is about where a file of rows, or of another kind of ours, is in the wrong place."""
    if kind in _ROWS:
        return "rows"
    return {"a model": "a model", "a sketch": "sketch", "a checkpoint": "checkpoint"}.get(kind or "")  # type: ignore[return-value]


def require_rows(start: bytes, path: str, kind: type[QckmError]) -> None:
    """Refuse a file that holds no rows, or hides them, by its first bytes."""
    found = recognised(start[:START])
    if found in OTHERS:
        raise kind(
            f"{path}: expected rows, got {found}: export them as Parquet or CSV.", "export", path=path, kind=found
        )
    if found in ("a sketch", "a model"):
        reader = "qckm.load" if found == "a sketch" else "qckm.load_model"
        raise kind(f"{path}: expected rows, got {found}: {reader} reads it.", topic_of(found), path=path)


@contextlib.contextmanager
def reading(label: str, expected: str = "", kind: type[QckmError] = FileError, advice: str = "") -> Iterator[None]:
    """Turn whatever goes wrong while a file's bytes are interpreted into an error of ours that names the file.

    Parsers raise what they like, the more so of a hostile file: `csv.Error`, `zlib.error`, `RecursionError`,
    `KeyError`. This is to be used around bytes that were read before. A lack of memory is left as it is.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        words, about, values = f"{type(error).__name__}: {error}", None, {}
        if isinstance(error, QckmError):
            words, about, values = str(error), error.about, error.values
        raise kind(
            f"{label}: {expected and f'expected {expected}: '}{words:.{_LONGEST}}{advice}",
            about,
            **{"path": label, **values},
        ) from error


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, if each of its keys is there once; for `json.loads`, which takes the last of several.

    Examples
    --------
    >>> import json
    >>> json.loads('{"a": 1, "a": 2}', object_pairs_hook=each_once)
    Traceback (most recent call last):
    ...
    ValueError: a key is there twice: 'a'
    """
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"a key is there twice: {key!r:.80}")
        found[key] = value
    return found
