"""CSV texts, as files and through pipes, with a header, without, and as told from the text. Python's csv is the oracle.

Blocks and pieces are made small, so that records are cut everywhere.
"""

import csv
import io
import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fuzz.reading import Pipe, dice_of, outcome_of, pipe_of, require_same
from qckm.errors import SourceError
from qckm.sources import csv as reader
from qckm.sources.csv import CsvTable
from qckm.sources.first_lines import look
from qckm.sources.raw import Peekable, open_file
from qckm.sources.text import TextFormat, number

_BOM = b"\xef\xbb\xbf"
_PIECES = (
    b"1", b"2.5", b"-3e2", b"+4", b".5", b"6.", b"x", b"27 inch", b"", b'"', b'""', b'"a"', b'"1"', b'"1,2"', b'"a\nb"',
    b'"a""b"', b",", b",", b",", b";", b"\t", b"|", b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\r", b" ", b"NA", b"nan",
    b"inf", b"1_000", b"\xe9", b"\xc3\xa9", _BOM, b"1,2,3\n", b"4,5,6\n", b"1e400", b"\xef\xbc\x91", b'" 1"', b'"1" ',
    b'"\r"',
    b"\x0b", b"\x1c", b"\xc2\x85", b"\x1a", b"'", b"\\", b'\\"', b"0x1", b"1e", b"-", b"infinity", b"1.#IND",
)  # fmt: skip
_CELLS = (
    b"1",
    b"2.5",
    b'"3"',
    b'"x"',
    b"",
    b'"a,b"',
    b'"a""b"',
    b'5"',
    b"x",
    b'"a\nb"',
    b'"a\n\n,1"',
    b'"\r\n"',
    b'"""\n"""',
)
EXAMPLES = {
    "plain": b"a,b\n1,2\n3,4\n",
    "no header": b"1;2\r\n3;4\r\n",
    "quotes": b'a\tb\n"1"\t"2"\n"3"\t4\n',
    "line breaks": b'a,b\n1,"x\ny"\n',
}


def make(rng: random.Random) -> bytes:
    """Return a text: of pieces, a table with damage, or marks and digits in any order."""
    kind = rng.random()
    if kind < 0.35:
        return b"".join(rng.choice(_PIECES) for _ in range(rng.randint(1, 30)))
    if kind < 0.85:
        return _table(rng)
    return bytes(rng.choice(b'",;\n\r\t1x. "') for _ in range(rng.randint(1, 40)))


def _table(rng: random.Random) -> bytes:
    delimiter, end = rng.choice((b",", b";", b"\t")), rng.choice((b"\n", b"\r\n", b"\r"))
    cells = _CELLS[: rng.choice((2, 3, 9, len(_CELLS)))]
    width, height = rng.randint(1, 4), rng.choice((rng.randint(1, 9), rng.randint(1, 9), rng.randint(1, 60)))
    text = bytearray(end.join(delimiter.join(rng.choice(cells) for _ in range(width)) for _ in range(height)))
    for _ in range(rng.choice((0, 0, 0, 1, 2)) if text else 0):
        text[rng.randrange(len(text))] = rng.choice(b'",\n\r;x1 ')
    return bytes(text)


def check(data: bytes, folder: Path) -> str | None:
    """Read in all ways; a file and a pipe are the same, and what loads is what Python's csv reads."""
    dice = dice_of(data)
    path = str(folder / "rows.csv")
    Path(path).write_bytes(data)
    with _small_blocks(len(data), dice):
        refused = [_check_header(data, path, header, dice) for header in (None, True, False)]
    return "refused" if all(refused) else "refused in part" if any(refused) else None


def _check_header(data: bytes, path: str, header: bool | None, dice: random.Random) -> bool:
    """Check one way to take the first line; return whether the text was refused."""
    table, names, rows, words = outcome_of(lambda: CsvTable(lambda: open_file(path), "data", path, TextFormat(header)))
    piped, other_names, other_rows, other_words = outcome_of(
        lambda: CsvTable(pipe_of(data, dice), "data", None, TextFormat(header))
    )
    assert words == other_words, f"a file: {words!r}, a pipe: {other_words!r}"
    if words:
        _require_refused(data, header, words, dice)
        return True
    assert (names, table.named, table.assumed) == (other_names, piped.named, piped.assumed)
    require_same(rows, other_rows)
    expected_names, expected = _oracle(data, table._first.delimiter, table.named)
    assert names == expected_names
    require_same(rows, expected)
    return False


def _oracle(data: bytes, delimiter: str, named: bool) -> tuple[list[str], np.ndarray]:
    """Return names and rows as Python's csv reads them; a record of another length is a row of NaN."""
    records = [record for record in _records(data, delimiter) if record]
    width = len(records[0])
    names = [str(place) for place in range(width)]
    if named:
        names = [cell.encode("latin1").decode().strip() for cell in records[0]]
    rows = [
        [number(cell) for cell in record] if len(record) == width else [math.nan] * width for record in records[named:]
    ]
    return names, np.array(rows, np.float64).reshape(-1, width)


def _records(data: bytes, delimiter: str) -> list[list[str]]:
    text = io.StringIO(data.removeprefix(_BOM).decode("latin1"), newline="")
    usual = csv.field_size_limit(1 << 30)
    try:
        return list(csv.reader(text, delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise AssertionError(f"Python's csv refuses it: {error}") from error
    finally:
        csv.field_size_limit(usual)


def _require_refused(data: bytes, header: bool | None, words: str, dice: random.Random) -> None:
    """What is refused for its quotes is refused by Python's csv, too."""
    if "quote" not in words:
        return
    try:
        delimiter = look(Peekable(Pipe(data, dice)), "data", TextFormat(header)).delimiter
    except SourceError:
        return
    try:
        _records(data, delimiter)
    except AssertionError:
        return
    raise AssertionError(f"Python's csv reads it: {words}")


@contextmanager
def _small_blocks(size: int, dice: random.Random) -> Iterator[None]:
    """Have blocks and pieces of a few bytes; not too many, each costs half a millisecond. Some are parsed by cells."""
    before = reader._BLOCK, reader._PIECE, reader._BYTES_PER_CELL, reader._MANY_COLUMNS
    if dice.random() < 0.3:
        reader._MANY_COLUMNS = 0
    reader._BLOCK = dice.choice((1, 3, 10) if size < 25 else (1 + size // 7, 1 + size // 3, 1 << 23))
    if dice.random() < 0.5:
        reader._PIECE, reader._BYTES_PER_CELL = dice.choice((100, 200, 400)), 1
    try:
        yield
    finally:
        reader._BLOCK, reader._PIECE, reader._BYTES_PER_CELL, reader._MANY_COLUMNS = before
