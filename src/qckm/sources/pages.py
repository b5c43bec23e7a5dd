"""How large the pages of a Parquet file say they are, read before pyarrow allocates what they ask for.

Values are unpacked a page at a time. A page's header says how large it will be, up to 2 GB; what the footer says of it
binds nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from qckm.errors import SourceError
from qckm.sources.claims import require_modest_size
from qckm.sources.parquet_footer import Chunk
from qckm.sources.thrift import INT32, Fields, read_struct, read_whole, struct_of

# Numbers of fields, from parquet.thrift.
_UNPACKED, _PACKED, _DICTIONARY, _ENTRIES = 2, 3, 7, 1
_INT = (INT32, read_whole)
_HEADER: Fields = {_UNPACKED: _INT, _PACKED: _INT, _DICTIONARY: struct_of({_ENTRIES: _INT})}
# No compression, and Snappy: they cannot unpack to more than a few dozen times what they are.
_HARMLESS = (0, 1)
_LOOK, _LONGEST_HEADER = 1 << 12, 1 << 24


def require_modest_pages(file: Any, size: int, chunks: Iterable[Chunk], label: str) -> None:
    """Refuse columns of a row group whose largest pages together unpack to far more than they are."""
    packed = unpacked = 0
    for chunk in chunks:
        if chunk.codec in _HARMLESS:
            if chunk.values:
                _read_header(file, chunk.start, size)  # where there is a dictionary, it is the first page
        else:
            if not 0 < chunk.start <= chunk.start + chunk.size <= size:
                raise SourceError(f"{label}: expected pages within {size} bytes, got {chunk.size} at {chunk.start}.")
            packed += chunk.size
            unpacked += max(_sizes(file, chunk), default=0)
    require_modest_size(min(packed, size), unpacked, "row groups with pages", label)


def _sizes(file: Any, chunk: Chunk) -> Iterator[int]:
    """Yield how large the pages of a chunk will be."""
    at, end = chunk.start, chunk.start + chunk.size
    while at < end:
        length, unpacked, packed = _read_header(file, at, end)
        yield unpacked
        at += length + packed


def _read_header(file: Any, at: int, end: int) -> tuple[int, int, int]:
    """Return how long the header of a page is, and how large the page will be and is.

    For a dictionary pyarrow allocates what its entries take before it looks whether they are there.
    """
    length, fields = _header(file, at, end)
    unpacked, packed = fields.get(_UNPACKED, -1), fields.get(_PACKED, -1)
    if unpacked < 0 or packed < 0:
        raise ValueError(f"expected sizes of pages, got {unpacked} and {packed}")
    entries = fields.get(_DICTIONARY, {}).get(_ENTRIES, 0)
    if not 0 <= entries <= unpacked:
        raise ValueError(f"expected a dictionary in {unpacked} bytes, got one of {entries} entries")
    return length, unpacked, packed


def _header(file: Any, at: int, end: int) -> tuple[int, dict[int, Any]]:
    look = _LOOK
    while True:
        file.seek(at)
        try:
            return read_struct(file.read(min(look, end - at)), 0, _HEADER)
        except IndexError:  # it goes on
            if look >= min(_LONGEST_HEADER, end - at):
                raise ValueError("the header of a page has no end") from None
            look *= 16
