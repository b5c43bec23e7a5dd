"""Model files, JSON, CSV, Parquet and .npz: numbers, names, notes, members and footers are changed."""

import io
import json
import random
import zipfile
from pathlib import Path

import numpy as np

from fuzz import parquet_files
from fuzz.mutations import mutate_bytes, mutate_json
from qckm.errors import FileError
from qckm.models import Model, read_model, to_csv, to_json, to_npz, to_parquet

WRITERS = {"json": to_json, "csv": to_csv, "parquet": to_parquet, "npz": to_npz}
_RNG = np.random.default_rng(0)
MODELS = {
    "plain": Model(_RNG.normal(size=(3, 2)), np.full(3, 1 / 3), np.zeros(3), np.ones(2)),
    "named": Model(
        _RNG.normal(size=(2, 3)) * 1e6,
        np.array([0.25, 0.75]),
        np.array([1.0, 2.0]),
        np.array([1.0, 2.0, 0.5]),
        ("a", "weight", "=1+1"),
        {"rows": 3, "seconds": {"sketch": 1.0}, "decoder": "matched"},
    ),
    "one": Model(np.zeros((1, 1)), np.ones(1), np.zeros(1), np.ones(1), ('"',)),
}
EXAMPLES = {f"{name} {ending}": write(model) for name, model in MODELS.items() for ending, write in WRITERS.items()}
# A table of standardised columns is no model; older files have their units above the clusters.
EXAMPLES["named csv"] = (
    EXAMPLES["named csv"].replace(b"spread in units", b"spread").replace(b"\n0,", b"\nunit,,,1.0,2.0,0.5\n0,")
)
_CELLS = (
    "",
    "0",
    "1",
    "-1",
    "1e999",
    "nan",
    "inf",
    "1_0",
    '"',
    '""',
    '"a\nb"',
    "unit",
    "é",
    "1e-320",
    "\x00",
    " 1",
    "0x1",
)


def make(rng: random.Random) -> bytes:
    """Return a model file in which something is other than it was."""
    name = rng.choice(list(EXAMPLES))
    data = EXAMPLES[name]
    if rng.random() < 0.2:
        return mutate_bytes(data, rng)
    return {"json": _json, "csv": _csv, "npz": _npz, "parquet": parquet_files.mutate}[name.split()[1]](data, rng)


def check(data: bytes, folder: Path) -> None:
    """Read; what is read comes back from every format that can hold it."""
    model = read_model(data, "the file")
    for ending, write in WRITERS.items():
        try:
            written = write(model)
        except FileError:
            assert ending == "csv", "only CSV has limits of its own"  # on the length of names
            continue
        if ending == "csv" and (model.units != 1).any():
            continue  # a table, without the units
        again = read_model(written, "again")
        for array in ("centers", "weights", "spreads", "units"):
            np.testing.assert_array_equal(getattr(again, array), getattr(model, array))
        assert again.feature_names == model.feature_names
        if ending != "csv":
            assert write(again) == written


def _json(data: bytes, rng: random.Random) -> bytes:
    tree = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        tree = mutate_json(tree, rng)
    return json.dumps(tree).encode()


def _csv(data: bytes, rng: random.Random) -> bytes:
    lines = [line.split(",") for line in data.decode().split("\n")]
    for _ in range(rng.choice((1, 1, 2, 3))):
        line = rng.choice(lines)
        place = rng.randrange(len(line))
        kind = rng.random()
        if kind < 0.6:
            line[place] = rng.choice(_CELLS)
        elif kind < 0.8:
            line.insert(place, rng.choice(_CELLS))
        else:
            lines.insert(rng.randrange(len(lines)), list(line))
    return rng.choice(("\n", "\n", "\r\n")).join(",".join(line) for line in lines).encode()


def _npz(data: bytes, rng: random.Random) -> bytes:
    """Change a member of the archive, which is then packed anew; or the archive's own records."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(members))
    if name == "notes_json.npy" and rng.random() < 0.7:
        notes = mutate_json(json.loads(np.load(io.BytesIO(members[name])).tobytes()), rng)
        out = io.BytesIO()
        np.save(out, np.frombuffer(json.dumps(notes).encode(), np.uint8))
        members[name] = out.getvalue()
    elif rng.random() < 0.2:
        del members[name]
    else:
        members[name] = mutate_bytes(members[name], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    directory = out.getvalue().rindex(b"PK\x01\x02")
    return out.getvalue() if rng.random() < 0.8 else mutate_bytes(out.getvalue(), rng, directory)
