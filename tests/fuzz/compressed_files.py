"""Compressed CSV: texts are packed, and the packed bytes damaged. Python's own gzip and bz2 are oracles.

What was cut short must not be taken for the whole.
"""

import bz2
import gzip
import random
import zlib
from pathlib import Path

import pyarrow as pa

from fuzz import csv_files
from fuzz.mutations import mutate_bytes
from fuzz.reading import dice_of, outcome_of, pipe_of, require_same
from qckm.errors import SourceError
from qckm.sources.csv import CsvTable
from qckm.sources.raw import open_file

CODECS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
_LONG = b"a,b\n" + b"".join(b"%d,%d\n" % (row, row * row % 97) for row in range(300))


def _packed(text: bytes, codec: str) -> bytes:
    if codec in ("gzip", "bz2"):
        return gzip.compress(text, mtime=0) if codec == "gzip" else bz2.compress(text)
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, codec) as stream:
        stream.write(text)
    return out.getvalue().to_pybytes()


EXAMPLES = {codec: _packed(_LONG, codec) for codec in CODECS.values()}
EXAMPLES["two members"] = EXAMPLES["gzip"] + gzip.compress(b"1,2\n", mtime=0)


def make(rng: random.Random) -> bytes:
    """Return packed bytes in which something is other than it was."""
    codec = rng.choice(sorted(set(CODECS.values())))
    data = _packed(rng.choice((_LONG, csv_files.make(rng))), codec)
    kind = rng.random()
    if kind < 0.2:
        return data[: rng.randrange(4, max(5, len(data)))]
    if kind < 0.3:
        return data + rng.choice((data, b"\0", b"x", b"\0" * 600, data[:9], rng.randbytes(5)))
    return mutate_bytes(data, rng, 4) if kind < 0.9 else data


def check(data: bytes, folder: Path) -> None:
    """Read as a file and as a pipe; what loads is what the oracle unpacks."""
    dice = dice_of(data)
    path = str(folder / "rows.csv.gz")
    Path(path).write_bytes(data)
    found = outcome_of(lambda: CsvTable(lambda: open_file(path), "data", path))
    piped = outcome_of(lambda: CsvTable(pipe_of(data, dice), "data"))
    assert bool(found[3]) == bool(piped[3]), f"a file: {found[3]!r}, a pipe: {piped[3]!r}"
    if found[3]:
        raise SourceError(found[3])
    require_same(found[2], piped[2])
    plain = _unpacked(data)
    if plain is not None:
        require_same(found[2], outcome_of(lambda: CsvTable(pipe_of(plain, dice), "data"))[2])


def _unpacked(data: bytes) -> bytes | None:
    """Return what Python unpacks; None where it has no module for it."""
    try:
        if data.startswith(b"\x1f\x8b"):
            return gzip.decompress(data)
        return bz2.decompress(data) if data.startswith(b"BZh") else None
    except (EOFError, OSError, zlib.error, ValueError) as error:
        raise AssertionError(f"Python does not unpack it: {error!r}") from error
