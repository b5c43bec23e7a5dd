"""Files of versions 1 and 2: read for ever, written no more (docs/file-format.md).

A header of JSON, arrays in the order of `layout`, SHA-256. Version 2 is version 1 with extensions, each with a name,
facts and arrays.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common import foreign_files
from qckm.common.arrays import Array, sha256
from qckm.errors import FileError
from qckm.kernels.reference import ARITHMETIC, STRUCTURED_ARITHMETIC, TABLE_SIZE
from qckm.operator import signatures
from qckm.operator.codes import Codes
from qckm.operator.signatures import Signature
from qckm.operator.structured import StructuredCodes, block_size, unpack_signs
from qckm.sketch.columns import ColumnSums
from qckm.sketch.ledger import Ledger
from qckm.sketch.operator_sections import octaves_that_seem
from qckm.sketch.sketch import Sketch, SketchOperator

PLAIN, EXTENDED = VERSIONS = (1, 2)
PREAMBLE = struct.Struct("<8sII")  # magic, version, length of the header
_HEADER_LIMIT = 1 << 22  # room for the names of tens of thousands of columns
_CHECKSUM = 32  # bytes of a SHA-256
_LARGEST = 1 << 48  # of any count in a header: keeps sizes far from overflow
# What arrays of extensions may be of, and how many an extension, and of how many axes.
_KINDS = ("<i2", "<i4", "<i8", "<f8", "u1")
_MOST_ARRAYS, _MOST_AXES, _MOST_EXTENSIONS = 16, 4, 16


def loads(data: bytes) -> Sketch:
    """Return the sketch of a file's bytes."""
    header, payload = _split(data)
    arrays: dict[Any, Array] = {}
    at = 0
    for name, kind, shape in layout(header):
        little = np.frombuffer(payload, kind, math.prod(shape), at).reshape(shape)
        arrays[name] = little.astype(little.dtype.newbyteorder("="))
        at += little.nbytes
    return _build(header, arrays)


def sizes(data: bytes) -> dict[str, int]:
    """Return where the bytes of a file go, by the names of its arrays."""
    header, payload = _split(data)
    found = {
        " ".join(name) if isinstance(name, tuple) else name: np.dtype(kind).itemsize * math.prod(shape)
        for name, kind, shape in layout(header)
    }
    return {**found, "header and checksum": len(data) - len(payload)}


def layout(header: dict[str, Any]) -> list[tuple[str | tuple[str, str], str, tuple[int, ...]]]:
    """List the arrays of the payload in order: name (of an extension's with its own), little-endian type, shape."""
    n, m = header["n_features"], header["n_frequencies"]
    table = [("table", "<i2", (TABLE_SIZE,))] if header["table"] else []
    frequencies: list[tuple[str | tuple[str, str], str, tuple[int, ...]]] = [("frequency_codes", "<i2", (n, m))]
    if header["arithmetic"] == STRUCTURED_ARITHMETIC:
        size = block_size(n)
        signs = (-(-m // size), 3, size // 8)
        frequencies = [("signs", "u1", signs), ("factors", "<i4", (n,)), ("radii", "<i4", (m,))]
    return [
        *frequencies,
        ("dither_codes", "<i4", (m,)),
        ("steps", "<f8", (n,)),
        ("origin", "<f8", (n,)),
        ("units", "<f8", (n,)),
        *table,
        ("lower", "<f8", (n,)),
        ("upper", "<f8", (n,)),
        ("sum", "<i8" if header["sum"] == "int64" else "<f8", (m * (2 if header["dither"] == "paired" else 1),)),
        *(
            ((extension["name"], name), kind, tuple(shape))
            for extension in header.get("extensions", ())
            for name, kind, shape in extension["arrays"]
        ),
    ]


def _split(data: bytes) -> tuple[dict[str, Any], memoryview]:
    """Check magic, sizes and checksum; return the header and the payload."""
    if len(data) < PREAMBLE.size:
        raise FileError(f"Expected at least {PREAMBLE.size} bytes, got {len(data)}: the file is cut short.")
    _, version, length = PREAMBLE.unpack_from(data)
    if length > _HEADER_LIMIT:
        raise FileError(f"Expected a header of at most {_HEADER_LIMIT} bytes, got {length}: not a sane sketch file.")
    start = PREAMBLE.size + length
    if len(data) < start + _CHECKSUM:
        raise FileError(f"Expected at least {start + _CHECKSUM} bytes, got {len(data)}: the file is cut short.")
    header = _parse_header(data[PREAMBLE.size : start])
    if (version == EXTENDED) != ("extensions" in header):
        raise FileError(f"Expected extensions in a file of version {EXTENDED}, and in no other.")
    if version == EXTENDED:
        _require_extensions(header["extensions"])
    size = sum(np.dtype(kind).itemsize * math.prod(shape) for _, kind, shape in layout(header))
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
        header = json.loads(text.decode("ascii"), parse_constant=refuse, object_pairs_hook=foreign_files.each_once)
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


def _require_extensions(described: Any) -> None:
    """Refuse what is no list of extensions: then sizes are known, and no name is there twice."""
    if not isinstance(described, list) or not 0 < len(described) <= _MOST_EXTENSIONS:
        raise FileError(f"Expected a list of 1 to {_MOST_EXTENSIONS} extensions in the header.")
    for each in described:
        if (
            not isinstance(each, dict)
            or set(each) != {"name", "required", "facts", "arrays"}
            or not isinstance(each["name"], str)
            or not isinstance(each["required"], bool)
            or not isinstance(each["facts"], dict)
            or not isinstance(each["arrays"], list)
            or not len(each["arrays"]) <= _MOST_ARRAYS
            or not all(map(_is_array, each["arrays"]))
            or len({name for name, _, _ in each["arrays"]}) < len(each["arrays"])
        ):
            raise FileError(f"Expected an extension with name, required, facts and arrays, got {each!r:.80}.")
    if len({each["name"] for each in described}) < len(described):
        raise FileError("Expected each extension once.")


def _is_array(described: Any) -> bool:
    if not isinstance(described, list) or len(described) != 3:
        return False
    name, kind, shape = described
    return (
        isinstance(name, str)
        and kind in _KINDS
        and isinstance(shape, list)
        and len(shape) <= _MOST_AXES
        and all(isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 1 << 48 for size in shape)
    )


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
        Codes(codes, arrays["dither_codes"], octaves_that_seem(codes, header["law"])),
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
    if np.isnan(bounds).any():
        raise FileError("Expected bounds that are numbers, got NaN.")
    sketch = Sketch(operator, arrays["sum"], header["count"], header["saturated"], bounds, header["skipped"])
    sketch = _apply(sketch, header.get("extensions", []), arrays)
    sketch.require_consistent()
    return sketch


def _apply(sketch: Sketch, described: list[dict[str, Any]], arrays: Mapping[Any, Array]) -> Sketch:
    """Return a sketch with what its file's extensions say; those that are not known, and need not be, are left out."""
    for each in described:
        name, facts = each["name"], each["facts"]
        if name == "column_sums":
            try:
                sums = ColumnSums(arrays[name, "codes"], arrays[name, "squares"])
            except KeyError as error:
                raise FileError("Expected codes and squares of the column sums.") from error
            if sums.codes.dtype != np.int64 or sums.squares.dtype != np.int64:
                raise FileError("Expected column sums of int64.")
            sketch = replace(sketch, column_sums=sums)
        elif name == "ledger":
            sketch = replace(sketch, ledger=Ledger.from_facts(facts))
        elif name == "ranges":
            try:
                ranges = arrays[name, "lower"], arrays[name, "upper"]
            except KeyError as error:
                raise FileError("Expected lower and upper of the ranges.") from error
            if any(bound.shape != (sketch.operator.n_features,) or bound.dtype != np.float64 for bound in ranges):
                raise FileError("Expected ranges of float64, one per feature.")
            sketch = replace(sketch, operator=replace(sketch.operator, ranges=ranges))
        elif name == "spending":
            if sketch.ledger is None:
                raise FileError("Expected what was spent after a ledger.")
            sketch = replace(sketch, ledger=sketch.ledger.with_spending(facts))
        elif name == "weighted":
            sketch = replace(sketch, weighted=sketch.count)  # how many were is not known
        elif each["required"]:
            raise FileError(f"The file needs to be read with its extension {name!r:.80}: a newer qckm may know it.")
    return sketch
