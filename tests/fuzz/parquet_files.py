"""Parquet files: the footer and the headers of pages are taken apart, changed and written again, lengths redone."""

import io
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz import thrift_trees
from fuzz.arrow_files import TABLES
from fuzz.mutations import mutate_bytes
from fuzz.reading import MOST_ROWS, TEXT, check_rows, dice_of, is_text, numbers_of, require_same

_MAGIC = b"PAR1"
# Of parquet.thrift: row groups, their columns, the metadata of one; in these, where pages begin and their size.
_LAST_COLUMN = (4, 1, 3)
_SIZE, _DATA_START, _DICTIONARY_START = 7, 9, 11


def _written(table: pa.Table, **options: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=25, data_page_size=64, **options)
    return out.getvalue()


_WAYS = {
    "snappy": {"compression": "snappy"},
    "plain": {"compression": "none", "use_dictionary": False},
    "zstd": {"compression": "zstd", "data_page_version": "2.0"},
    "gzip": {"compression": "gzip", "write_statistics": False},
    "lz4": {"compression": "lz4", "write_page_checksum": True},
}
EXAMPLES = {f"{name} {way}": _written(TABLES[name], **how) for name in TABLES for way, how in _WAYS.items()}


def make(rng: random.Random) -> bytes:
    """Return a file in which something is other than it was."""
    return mutate(EXAMPLES[rng.choice(sorted(EXAMPLES))], rng)


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return a Parquet file with changes of its footer, a page's header, or anything."""
    length = int.from_bytes(data[-8:-4], "little")
    before, footer = data[: -8 - length], data[-8 - length : -8]
    tree, _ = thrift_trees.parse(footer, 0)
    kind = rng.random()
    if kind < 0.1:
        return mutate_bytes(data, rng, 4)
    if kind < 0.2:
        footer = mutate_bytes(footer, rng)
    elif kind < 0.35:
        before = mutate_bytes(before, rng, 4)
    else:
        if kind < 0.6:
            before = _with_other_page(before, tree, rng)
        for _ in range(rng.choice((1, 1, 2, 3)) if kind > 0.55 else 0):
            thrift_trees.mutate(tree, rng)
        footer = thrift_trees.write(tree)
    return before + footer + len(footer).to_bytes(4, "little") + _MAGIC


def _with_other_page(before: bytes, footer: list, rng: random.Random) -> bytes:
    """Change the header of the first page of the last column, which nothing but the footer lies behind."""
    fields = {number: field for field in thrift_trees.find(footer, *_LAST_COLUMN)[2] for number in field[:1]}
    start = fields.get(_DICTIONARY_START, fields[_DATA_START])[2]
    page, end = thrift_trees.parse(before, start)
    for _ in range(rng.choice((1, 1, 2))):
        thrift_trees.mutate(page, rng)
    header = thrift_trees.write(page)
    fields[_SIZE][2] += len(header) - (end - start)
    return before[:start] + header + before[end:]


def check(data: bytes, folder: Path) -> str | None:
    """Read; what loads is what pyarrow makes of it."""
    path = folder / "rows.parquet"
    path.write_bytes(data)
    source, rows = check_rows(path, dice_of(data))
    if is_text(source):
        return TEXT
    if len(rows) <= MOST_ROWS:
        table = pq.ParquetFile(path).read(columns=list(source.selection.names), use_threads=False)
        expected = [numbers_of(table.column(name)) for name in source.selection.names]
        require_same(rows, np.stack(expected, axis=1).reshape(rows.shape))
    return None
