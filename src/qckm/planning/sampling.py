"""A sample of the rows, from all over the source: where the data are sorted, the first rows are like no others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qckm.common.arrays import Rows
from qckm.errors import RowsError
from qckm.sources.source import Batch, Position, Source

# Parts of the source that are looked into, where parts can be read alone.
_PARTS = 32
# Of each part, no more than this is read: a row group may hold gigabytes.
_BYTES_A_PART = 1 << 21


def sample_rows(source: Source, size: int, rng: np.random.Generator) -> Rows:
    """Draw at most `size` finite rows, the same for the same source and generator.

    From files with parts (Parquet, NumPy) it reads some of them; from others, which cannot be entered in the middle,
    it reads everything once. Of a pipe it takes the first rows, which are then sketched like the rest.
    """
    with np.errstate(invalid="ignore"):  # NaNs that signal are NaNs
        rows = _rows(source, size, rng)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if not len(rows):
        table = source.tables[0]
        why = "".join(f": {words}" for words in table.faults.values())
        raise RowsError(f"{table.label}: expected rows of finite numbers, found none{why}.")
    return rows


def _rows(source: Source, size: int, rng: np.random.Generator) -> Rows:
    if source.once:
        return _head(source, size)
    blocks = [table.blocks() for table in source.tables]
    if any(some is None for some in blocks):
        return _reservoir(source.batches(), size, rng)
    parts = [(number, *block) for number, some in enumerate(blocks) for block in some or [] if block[1]]
    return _from_parts(source, parts, size, rng)


def _from_parts(source: Source, parts: list[tuple[int, int, int]], size: int, rng: np.random.Generator) -> Rows:
    """Take rows of parts at even distances: of each in proportion to how many of these fall on it."""
    if not parts:
        return np.empty((0, source.n_features))
    counts = np.array([rows for _, _, rows in parts])
    edges = np.cumsum(counts)
    if edges[-1] <= size:
        return np.concatenate([batch.rows for batch in source.batches()]).astype(np.float64)
    marks = (np.arange(_PARTS) + rng.random()) * (edges[-1] / _PARTS)
    chosen, hits = np.unique(np.searchsorted(edges, marks, side="right"), return_counts=True)
    limit = max(size // _PARTS, _BYTES_A_PART // (8 * source.n_features))
    taken = []
    for part, many in zip(chosen, hits, strict=True):
        table, first, rows = parts[part]
        found = _read_part(source, table, first, min(rows, limit * many))
        wanted = min(len(found), size * many // _PARTS)
        taken.append(found[np.sort(rng.choice(len(found), wanted, replace=False))])
    return np.concatenate(taken).astype(np.float64)


def _read_part(source: Source, table: int, first: int, rows: int) -> Rows:
    found, count = [], 0
    row_bytes = 8 * source.n_features
    for batch in source.batches(Position(table, first), batch_bytes=rows * row_bytes):
        found.append(batch.rows[: rows - count])
        count += len(found[-1])
        if count >= rows or batch.after.table > table:
            break
    return np.concatenate(found)


def _reservoir(batches: Iterator[Batch], size: int, rng: np.random.Generator) -> Rows:
    """Give each row a random key and keep the smallest: uniform, in one pass, however the rows come in batches."""
    kept, keys = None, np.empty(0)
    for batch in batches:
        fresh = rng.random(len(batch.rows))
        low = fresh < (np.inf if len(keys) < size else keys.max())
        rows = batch.rows[low].astype(np.float64)
        kept = rows if kept is None else np.concatenate([kept, rows])
        keys = np.concatenate([keys, fresh[low]])
        if len(keys) > size:
            lowest = np.sort(np.argpartition(keys, size - 1)[:size])
            kept, keys = kept[lowest], keys[lowest]
    return np.empty((0, 1)) if kept is None else kept


def _head(source: Source, size: int) -> Rows:
    """Return the first rows of a pipe, and put them back."""
    found = source.peek(size)
    return np.concatenate(found)[:size].astype(np.float64) if found else np.empty((0, source.n_features))
