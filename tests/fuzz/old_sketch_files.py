"""`.qckm` files of versions 1 and 2: header and arrays are changed, and sizes, fingerprint and checksum redone."""

import hashlib
import json
import random
import struct
from pathlib import Path

import numpy as np

from fuzz.mutations import mutate_bytes, mutate_json
from fuzz.sketch_files import GOLDEN, require_sound
from qckm.operator import signatures
from qckm.sketch import files
from qckm.sketch.files import MAGIC
from qckm.sketch.old_files import PREAMBLE, layout

ODD_FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    3.0,
    2.0**-1074,
    2.0**-500,
    2.0**500,
    1e300,
    np.inf,
    -np.inf,
    np.nan,
    32767.0,
    2.0**63,
)
ODD_INTEGERS = (0, 1, -1, 32767, -32768, 2**15, 2**24 - 1, 2**24, 2**31 - 1, -(2**31), 2**62, -(2**63), 2**63 - 1)


EXAMPLES = {path.stem: path.read_bytes() for path in sorted(GOLDEN.glob("v[12]-*.qckm"))}


@np.errstate(all="ignore")
def make(rng: random.Random) -> bytes:
    """Return a file in which something is other than it was."""
    data = rng.choice(list(EXAMPLES.values()))
    if rng.random() < 0.1:
        return mutate_bytes(data, rng)
    header, payload = split(data)
    if rng.random() < 0.5:
        changed = mutate_json(header, rng)
        if rng.random() < 0.5:
            payload = _resized(changed, payload)
        header = changed
    if rng.random() < 0.7:
        payload = _with_odd_values(header, payload, rng)
    return joined(header, payload, rng)


def check(data: bytes, folder: Path) -> None:
    """Load; what loads is what the file says, and sound."""
    sketch = files.loads(data)
    header, payload = split(data)
    arrays = _arrays(header, payload)
    assert (sketch.count, sketch.saturated, sketch.skipped) == tuple(
        header[name] for name in ("count", "saturated", "skipped")
    )
    assert sketch.total.tobytes() == arrays["sum"].tobytes()
    assert sketch.operator.fingerprint == header["fingerprint"]
    require_sound(sketch)


def split(data: bytes) -> tuple[object, bytes]:
    """Return the header and the payload of a valid file."""
    length = PREAMBLE.unpack_from(data)[2]
    return json.loads(data[PREAMBLE.size : PREAMBLE.size + length]), data[PREAMBLE.size + length : -32]


def joined(header: object, payload: bytes, rng: random.Random) -> bytes:
    """Return a file of a header and a payload; fingerprint and checksum are mostly right."""
    if rng.random() < 0.9 and isinstance(header, dict) and "fingerprint" in header:
        header = {**header, "fingerprint": _fingerprint(header, payload) or header["fingerprint"]}
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    length = len(text) if rng.random() < 0.98 else rng.choice((0, 2**22, 2**32 - 1, len(text) + 1))
    usual = 2 if isinstance(header, dict) and "extensions" in header else 1
    version = usual if rng.random() < 0.98 else rng.choice((0, 1, 2, 3, 2**31))
    body = struct.pack("<8sII", MAGIC, version, length) + text + payload
    return body + (hashlib.sha256(body).digest() if rng.random() < 0.95 else bytes(32))


def _arrays(header: object, payload: bytes) -> dict[str, np.ndarray] | None:
    """Return the arrays of a payload, or None where the header makes no sense of it."""
    try:
        found, at = {}, 0
        for name, kind, shape in layout(header):
            size = int(np.prod(shape, dtype=float))
            if not 0 <= size * np.dtype(kind).itemsize <= len(payload) - at:
                return None
            found[name] = np.frombuffer(payload, kind, size, at).copy()
            at += found[name].nbytes
        return found
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, DeprecationWarning):
        return None


def _resized(header: object, payload: bytes) -> bytes:
    """Return a payload of the size that a header asks for, if that is little."""
    try:
        size = sum(np.dtype(kind).itemsize * int(np.prod(shape)) for _, kind, shape in layout(header))
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, DeprecationWarning):
        return payload
    return (payload * (size // len(payload) + 1))[:size] if 0 < size < 1 << 16 else payload


def _with_odd_values(header: object, payload: bytes, rng: random.Random) -> bytes:
    arrays = _arrays(header, payload)
    if arrays is None:
        return mutate_bytes(payload, rng)
    for _ in range(rng.choice((1, 1, 2, 4))):
        array = arrays[rng.choice(sorted(arrays, key=str))]
        if array.size:
            place = rng.randrange(array.size)
            odd = rng.choice(ODD_FLOATS if array.dtype.kind == "f" else ODD_INTEGERS)
            kind = rng.random()
            if kind < 0.4:
                array[place] = _fitting(odd, array.dtype)
            elif kind < 0.6:
                array[:] = _fitting(odd, array.dtype)
            elif kind < 0.8 and array.dtype.kind == "f":
                array[place] *= rng.choice((2.0, 0.5, -1.0, 1 + 2**-52))
            else:
                array[place] += _fitting(rng.choice((1, 2)), array.dtype)
    return b"".join(array.tobytes() for array in arrays.values())


def _fitting(number: float, dtype: np.dtype) -> np.generic:
    """Return a number of a type, wrapped if need be."""
    if dtype.kind == "f":
        return dtype.type(number)
    return np.array(number % 2**64, np.uint64).astype(dtype)[()]


def _fingerprint(header: dict, payload: bytes) -> str | None:
    """Return the fingerprint of an operator, by docs/file-format.md and not by the library."""
    arrays = _arrays(header, payload)
    if arrays is None:
        return None
    try:
        table = arrays["table"] if header["table"] else signatures.get(header["signature"]).table
    except (KeyError, TypeError, ValueError):
        return None
    full = 1 if np.abs(table.astype(int)).max() == 1 else 32767
    words = (header.get("arithmetic"), header["n_features"], header["n_frequencies"], header.get("dither"), full)
    names = ["signs", "factors", "radii"] if "signs" in arrays else ["frequency_codes"]
    parts = [arrays[name] for name in (*names, "dither_codes", "steps")]
    digest = hashlib.sha256((" ".join(map(str, words)) + "\n").encode("ascii", "replace"))
    for part in (*parts, arrays["origin"] + 0.0, table.astype("<i2")):
        digest.update(part.tobytes())
    return digest.hexdigest()
