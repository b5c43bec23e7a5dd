"""Which format a model is in: by the name's ending when it is written, by the first bytes when it is read."""

from __future__ import annotations

import os
from collections.abc import Callable

from qckm.common import foreign_files
from qckm.errors import FileError, Topic
from qckm.models.as_csv import from_csv, to_csv
from qckm.models.as_json import from_json, to_json
from qckm.models.as_npz import from_npz, to_npz
from qckm.models.as_parquet import from_parquet, to_parquet
from qckm.models.model import WRITERS, Model

WRITERS.update({".json": to_json, ".csv": to_csv, ".parquet": to_parquet, ".npz": to_npz})
ENDINGS = tuple(WRITERS)
_READERS: dict[bytes, Callable[[bytes], Model]] = {
    b"PAR1": from_parquet,
    b"PK": from_npz,
    b"{": from_json,
    b"cluster": from_csv,
}
# What may stand before the first of them: white space, a byte order mark, the quote of a spreadsheet.
_BEFORE = b' \t\r\n\xef\xbb\xbf"'
# Files of ours that are taken for models: what to do with them.
_ADVICE: dict[str, tuple[str, Topic]] = {
    "a sketch": ("a sketch: decode it first, with qckm.decode", "sketch"),
    "a checkpoint": ("a checkpoint of a run that is not done: finish it first", "checkpoint"),
}


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file, whatever its name: the first bytes tell the format.

    Examples
    --------
    >>> import os, tempfile, numpy as np, qckm
    >>> model = Model(np.eye(2), np.array([0.5, 0.5]), np.zeros(2), np.ones(2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.csv")
    ...     model.save(path)
    ...     qckm.load_model(path).centers.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    with open(path, "rb") as file:
        data = file.read(foreign_files.START)
        if is_model(data):  # of anything else no more is read, however long: it may be data, or a device
            data += file.read()
    return read_model(data, os.fspath(path))


def read_model(data: bytes, label: str) -> Model:
    """Read a model from bytes."""
    read = _reader_for(data)
    with foreign_files.reading(label, "a model file"):
        kind = foreign_files.recognised(data[: foreign_files.START])
        if kind in foreign_files.OTHERS:  # a workbook is a zip archive, as .npz is
            raise FileError(f"got {kind}", "export", path=label, kind=kind)
        if read is None:
            found, about = _ADVICE.get(kind or "", (kind or "something else", "model"))
            raise FileError(f"got {found}", about)
        return read(data)


def is_model(start: bytes) -> bool:
    """Whether a file that starts so may be a model."""
    return _reader_for(start) is not None


def _reader_for(data: bytes) -> Callable[[bytes], Model] | None:
    start = data[: foreign_files.START].lstrip(_BEFORE)
    return next((reader for magic, reader in _READERS.items() if start.startswith(magic)), None)
