"""Checkpoints: a partial sum, which inputs and rows are in it, and what was asked for, in one file written atomically.

The bytes: a line that says what it is, the length of a JSON text in 8 bytes, the text, a .qckm file, SHA-256 of all.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qckm import files
from qckm.errors import CheckpointError, QckmError
from qckm.runs import State
from qckm.sources import Position, Stamp

MAGIC = b"qckm checkpoint 1\n"
_DIGEST = 32


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A state, the inputs as they were, and the options of the run."""

    state: State
    stamps: tuple[Stamp, ...]
    options: dict[str, Any]


def path_of(output: str) -> str:
    """Return where the checkpoint of an output lies: beside it."""
    return f"{output}.checkpoint"


def save(checkpoint: Checkpoint, path: str) -> None:
    """Write a checkpoint: at every moment the path holds the old one or the new one, whole."""
    state = checkpoint.state
    notes = {
        "table": state.position.table,
        "row": state.position.row,
        "bytes_done": state.bytes_done,
        "inputs": [asdict(stamp) for stamp in checkpoint.stamps],
        "options": checkpoint.options,
    }
    text = json.dumps(notes, sort_keys=True).encode()
    body = MAGIC + len(text).to_bytes(8, "little") + text + files.dumps(state.sketch)
    files.write_atomically(path, body + hashlib.sha256(body).digest())


def load(path: str) -> Checkpoint | None:
    """Read a checkpoint; None if there is none."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return None
    return loads(data, path)


def loads(data: bytes, label: str) -> Checkpoint:
    """Return the checkpoint of a file's bytes; errors say whose they are."""
    try:
        return _parse(data)
    except (QckmError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{label}: expected a checkpoint, got a file that is damaged or none ({error}). Remove it to start again."
        ) from error


def _parse(data: bytes) -> Checkpoint:
    body = data[:-_DIGEST]
    if not body.startswith(MAGIC) or hashlib.sha256(body).digest() != data[-_DIGEST:]:
        raise CheckpointError("wrong first bytes or checksum")
    start = len(MAGIC) + 8
    length = int.from_bytes(body[len(MAGIC) : start], "little")
    notes = json.loads(body[start : start + length])
    sketch = files.loads(body[start + length :])
    state = State(sketch, Position(notes["table"], notes["row"]), notes["bytes_done"])
    return Checkpoint(state, tuple(Stamp(**stamp) for stamp in notes["inputs"]), notes["options"])


def remove(path: str) -> None:
    """Remove a checkpoint, if there is one: its output is written."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def require_same(checkpoint: Checkpoint, stamps: Sequence[Stamp], options: dict[str, Any], path: str) -> None:
    """Refuse to continue with other inputs or options than those the checkpoint was made with."""
    end = f"Undo that, or remove {path} to start again."
    for name in sorted(checkpoint.options.keys() | options.keys()):
        before, now = checkpoint.options.get(name), options.get(name)
        if before != now:
            raise CheckpointError(f"Cannot resume: {name} was {before!r}, now it is {now!r}. {end}")
    old, new = ({stamp.path: stamp for stamp in some} for some in (checkpoint.stamps, stamps))
    for name in old.keys() - new.keys():
        raise CheckpointError(f"Cannot resume: the input {name} has vanished. {end}")
    for name in new.keys() - old.keys():
        raise CheckpointError(f"Cannot resume: the input {name} was not there before. {end}")
    for name, stamp in old.items():
        if new[name] != stamp:
            raise CheckpointError(f"Cannot resume: the input {name} has changed since. {end}")
    if list(old) != list(new):
        raise CheckpointError(f"Cannot resume: the inputs are in another order. {end}")
