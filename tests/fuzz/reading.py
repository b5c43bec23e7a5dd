"""What all data files have in common: in batches of any size, and from any row on, their rows are the same."""

import io
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

import qckm
from qckm.errors import SourceError
from qckm.sources.opening import open_source
from qckm.sources.raw import Peekable
from qckm.sources.source import Position, Source
from qckm.sources.table import Selection, Table
from qckm.sources.text_table import TextTable

MOST_ROWS = 200_000
TEXT = "text"  # an outcome, of bytes that are too damaged to be the format that they were
OPERATOR = qckm.SketchOperator.draw(1, 3, scale=1.0, random_state=0)


class Pipe(io.RawIOBase):
    """Bytes that come a few at a time, as they do through a pipe."""

    def __init__(self, data: bytes, rng: random.Random) -> None:
        self._data, self._rng, self._at = data, rng, 0
        self._most = rng.choice((3, 20, 100, 10**6)) if len(data) < 100 else rng.choice((50, 200, 10**6))

    def read(self, size: int = -1) -> bytes:
        """Return some of the bytes that are asked for."""
        many = min(size, self._rng.randint(1, self._most))
        self._at += many
        return self._data[self._at - many : self._at]


def dice_of(data: bytes) -> random.Random:
    """Return a generator that depends on an input alone."""
    return random.Random(zlib.crc32(data))


def read_all(source: Source, start: Position | None = None, rows_a_batch: int = 1 << 20) -> np.ndarray:
    """Return the rows of a source, and check that its batches say rightly where they are."""
    parts, row = [np.empty((0, source.n_features))], start.row if start else 0
    for batch in source.batches(start, batch_bytes=8 * source.n_features * rows_a_batch):
        assert batch.rows.shape[1] == source.n_features
        assert 0 < len(batch.rows) <= rows_a_batch
        assert batch.first_row == row
        row += len(batch.rows)
        assert batch.after == Position(0, row)
        parts.append(batch.rows)
        if row > MOST_ROWS:
            break
    with np.errstate(invalid="ignore"):  # NaNs that signal are NaNs
        return np.concatenate(parts)


def check_rows(path: Path, dice: random.Random) -> tuple[Source, np.ndarray]:
    """Read a file in several ways; return the source and its rows."""
    columns = dice.choice((None, None, [0], [1, 0]))
    source = open_source(path, columns)
    rows = read_all(source)
    assert source.n_rows in (None, len(rows)) or len(rows) > MOST_ROWS
    require_same(read_all(open_source(path, columns), rows_a_batch=dice.randint(1, 9)), rows)
    if len(rows) > 1:
        first = dice.randrange(len(rows))
        require_same(read_all(source, Position(0, first), dice.randint(1, 9)), rows[first:])
    finite = rows[np.isfinite(rows).all(axis=1), :1]
    whole = OPERATOR.sketch(finite, n_jobs=1)
    assert whole.count == len(finite)
    assert (np.abs(whole.total) <= len(finite) * OPERATOR.signature.full_scale).all()
    return source, rows


def is_text(source: Source) -> bool:
    """Return whether bytes are read as text, whatever their file is called: the oracle of another format has no say."""
    return isinstance(source.tables[0], TextTable)


def require_same(got: np.ndarray, expected: np.ndarray) -> None:
    """Fail if rows differ; NaN is like NaN."""
    np.testing.assert_array_equal(got, expected)


def outcome_of(open_table: Callable[[], Table]) -> tuple[Table | None, list[str], np.ndarray, str]:
    """Return a table, the names of its columns and its rows, or the words it is refused with."""
    try:
        table = open_table()
        names = [column.name for column in table.columns]
        parts = [rows for rows, _ in table.read(Selection(tuple(names)), 0, 7)]
        with np.errstate(invalid="ignore"):
            return table, names, np.concatenate([np.empty((0, len(names))), *parts]), ""
    except SourceError as error:
        return None, [], np.empty((0, 0)), str(error)


def pipe_of(data: bytes, dice: random.Random) -> Callable[[], Peekable]:
    """Return what opens the bytes as a pipe, once."""
    stream = Peekable(Pipe(data, dice))
    return lambda: stream


def numbers_of(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of Arrow's as floats, value by value: the slowest way there is."""
    if pa.types.is_decimal(column.type):  # some that pyarrow can hold Python cannot
        column = column.cast(pa.float64())
    with np.errstate(invalid="ignore"):
        return np.array([np.nan if value is None else float(value) for value in column.to_pylist()], np.float64)
