"""The bytes of a .qckm file: what is written, and the order of the arrays in its payload (docs/file-format.md)."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from qckm.common import foreign_files
from qckm.common.arrays import Array
from qckm.common.digest import sha256
from qckm.errors import FileError
from qckm.kernels.reference import STRUCTURED_ARITHMETIC, TABLE_SIZE
from qckm.operator import signatures
from qckm.operator.signatures import Signature
from qckm.operator.structured import StructuredCodes, block_size
from qckm.sketch.extensions import extensions_of

if TYPE_CHECKING:
    from qckm.sketch.sketch import Sketch

MAGIC = foreign_files.SKETCH
# A file without extensions is of version 1, as it always was; one with any of version 2.
VERSION, EXTENDED = 1, 2
PREAMBLE = struct.Struct("<8sII")  # magic, version, length of the header
HEADER_LIMIT = 1 << 22  # room for the names of tens of thousands of columns


def dumps(sketch: Sketch) -> bytes:
    """Return the bytes of a sketch file; equal sketches with equal notes give equal bytes.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)
    >>> sketch = op.sketch(np.eye(2))
    >>> qckm.files.loads(dumps(sketch)) == sketch
    True
    """
    sketch.require_consistent()  # what is written can be read
    operator = sketch.operator
    built_in = _is_built_in(operator.signature)
    header: dict[str, Any] = {
        "arithmetic": operator.arithmetic,
        "count": sketch.count,
        "dither": operator.dither,
        "feature_names": None if operator.feature_names is None else list(operator.feature_names),
        "fingerprint": operator.fingerprint,
        "law": operator.law,
        "n_features": operator.n_features,
        "n_frequencies": operator.n_frequencies,
        "saturated": sketch.saturated,
        "scale": operator.scale,
        "signature": operator.signature.name,
        "skipped": sketch.skipped,
        "sum": sketch.total.dtype.name,
        "table": not built_in,
    }
    extensions = extensions_of(sketch)
    if extensions:
        header["extensions"] = [
            {"name": each.name, "required": each.required, "facts": each.facts, "arrays": each.described()}
            for each in extensions
        ]
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")
    if len(text) > HEADER_LIMIT:
        raise FileError(f"Expected feature names of less than {HEADER_LIMIT} bytes, got {len(text)}: shorten them.")
    arrays: dict[str | tuple[str, str], Array] = {
        **_frequency_arrays(operator.frequency_codes),
        "dither_codes": operator.dither_codes,
        "steps": operator.steps,
        "origin": operator.origin + 0.0,
        "units": operator.units,
        "table": operator.signature.table,
        "lower": sketch.bounds[0],
        "upper": sketch.bounds[1],
        "sum": sketch.total,
    }
    arrays |= {(each.name, name): array for each in extensions for name, array in each.arrays.items()}
    parts = [PREAMBLE.pack(MAGIC, EXTENDED if extensions else VERSION, len(text)), text]
    parts += [arrays[name].astype(kind).tobytes() for name, kind, _ in layout(header)]
    body = b"".join(parts)
    return body + sha256(body).digest()


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


def _frequency_arrays(codes: npt.NDArray[np.int16] | StructuredCodes) -> dict[str | tuple[str, str], Array]:
    if isinstance(codes, StructuredCodes):
        return {"signs": codes.packed_signs(), "factors": codes.factors, "radii": codes.radii}
    return {"frequency_codes": codes}


def _is_built_in(signature: Signature) -> bool:
    if signature.name not in signatures.SIGNATURES:
        return False
    known = signatures.get(signature.name)
    return known.full_scale == signature.full_scale and np.array_equal(known.table, signature.table)
