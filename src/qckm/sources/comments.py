"""Lines that begin with a mark are left empty on the way, so that those after them keep their numbers."""

from __future__ import annotations

from qckm.sources.raw import Peekable

_BOM = b"\xef\xbb\xbf"


def without_comments(stream: Peekable, mark: str) -> Peekable:
    """Return a stream in which lines that begin with a mark are empty."""
    return Peekable(_WithoutComments(stream, mark.encode()))


class _WithoutComments:
    """Bytes as they come: of a line only its first one must be known."""

    def __init__(self, stream: Peekable, mark: bytes) -> None:
        self._stream, self._mark = stream, mark
        self._begun = self._comment = False  # whether the line that comes next has begun, and is a comment
        self._ahead = _BOM if stream.peek(len(_BOM)) == _BOM else b""
        stream.read(len(self._ahead))

    def read(self, size: int) -> bytes:
        """Return some bytes; none at the end only."""
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        while data := self._stream.read(size):
            kept = self._without(data)
            if kept:
                return kept
        return b""

    def _without(self, data: bytes) -> bytes:
        if not self._comment and self._mark not in data:
            self._begun = not data.endswith((b"\r", b"\n"))
            return data
        kept: list[bytes] = []
        for line in data.splitlines(keepends=True):
            if not self._begun:
                self._comment = line.startswith(self._mark)
            whole = line.endswith((b"\r", b"\n"))
            if not self._comment:
                kept.append(line)
            elif whole:
                kept.append(line[len(line.rstrip(b"\r\n")) :])
            self._begun = not whole
            self._comment = self._comment and not whole
        return b"".join(kept)

    def close(self) -> None:
        self._stream.close()
