"""The .qckm file: an operator and a sum, so that a file is enough to merge and to decode (docs/file-format.md).

Reading trusts nothing: the checksum is verified before anything is interpreted, sizes must agree with the file's own
before anything is allocated, and what is interpreted passes through the same checks as values built in memory.
"""

from __future__ import annotations

import os

from qckm.common import foreign_files
from qckm.common.atomic import updating
from qckm.errors import FileError, QckmError
from qckm.sketch import old_files, operator_sections, sections
from qckm.sketch.sections import MAGIC, START, VERSION, dumps, dumps_sums
from qckm.sketch.sketch import Sketch, SketchOperator
from qckm.sketch.sums import Sums

__all__ = ["dumps", "dumps_sums", "load", "loads", "loads_sums", "may_be_of", "sizes", "updating"]


def loads(data: bytes) -> Sketch:
    """Return the sketch of a file's bytes; raise `FileError` for anything that is not exactly one."""
    try:
        if version_of(data) != VERSION:
            return old_files.loads(data)
        return _sketch_of(sections.loads(data, SketchOperator))
    except FileError:
        raise
    except QckmError as error:
        raise error.within("The file's checksum is right, but what it holds is not valid", FileError) from error


def loads_sums(data: bytes, operator: SketchOperator) -> Sketch:
    """Return the sketch of what `dumps_sums` gives, and its operator."""
    return _sketch_of(sections.loads_sums(data, operator))


def _sketch_of(sums: Sums) -> Sketch:
    return Sketch(**vars(sums))


def may_be_of(data: bytes, operator: SketchOperator) -> bool:
    """Return whether a file claims to be of an operator: its own is not made for that, which may be large."""
    return version_of(data) != VERSION or operator_sections.may_be_of(sections.split(data), operator)


def sizes(data: bytes) -> dict[str, int]:
    """Return where the bytes of a file go: bytes by what they are for."""
    return sections.sizes(data) if version_of(data) == VERSION else old_files.sizes(data)


def version_of(data: bytes) -> int:
    """Return the version of a sketch file, if it is one that can be read."""
    if len(data) < START.size:
        raise FileError(f"Expected a sketch file, got {len(data)} bytes: empty or cut short.")
    magic, version = START.unpack_from(data)
    if magic != MAGIC:
        found = foreign_files.recognised(data[: foreign_files.START])
        raise FileError(f"Expected a sketch file, got {found or 'other bytes'}.", foreign_files.topic_of(found))
    if version not in (*old_files.VERSIONS, VERSION):
        raise FileError(f"Expected file version 1 to {VERSION}, got {version}: a newer qckm may read it.")
    return int(version)


def load(path: str | os.PathLike[str]) -> Sketch:
    """Read a .qckm file.

    Parameters
    ----------
    path : path

    Returns
    -------
    Sketch
        With its operator, so that it can be merged with others and decoded.

    Examples
    --------
    >>> import os, tempfile, numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "day1.qckm")
    ...     op.sketch(np.eye(2)).save(path)
    ...     qckm.load(path).count
    2
    """
    data = read_bytes(path)
    with foreign_files.reading(os.fspath(path)):
        return loads(data)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a sketch file; of one that does not start as ours, which may be a device, only the first."""
    with open(path, "rb") as file:
        data = file.read(foreign_files.START)
        return data + file.read() if data.startswith(MAGIC) else data
