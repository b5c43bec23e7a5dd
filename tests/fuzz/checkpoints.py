"""Checkpoints of runs: the notes and the sketch in them are changed, lengths and checksum redone."""

import hashlib
import json
import random
from pathlib import Path

import numpy as np

import qckm
from fuzz import sketch_files
from fuzz.mutations import mutate_bytes, mutate_json
from qckm.sketch import checkpoints
from qckm.sketch.checkpoints import MAGIC, Checkpoint
from qckm.sketch.sketch import State
from qckm.sources.source import Position, Stamp


def _examples() -> dict[str, bytes]:
    op = qckm.SketchOperator.draw(2, 5, scale=1.0, random_state=0, feature_names=["a", "b"])
    stamps = Stamp("/data/a.parquet", 1000, 5), Stamp("/data/b.parquet", 2000, -5)
    options = {"seed": 1, "columns": ["a", "b"], "on_bad": "skip", "scale": None}
    some = Checkpoint(State(op.sketch(np.eye(2)), Position(1, 2), 800), stamps, options)
    none = Checkpoint(State(op.empty(), Position(0, 0), 0), (), {})
    return {"some rows": checkpoints.dumps(some), "no rows": checkpoints.dumps(none)}


EXAMPLES = _examples()


def make(rng: random.Random) -> bytes:
    """Return a checkpoint in which something is other than it was."""
    data = rng.choice(list(EXAMPLES.values()))
    if rng.random() < 0.1:
        return mutate_bytes(data, rng)
    notes, sketch = _split(data)
    if rng.random() < 0.7:
        notes = mutate_json(notes, rng)
    if rng.random() < 0.4:
        sketch = sketch_files.make(rng)
    text = json.dumps(notes, sort_keys=True).encode()
    length = len(text) if rng.random() < 0.95 else rng.choice((0, 2**63, len(text) + 1, len(text) - 1))
    body = MAGIC + length.to_bytes(8, "little") + text + sketch
    return body + (hashlib.sha256(body).digest() if rng.random() < 0.95 else bytes(32))


def check(data: bytes, folder: Path) -> None:
    """Load; what loads is written as it was read."""
    again = checkpoints.dumps(checkpoints.loads(data, "the file"))
    assert _split(again)[0] == _split(data)[0]
    assert checkpoints.dumps(checkpoints.loads(again, "again")) == again


def _split(data: bytes) -> tuple[object, bytes]:
    start = len(MAGIC) + 8
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    return json.loads(data[start:end]), data[end:-32]
