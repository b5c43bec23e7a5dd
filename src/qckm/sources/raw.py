"""Bytes: files and pipes, looked at before they are read, and decompressed on the way."""

from __future__ import annotations

import contextlib
import io
import os
import re
import select
from typing import Any

import pyarrow as pa

from qckm.errors import SourceError

SNIFF = 1 << 16
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\x04\x22\x4d\x18": "lz4"}
# What a folder is searched for; a file that is named is opened whatever its name.
ENDINGS = (
    ".parquet", ".pq", ".csv", ".tsv", ".jsonl", ".ndjson", ".arrow", ".arrows", ".feather", ".ipc", ".npy", ".npz",
)  # fmt: skip
_PACKED = re.compile(r"\.(gz|zst|bz2|lz4)$")

_LINE_END = re.compile(rb"\r\n|\r|\n")


class Peekable(io.RawIOBase):
    """A stream whose first bytes can be looked at. A read returns what is there: it does not wait to be full."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._ahead, self.taken = stream, bytearray(), 0

    def peek(self, size: int) -> bytes:
        """Return the first bytes without taking them."""
        while len(self._ahead) < size and self._look(size - len(self._ahead)):
            pass
        return bytes(self._ahead[:size])

    def peek_line(self, start: int, limit: int) -> bytes:
        """Return the line that begins so many bytes ahead, with its end, without taking it; b"" where there is none.

        No more is waited for than tells where the line ends. After `limit` bytes without an end they are returned.
        """
        seen = start
        while True:
            found = _LINE_END.search(self._ahead, seen)
            # A return at the very end may be half of a line end.
            if found and (found[0] != b"\r" or found.end() < len(self._ahead)):
                return bytes(self._ahead[start : found.end()])
            seen = max(start, len(self._ahead) - 1)
            if len(self._ahead) - start > limit or not self._look(SNIFF):
                return bytes(self._ahead[start:])

    def _look(self, size: int) -> bool:
        more = self._more(size)
        self._ahead += more
        return bool(more)

    def _more(self, size: int) -> bytes:
        """Return some bytes of the stream; none at its end only."""
        while (data := self._stream.read(size)) is None:  # of a descriptor that does not wait
            select.select([self._stream], [], [])
        return bytes(data)

    def read(self, size: int | None = -1) -> bytes:
        """Take bytes: at least one, unless the stream has ended."""
        if size is None or size < 0:
            return self.readall()
        found = bytes(self._ahead[:size]) if self._ahead else self._more(size)
        del self._ahead[: len(found)]
        self.taken += len(found)
        return found

    def seek(self, at: int, whence: int = 0) -> int:
        """Go on at a byte of a file of which nothing was taken yet."""
        self._ahead.clear()
        return int(self._stream.seek(at, whence))

    def readall(self) -> bytes:
        """Take all that is left."""
        parts = []
        while part := self.read(1 << 20):
            parts.append(part)
        return b"".join(parts)

    def readable(self) -> bool:
        """Say yes: io and pyarrow ask."""
        return True

    def close(self) -> None:
        """Close what is below, too."""
        if not self.closed:
            self._stream.close()
        super().close()


def open_file(path: str) -> Peekable:
    """Open a file for reading its bytes."""
    return Peekable(open(path, "rb", buffering=0))  # closed by whoever reads


def open_stdin() -> Peekable:
    """Open standard input; it stays open when we are done."""
    return Peekable(os.fdopen(os.dup(0), "rb", buffering=0))


def decompressed(stream: Peekable, label: str) -> Peekable:
    """Return the stream's plain bytes; `taken` of the given one still counts what was read of the file."""
    start = stream.peek(4)
    for magic, name in COMPRESSIONS.items():
        if start.startswith(magic):
            try:
                plain = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), name)
                return Peekable(_Decompressor(plain, stream, label))
            except (pa.ArrowException, NotImplementedError) as error:
                stream.close()
                raise SourceError(f"{label}: {name} cannot be decompressed here: {error}") from error
    return stream


class _Decompressor:
    """pyarrow's decompressor, with errors that name the file."""

    def __init__(self, stream: Any, file: Peekable, label: str) -> None:
        self._stream, self._file, self._label = stream, file, label

    def read(self, size: int) -> bytes:
        try:
            return bytes(self._stream.read(size))
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"{self._label}: cannot be decompressed: {error}") from error

    def close(self) -> None:
        with contextlib.suppress(pa.ArrowException, OSError):  # it may complain that the data end too early
            self._stream.close()
        self._file.close()


def is_data(path: str) -> bool:
    """Whether a file in a folder holds data, by its name: hidden ones do not.

    Examples
    --------
    >>> is_data("a/rows.CSV.gz"), is_data("a/_SUCCESS"), is_data("a/.rows.csv")
    (True, False, False)
    """
    name = os.path.basename(path)
    return _PACKED.sub("", name.lower()).endswith(ENDINGS) and not name.startswith((".", "_"))
