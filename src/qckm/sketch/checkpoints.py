"""Checkpoints: a partial sum, which inputs and rows are in it, and what was asked for, in one file written atomically.

The bytes: a line that says what it is, the length of a JSON text in 8 bytes, the text, a .qckm file, SHA-256 of all.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qckm.common import atomic, foreign_files
from qckm.common.arrays import sha256
from qckm.errors import CheckpointError
from qckm.sketch import files
from qckm.sketch.sketch import State
from qckm.sources.source import Position, Stamp

MAGIC = foreign_files.CHECKPOINT + b"1\n"
_DIGEST = 32
_ENDING = ".checkpoint"
_NOTES = {"table": int, "row": int, "bytes_done": int, "inputs": list, "options": dict}
_STAMP = {"path": str, "size": int, "mtime_ns": int}


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A state, the inputs as they were, and the options of the run."""

    state: State
    stamps: tuple[Stamp, ...]
    options: dict[str, Any]


def path_of(output: str) -> str:
    """Return where the checkpoint of an output lies: beside it."""
    return output + _ENDING


def dumps(checkpoint: Checkpoint) -> bytes:
    """Return the bytes of a checkpoint."""
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
    return body + sha256(body).digest()


def save(checkpoint: Checkpoint, path: str) -> None:
    """Write a checkpoint: at every moment the path holds the old one or the new one, whole.

    It tells as much as its output will: where that is there, as many may read it.
    """
    atomic.write_atomically(path, dumps(checkpoint), like=path.removesuffix(_ENDING))


def load(path: str) -> Checkpoint | None:
    """Read a checkpoint; None if there is none."""
    try:
        with open(path, "rb") as file:
            data = file.read(len(MAGIC))
            if data == MAGIC:  # of anything else no more is read, however long it is
                data += file.read()
    except FileNotFoundError:
        return None
    return loads(data, path)


def loads(data: bytes, label: str) -> Checkpoint:
    """Return the checkpoint of a file's bytes; errors say whose they are."""
    expected = "a checkpoint, got a file that is damaged or none"
    with foreign_files.reading(label, expected, CheckpointError, advice=". Remove it to start again."):
        body = data[:-_DIGEST]
        if not body.startswith(MAGIC) or sha256(body).digest() != data[-_DIGEST:]:
            raise CheckpointError("wrong first bytes or checksum")
        start = len(MAGIC) + 8
        length = int.from_bytes(body[len(MAGIC) : start], "little")
        if start + length > len(body):
            raise CheckpointError(f"notes of {length} bytes in a file of {len(data)}")
        notes = _checked(json.loads(body[start : start + length], object_pairs_hook=foreign_files.each_once), _NOTES)
        stamps = tuple(Stamp(**_checked(stamp, _STAMP)) for stamp in notes["inputs"])
        state = State(files.loads(body[start + length :]), Position(notes["table"], notes["row"]), notes["bytes_done"])
        return Checkpoint(state, stamps, notes["options"])


def _checked(notes: Any, kinds: dict[str, type]) -> dict[str, Any]:
    """Return notes that have the keys they should have, no more, and numbers that count something."""
    if not isinstance(notes, dict) or notes.keys() != kinds.keys():
        raise CheckpointError(f"expected the notes {', '.join(kinds)}, got {notes!r:.80}")
    for key, kind in kinds.items():
        value: Any = notes[key]
        counts = key != "mtime_ns"  # files may be older than 1970
        if type(value) is not kind or (isinstance(value, int) and counts and not 0 <= value < 2**63):
            raise CheckpointError(f"expected {key!r} to be {kind.__name__}, and no less than 0, got {value!r:.80}")
    return notes


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
            raise CheckpointError(f"Cannot resume: {name} was {before!r:.200}, now it is {now!r:.200}. {end}")
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
