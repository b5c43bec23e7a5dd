""".npy and .npz files: header and values are changed, lengths and CRCs redone. NumPy itself is the oracle."""

import io
import random
import re
import zipfile
from pathlib import Path

import numpy as np

from fuzz.mutations import NUMBERS, mutate_bytes
from fuzz.reading import TEXT, check_rows, dice_of, is_text, require_same

_ROWS = np.random.default_rng(0).normal(size=(30, 3))
_PREFIX = 10  # magic, version, and the length of the header
_WORDS = (
    "True",
    "False",
    "'<f8'",
    "'>f4'",
    "'<i2'",
    "'|b1'",
    "'<u8'",
    "'<c16'",
    "'|O'",
    "'<M8[s]'",
    "'<f2'",
    "()",
    "(3,)",
)


def _npy(rows: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, rows)
    return out.getvalue()


def packed(content: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return out.getvalue()


_ARRAYS = {
    "rows": _ROWS,
    "columns": np.asfortranarray(_ROWS),
    "single": _ROWS.astype(">f4"),
    "integers": _ROWS.astype(np.int16),
    "huge integers": np.array([[2**63 - 1, 0], [2**53 + 1, -1]]),
    "booleans": _ROWS > 0,
    "none": _ROWS[:0],
    "not finite": np.array([[np.nan, np.inf], [1.0, 1e300]]),
}
_NPY = {name: _npy(array) for name, array in _ARRAYS.items()}
EXAMPLES = {**_NPY, **{f"{name}, packed": packed({"arr_0.npy": data}) for name, data in _NPY.items()}}
EXAMPLES["stored"] = packed({"arr_0.npy": _NPY["rows"]}, zipfile.ZIP_STORED)


def make(rng: random.Random) -> bytes:
    """Return an array in which something is other than it was, in an archive or not."""
    data = _NPY[rng.choice(sorted(_NPY))]
    kind = rng.random()
    if kind < 0.2:
        data = mutate_bytes(data, rng)
    elif kind < 0.9:
        data = _with_other_header(data, rng)
    if kind > 0.8:
        data = data[:100] + mutate_bytes(data[100:], rng)
    if rng.random() < 0.6:
        return data
    members = {"arr_0.npy": data} if rng.random() < 0.9 else {"a.npy": data, "b.npy": data}
    archive = packed(members, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)))
    return archive if rng.random() < 0.7 else mutate_bytes(archive, rng, 4)


def _with_other_header(data: bytes, rng: random.Random) -> bytes:
    """Change a number or a word of the header, whose length is then right again."""
    size = int.from_bytes(data[8:_PREFIX], "little")
    header = data[_PREFIX : _PREFIX + size].decode().rstrip()
    for _ in range(rng.choice((1, 1, 2))):
        places = list(re.finditer(r"\d+|True|False|'[<>|][^']*'|\(.*?\)|'\w+'", header))
        if places:
            place = rng.choice(places)
            number = str(rng.choice((*NUMBERS, *range(40))))
            word = number if place[0].isdigit() and rng.random() < 0.8 else rng.choice((*_WORDS, number, ""))
            header = header[: place.start()] + word + header[place.end() :]
    padded = header.encode() + b" " * (-(_PREFIX + len(header) + 1) % 64) + b"\n"
    version = b"\x01\x00" + len(padded).to_bytes(2, "little")
    if rng.random() < 0.2:
        version = rng.choice((b"\x02\x00", b"\x03\x00", b"\x01\x01")) + len(padded).to_bytes(4, "little")
    return data[:6] + version + padded + data[_PREFIX + size :]


def check(data: bytes, folder: Path) -> str | None:
    """Read; what loads is what NumPy loads."""
    path = folder / "rows.npy"
    path.write_bytes(data)
    source, rows = check_rows(path, dice_of(data))
    if is_text(source):
        return TEXT
    array = np.load(io.BytesIO(data), allow_pickle=False)
    if hasattr(array, "files"):
        array = array[array.files[0]]
    with np.errstate(all="ignore"):
        require_same(rows, array[:, [int(name) for name in source.selection.names]].astype(np.float64))
    return None
