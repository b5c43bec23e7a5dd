"""Files that anybody may have written: what they are, and what is wrong with them, said in our own errors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from qckm.errors import FileError, QckmError

# How the files of qckm start, and those that are often taken for them. As in PNG, a sketch has a byte above 127 and
# both line endings, so that text-mode copying is noticed in the first bytes.
SKETCH, CHECKPOINT = b"\x89QCKM\r\n\x1a", b"qckm checkpoint "
_KINDS = {
    re.escape(SKETCH): "a sketch",
    re.escape(CHECKPOINT): "a checkpoint",
    rb'\s*\{\s*"format"\s*:\s*"qckm-model/': "a model",
    rb'(\xef\xbb\xbf)?"?cluster"?,"?weight"?,"?spread"?,': "a model",
    rb"PAR1": "a Parquet file",
    rb"PK\x03\x04": "a zip file",
    rb"\x93NUMPY": "an array of NumPy's",
    rb"ARROW1": "an Arrow file",
    rb"\x1f\x8b|\x28\xb5\x2f\xfd|BZh": "a compressed file",
}
# So many bytes are enough for that.
START = 64
_LONGEST = 300


def recognised(start: bytes) -> str | None:
    """Return what a file is by its first bytes, in words; None where they tell nothing."""
    return next((words for pattern, words in _KINDS.items() if re.match(pattern, start)), None)


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
        words, about = f"{type(error).__name__}: {error}", None
        if isinstance(error, QckmError):
            words, about = str(error), error.about
        raise kind(f"{label}: {expected and f'expected {expected}: '}{words:.{_LONGEST}}{advice}", about) from error


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
