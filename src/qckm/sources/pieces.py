"""Pieces: parts of files that a worker elsewhere reads alone, with the code that reads whole files here.

A Parquet file is cut between row groups, an Arrow file between batches, a NumPy file between rows, plain text between
lines. What cannot be cut (compressed text, a CSV with cells in quotes, what a URL stands for) is read in one piece.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from qckm.common.text import is_url
from qckm.errors import SourceError
from qckm.sources.opening import open_table
from qckm.sources.remote import fetched, list_files
from qckm.sources.source import Source
from qckm.sources.table import Selection, Span, Table, require_held
from qckm.sources.text import TextFormat

# Of a file of unknown size.
_USUAL_BYTES = 1 << 27


class Piece(NamedTuple):
    """A part of a file, or a whole one."""

    path: str  # as workers know it: absolute, or a URL
    size: int | None  # the bytes of the file when it was listed, where that is known
    span: Span | None = None  # what to read of it, as its format counts (rows, bytes, batches), if not all


def pieces_of(table: Table, n_bytes: int | None) -> Iterator[tuple[Piece, float]]:
    """Yield the pieces of a file of this machine, of about so many bytes, each with its bytes; None: in one."""
    path, size = os.path.abspath(table.place), table.n_bytes or 0
    spans = table.spans(n_bytes) if n_bytes is not None and size > n_bytes else None
    if spans is None:
        yield Piece(path, size), size
        return
    whole = spans[-1][1] - spans[0][0]
    for span in spans:
        yield Piece(path, size, span), size * (span[1] - span[0]) / whole


def pieces_of_url(url: str) -> Iterator[tuple[Piece, float]]:
    """Yield the files that a URL, a pattern or a folder stands for, each with its bytes."""
    for remote in list_files(url):
        yield Piece(remote.url, remote.size), remote.size or _USUAL_BYTES


def packed(pieces: Sequence[tuple[Piece, float]], n_bytes: int) -> list[list[Piece]]:
    """Put pieces together, in their order, until there are so many bytes: what one task reads."""
    found: list[list[Piece]] = []
    held = float(n_bytes)
    for piece, size in pieces:
        if held + size / 2 > n_bytes:
            found.append([])
            held = 0
        found[-1].append(piece)
        held += size
    return found


@contextlib.contextmanager
def reading_piece(piece: Piece, selection: Selection, text: TextFormat) -> Iterator[Source]:
    """Give a piece as a source of one table. What lies elsewhere is copied for as long as it is read."""
    with contextlib.ExitStack() as stack:
        url, place = None, piece.path
        if is_url(piece.path) and not os.path.exists(piece.path):
            ((url, place),) = stack.enter_context(fetched(piece.path))
        table = open_table(place, text, url)
        if piece.size is not None and table.n_bytes != piece.size:
            raise SourceError(
                f"{table.label}: expected {piece.size} bytes, as when the job began, got {table.n_bytes}. Start again "
                "when nobody writes to it."
            )
        require_held(table, selection.names)
        source = Source((table,), selection)
        if piece.span is not None:
            table.narrow(piece.span)
        yield source
        source.require_unchanged()
