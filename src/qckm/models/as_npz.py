"""A model as NumPy arrays in a zip file.

What a file says of its sizes is compared with the bytes that are there before anything of that size is made.
"""

from __future__ import annotations

import io
import math
import zipfile
from typing import Any

import numpy as np

from qckm.common.arrays import Array
from qckm.errors import FileError
from qckm.models.as_json import dump, notes_of, parse, require_sane
from qckm.models.model import Model

_NOTES = "notes_json"
_COVARIANCES, _MIXTURE_WEIGHTS = "covariances", "mixture_weights"
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def to_npz(model: Model) -> bytes:
    """Return the model as NumPy arrays."""
    out = io.BytesIO()
    notes = np.frombuffer(dump({"feature_names": model.feature_names, "facts": model.facts}), np.uint8)
    # Of a mixture, weights have another name: a reader that knows of no covariances must not take it for centroids.
    weights = "weights" if model.covariances is None else _MIXTURE_WEIGHTS
    arrays: dict[str, Any] = {
        "centers": model.centers,
        weights: model.weights,
        "spreads": model.spreads,
        "units": model.units,
    }
    if model.covariances is not None:
        arrays[_COVARIANCES] = model.covariances
    np.savez(out, **arrays, notes_json=notes)
    return out.getvalue()


def from_npz(data: bytes) -> Model:
    """Undo `to_npz`."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        there = archive.namelist()
        if len(set(there)) < len(there):
            raise FileError("expected each array once, got some twice")
        is_mixture = f"{_COVARIANCES}.npy" in there
        weights_name = _MIXTURE_WEIGHTS if is_mixture else "weights"
        names = ("centers", weights_name, "spreads", "units", *([_COVARIANCES] if is_mixture else []))
        members = {name: archive.getinfo(f"{name}.npy") for name in (*names, _NOTES)}
        require_sane(sum(member.file_size for member in members.values()), len(data))
        read = {name: _array(_content(archive, member)) for name, member in members.items()}
    for name in names:
        if read[name].dtype.kind not in "iuf":
            raise FileError(f"expected {name} to be numbers, got {read[name].dtype}")
    centers, weights, spreads, units, *more = (read[name].astype(np.float64) for name in names)
    notes = notes_of(parse(read[_NOTES].tobytes()))
    return Model(centers, weights, spreads, units, *notes, more[0] if more else None)


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return a file of the archive, and no more of it than was said: its length may be a lie."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError("expected arrays that are stored or deflated")
    with archive.open(member) as file:
        return file.read(member.file_size)


def _array(data: bytes) -> Array:
    """Return the array of a .npy file. NumPy's own reader makes an array of the size it reads about first."""
    file = io.BytesIO(data)
    read_header = _HEADERS.get(np.lib.format.read_magic(file))
    if read_header is None:
        raise FileError("expected arrays in version 1 or 2 of NumPy's format")
    shape, by_columns, dtype = read_header(file)
    if dtype.hasobject or any(length < 0 for length in shape):
        raise FileError(f"expected arrays of numbers, got {dtype} {shape}")
    rest = data[file.tell() :]
    if math.prod(shape) * dtype.itemsize != len(rest):
        raise FileError(f"expected {shape} numbers of type {dtype}, got {len(rest)} bytes")
    return np.frombuffer(rest, dtype).reshape(shape, order="F" if by_columns else "C")
