"""A stream of Arrow messages, each looked at before pyarrow gets to see it."""

from __future__ import annotations

import io
import struct
from collections import deque

from qckm.errors import SourceError
from qckm.sources.arrow_sizes import batch_of, body_length, require_modest
from qckm.sources.raw import Peekable
from qckm.sources.read_errors import reading

# A read asks for no more than this at a time: a length that is wrong must not be allocated.
_PIECE = 1 << 24
_LONGEST_METADATA = 1 << 28


class Messages(io.RawIOBase):
    """The bytes of a stream, message by message. Reads wait until they are full, as pyarrow expects.

    Parameters
    ----------
    stream : Peekable
    label : str
        What errors call it.
    """

    def __init__(self, stream: Peekable, label: str) -> None:
        self._stream, self._label = stream, label
        self._ready: deque[bytes] = deque()
        self._ended = False

    def readable(self) -> bool:
        """Say yes: pyarrow asks."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """Return so many bytes, or what is left."""
        wanted, found = float("inf") if size is None or size < 0 else size, []
        while wanted > 0 and (self._ready or self._next()):
            piece = self._ready.popleft()
            if len(piece) > wanted:
                self._ready.appendleft(piece[int(wanted) :])
                piece = piece[: int(wanted)]
            found.append(piece)
            wanted -= len(piece)
        return found[0] if len(found) == 1 else b"".join(found)

    def _next(self) -> bool:
        """Take a message from the stream; return whether there was one."""
        if self._ended:
            return False
        start = self._exactly(4)
        length = start
        if start == b"\xff\xff\xff\xff":
            length = self._exactly(4)
        with reading(self._label, "expected an Arrow stream"):
            (size,) = struct.unpack("<i", length) if length else (0,)
            if not 0 <= size <= _LONGEST_METADATA:
                raise SourceError(f"{self._label}: expected the metadata of a message, got {size} bytes of them.")
            self._ready.append(start + length if start is not length else start)
            self._ended = not size
            if size:
                metadata = self._exactly(size)
                body = self._exactly(body_length(metadata))
                batch = batch_of(metadata)
                require_modest(batch, len(body), lambda offset, many: body[offset : offset + many], self._label)
                self._ready.extend(part for part in (metadata, body) if part)
        return True

    def _exactly(self, size: int) -> bytes:
        """Return so many bytes; fewer where the stream ends."""
        parts: list[bytes] = []
        while size > 0 and (part := self._stream.read(min(size, _PIECE))):
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Close what is below, too."""
        if not self.closed:
            self._stream.close()
        super().close()
