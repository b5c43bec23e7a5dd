"""The .qckm file: an operator and a sum, so that a file is enough to merge and to decode (docs/file-format.md).

Reading trusts nothing: sizes follow from the header and must equal the file's own before anything is allocated, the
checksum is verified before anything is interpreted, and what is interpreted passes through the same checks as values
built in memory.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common import foreign_files
from qckm.common.arrays import Array
from qckm.common.atomic import updating, write_atomically
from qckm.common.digest import sha256
from qckm.errors import FileError, QckmError
from qckm.kernels.reference import ARITHMETIC, STRUCTURED_ARITHMETIC
from qckm.operator import signatures
from qckm.operator.codes import InlineCodes
from qckm.operator.signatures import Signature
from qckm.operator.structured import StructuredCodes, unpack_signs
from qckm.sketch import extensions
from qckm.sketch.sketch import Sketch
from qckm.sketch.sketch_operator import SketchOperator
from qckm.sketch.writing import EXTENDED, HEADER_LIMIT, MAGIC, PREAMBLE, VERSION, dumps, layout

__all__ = ["dumps", "load", "loads", "save", "updating"]

_CHECKSUM = 32  # bytes of a SHA-256
_LARGEST = 1 << 48  # of any count in a header: keeps sizes far from overflow


def loads(data: bytes) -> Sketch:
    """Return the sketch of a file's bytes; raise `FileError` for anything that is not exactly one."""
    header, payload = _split(data)
    arrays: dict[Any, Array] = {}
    at = 0
    for name, kind, shape in layout(header):
        count = _product(shape)
        little = np.frombuffer(payload, kind, count, at).reshape(shape)
        arrays[name] = little.astype(little.dtype.newbyteorder("="))
        at += little.nbytes
    try:
        return _build(header, arrays)
    except FileError:
        raise
    except QckmError as error:
        raise error.within("The file's checksum is right, but what it holds is not valid", FileError) from error


def save(sketch: Sketch, path: str | os.PathLike[str]) -> None:
    """Write a sketch file atomically: at every moment the path holds the old file or the new one, whole."""
    write_atomically(path, dumps(sketch))


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
    with open(path, "rb") as file:
        # A file that does not start as ours is not read any further, however long: it may be a device.
        data = file.read(foreign_files.START)
        if data.startswith(MAGIC):
            data += file.read()
    with foreign_files.reading(os.fspath(path)):
        return loads(data)


def _read_preamble(data: bytes) -> tuple[int, int]:
    """Return the version and the length of the header."""
    if len(data) < PREAMBLE.size:
        raise FileError(f"Expected a sketch file, got {len(data)} bytes: empty or cut short.")
    magic, version, length = PREAMBLE.unpack_from(data)
    if magic != MAGIC:
        found = foreign_files.recognised(data) or "one that does not start with the .qckm magic bytes"
        raise FileError(f"Expected a sketch file, got {found}.")
    if version not in (VERSION, EXTENDED):
        raise FileError(f"Expected file version {VERSION} or {EXTENDED}, got {version}: a newer qckm may read it.")
    if length > HEADER_LIMIT:
        raise FileError(f"Expected a header of at most {HEADER_LIMIT} bytes, got {length}: not a sane sketch file.")
    return int(version), int(length)


def _split(data: bytes) -> tuple[dict[str, Any], memoryview]:
    """Check magic, sizes and checksum; return the header and the payload."""
    version, length = _read_preamble(data)
    start = PREAMBLE.size + length
    if len(data) < start + _CHECKSUM:
        raise FileError(f"Expected at least {start + _CHECKSUM} bytes, got {len(data)}: the file is cut short.")
    header = _parse_header(data[PREAMBLE.size : start])
    if (version == EXTENDED) != ("extensions" in header):
        raise FileError(f"Expected extensions in a file of version {EXTENDED}, and in no other.")
    if version == EXTENDED:
        extensions.parse(header["extensions"])
    size = sum(np.dtype(kind).itemsize * _product(shape) for _, kind, shape in layout(header))
    if len(data) != start + size + _CHECKSUM:
        raise FileError(
            f"Expected {start + size + _CHECKSUM} bytes, as the header says, got {len(data)}: damaged or cut."
        )
    if sha256(data[:-_CHECKSUM]).digest() != data[-_CHECKSUM:]:
        raise FileError("The checksum does not match: the file is damaged.")
    return header, memoryview(data)[start : start + size]


def _parse_header(text: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    try:
        header = json.loads(text.decode("ascii"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise FileError(f"Expected a JSON header, got something else: {error}.") from error
    if not isinstance(header, dict):
        raise FileError("Expected a JSON object as the header.")
    if header.get("arithmetic") not in (ARITHMETIC, STRUCTURED_ARITHMETIC):
        raise FileError(f"Expected arithmetic {ARITHMETIC!r}, got {header.get('arithmetic')!r:.80}.")
    number = (int, float) if header.get("sum") == "float64" else int
    kinds: dict[str, Any] = {
        "count": number,
        "dither": str,
        "feature_names": (list, type(None)),
        "fingerprint": str,
        "law": str,
        "n_features": int,
        "n_frequencies": int,
        "saturated": number,
        "scale": (int, float, type(None)),
        "signature": str,
        "skipped": int,
        "sum": str,
        "table": bool,
    }
    for key, kind in kinds.items():
        value = header.get(key, ...)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise FileError(f"Expected {key!r} in the header to be {kind}, got {value!r:.80}.")
        if isinstance(value, (int, float)) and not 0 <= value < (2**63 if isinstance(value, int) else np.inf):
            raise FileError(f"Expected {key!r} in the header to be a finite number >= 0, got {value!r:.80}.")
        if isinstance(value, int) and kind is not int and kind is not bool and float(value) != value:
            raise FileError(f"Expected {key!r} in the header to be a number that float64 holds, got {value!r:.80}.")
    if header["sum"] not in ("int64", "float64") or header["dither"] not in ("paired", "single"):
        raise FileError(f"Expected a sum of int64 or float64 and a paired or single dither, got {header['sum']!r:.80}.")
    if not (0 < header["n_features"] < _LARGEST and 0 < header["n_frequencies"] < _LARGEST):
        raise FileError("Expected at least one feature and one frequency.")
    return header


def _build(header: dict[str, Any], arrays: dict[Any, Array]) -> Sketch:
    if header["table"]:
        signature = Signature(header["signature"], arrays["table"])
    else:
        signature = signatures.get(header["signature"])
    codes: npt.NDArray[np.int16] | StructuredCodes
    if header["arithmetic"] == STRUCTURED_ARITHMETIC:
        codes = StructuredCodes(unpack_signs(arrays["signs"]), arrays["factors"], arrays["radii"])
    else:
        codes = arrays["frequency_codes"]
    operator = SketchOperator(
        InlineCodes(codes, arrays["dither_codes"]),
        arrays["steps"],
        arrays["origin"],
        signature,
        header["dither"],
        header["law"],
        header["scale"],
        arrays["units"],
        header["feature_names"],
    )
    if operator.fingerprint != header["fingerprint"]:
        raise FileError("The operator's fingerprint does not match its header: the file was not written by qckm.")
    bounds = arrays["lower"], arrays["upper"]
    sketch = Sketch(operator, arrays["sum"], header["count"], header["saturated"], bounds, header["skipped"])
    sketch = extensions.apply(sketch, header.get("extensions", []), arrays)
    sketch.require_consistent()
    return sketch


def _product(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:  # Python integers: numpy.prod would overflow in silence on a hostile header
        size *= length
    return size
