"""Whatever a model, a checkpoint or a sketch file holds (issue 14, number 19): it is read, or refused in our words."""

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qckm
from qckm.cli import run
from qckm.errors import CheckpointError, FileError
from qckm.models import FORMAT, Model, read_model, to_csv, to_json, to_npz, to_parquet
from qckm.sketch import checkpoints
from qckm.sketch.checkpoints import Checkpoint
from qckm.sketch.sketch import State
from qckm.sources.source import Position, Stamp

OPERATOR = qckm.SketchOperator.draw(2, 5, scale=1.0, random_state=0)
MODEL = Model(np.eye(2), np.full(2, 0.5), np.zeros(2), np.ones(2), ("a", "b"), {"rows": 3, "seconds": {"sketch": 1.0}})
CHECKPOINT = Checkpoint(State(OPERATOR.sketch(np.eye(2)), Position(0, 2), 8), (Stamp("/a", 1, 2),), {"seed": 1})
WRITTEN = {"json": to_json(MODEL), "csv": to_csv(MODEL), "parquet": to_parquet(MODEL), "npz": to_npz(MODEL)}
JSON = json.loads(WRITTEN["json"])

MANGLED = {
    "a name without end": b'cluster,weight,spread,"a' + b"x" * 200_000,
    "a cell beyond csv's limit": b"cluster,weight,spread," + b"x" * 200_000 + b"\n0,1,1,1\n",
    "too few cells": b"cluster,weight,spread,a\n0,1\n",
    "no cells": b"cluster,weight,spread\n0,1,1\n",
    "two rows of units": b"cluster,weight,spread,a\nunit,,,1\nunit,,,1\n0,1,1,1\n",
    "underscores": b"cluster,weight,spread,a\n0,1,1,1_0\n",
    "text": b"cluster,weight,spread,a\n0,1,1,nan\n",
    "no UTF-8": b"cluster,weight,spread,\xff\n0,1,1,1\n",
    "a number too large": b"cluster,weight,spread,a\n0,1,1,1e999\n",
    "a deep list": b"[" * 100_000,
    "a deep object": b'{"format": "qckm-model/1", "centers": ' + b"[" * 100_000,
    "a number without end": b'{"format": "qckm-model/1", "centers": [[' + b"9" * 5000 + b"]]}",
    "half a zip": WRITTEN["npz"][: len(WRITTEN["npz"]) // 2],
    "half a table": WRITTEN["parquet"][: len(WRITTEN["parquet"]) // 2],
    "no footer": b"PAR1" + b"\xff" * 100 + b"PAR1",
}


def json_with(**changes):
    return json.dumps({**JSON, **changes}).encode()


def npz_with(compression=zipfile.ZIP_STORED, **changes):
    """A model as .npz in which some members have other bytes, or are None: not there."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(WRITTEN["npz"])) as old, zipfile.ZipFile(out, "w", compression) as new:
        for name in old.namelist():
            data = changes.get(name.removesuffix(".npy"), old.read(name))
            if data is not None:
                new.writestr(name, data)
    return out.getvalue()


def damaged_deflate():
    data = bytearray(npz_with(zipfile.ZIP_DEFLATED))
    at = data.index(b"centers.npy") + 40
    data[at : at + 20] = b"\xff" * 20
    return bytes(data)


def parquet_of(columns, **notes):
    notes = {"units": [1.0], "feature_names": None, "facts": {}, **notes}
    table = pa.table(columns).replace_schema_metadata({FORMAT: json.dumps(notes)})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def npy(array):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


MANGLED |= {
    "no centers": json_with(centers=None),
    "centers as text": json_with(centers=[["1", "2"], ["3", "4"]]),
    "centers that are true": json_with(centers=[[True, False], [True, True]]),
    "uneven centers": json_with(centers=[[1, 2], [3]]),
    "centers as an object": json_with(centers={"a": 1}),
    "huge centers": json_with(centers=[[10**400, 1], [1, 1]]),
    "no weights": json.dumps({key: value for key, value in JSON.items() if key != "weights"}).encode(),
    "weights below 0": json_with(weights=[-1, 2]),
    "NaN": json_with(spreads=[float("nan"), 1]),
    "units of 0": json_with(units=[0, 1]),
    "names as text": json_with(feature_names="ab"),
    "numbers as names": json_with(feature_names=[1, 2]),
    "a name twice": json_with(feature_names=["a", "a"]),
    "facts as pairs": json_with(facts=[["rows", 1]]),
    "no facts": json_with(facts=None),
    "deep facts": json_with(facts={"a": json.loads("[" * 300 + "]" * 300)}),
    "one centroid": json_with(centers=[1, 2]),
    "none": json_with(centers=[], weights=[], spreads=[]),
    "no arrays": npz_with(centers=None),
    "no notes": npz_with(notes_json=None),
    "notes of something": npz_with(notes_json=npy(np.arange(9, dtype=np.uint8))),
    "objects": npz_with(centers=npy(np.array([1, "a"], object))),
    "a huge shape": npz_with(centers=npy(np.zeros((2, 2))).replace(b"(2, 2), }      ", b"(2, 99999999), }")),
    "no array": npz_with(centers=b"\x93NUMPY"),
    "another version": npz_with(centers=b"\x93NUMPY\x09\x00" + bytes(100)),
    "complex": npz_with(centers=npy(np.eye(2) * 1j)),
    "another compression": npz_with(zipfile.ZIP_BZIP2),
    "a damaged deflate": damaged_deflate(),
    "columns of text": parquet_of({"cluster": ["0"], "weight": ["1"], "spread": ["1"], "a": ["1"]}),
    "too few columns": parquet_of({"cluster": [0], "weight": [1.0], "spread": [1.0]}),
    "lists": parquet_of({"cluster": [0], "weight": [1.0], "spread": [1.0], "a": [[1.0, 2.0]]}),
    "nulls": parquet_of({"cluster": [0], "weight": [1.0], "spread": [1.0], "a": pa.array([None], pa.float64())}),
    "times": parquet_of({"cluster": [0], "weight": [1.0], "spread": [1.0], "a": pa.array([0], pa.timestamp("s"))}),
    "other clusters": parquet_of({"cluster": [7], "weight": [1.0], "spread": [1.0], "a": [1.0]}),
    "notes that are a list": parquet_of({"cluster": [0], "weight": [1.0], "spread": [1.0], "a": [1.0]}, units=None),
}


@pytest.mark.parametrize("name", MANGLED)
def test_19_a_mangled_model_is_refused_by_its_name(name):
    with pytest.raises(FileError, match=r"^m\.x: expected a model file"):
        read_model(MANGLED[name], "m.x")


@pytest.mark.parametrize("name", MANGLED)
@pytest.mark.parametrize("verb", ["info", "report", "predict rows.csv -m"])
def test_19_verbs_say_so_in_a_sentence(name, verb, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("m.x").write_bytes(MANGLED[name])
    Path("rows.csv").write_text("a,b\n1,2\n")
    assert run([*verb.split(), "m.x"]) == 1
    out, err = capfd.readouterr()
    assert err.startswith("qckm: m.x: expected a model file")
    assert len(err) < 500
    assert "a fault of qckm" not in err
    assert not out


@pytest.mark.parametrize("ending", WRITTEN)
@settings(max_examples=300)
@given(data=st.data())
def test_19_any_change_of_a_model_is_a_model_or_refused(ending, data):
    content = bytearray(WRITTEN[ending])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            content[at] = data.draw(st.integers(0, 255))
        else:
            content[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    try:
        model = read_model(bytes(content), "x")
    except FileError:
        return
    assert np.isfinite(model.centers).all()
    assert model.weights.shape == (len(model.centers),)


# --- checkpoints ---


def checkpoint_with(text=None, **changes):
    """A checkpoint whose notes are others, with a right checksum."""
    data = checkpoints.dumps(CHECKPOINT)
    start = len(checkpoints.MAGIC) + 8
    end = start + int.from_bytes(data[start - 8 : start], "little")
    notes = json.dumps({**json.loads(data[start:end]), **changes}).encode() if text is None else text
    body = checkpoints.MAGIC + len(notes).to_bytes(8, "little") + notes + data[end:-32]
    return body + hashlib.sha256(body).digest()


SKETCH = ["sketch", "rows.csv", "--scale", "1", "--frequencies", "5", "-o", "o.qckm"]
STAMP = {"path": "/a", "size": 1, "mtime_ns": 2}
BAD_CHECKPOINTS = {
    "rows as text": checkpoint_with(row="2"),
    "rows below 0": checkpoint_with(row=-1),
    "half rows": checkpoint_with(row=1.5),
    "true rows": checkpoint_with(row=True),
    "rows beyond all": checkpoint_with(row=2**63),
    "a table that is null": checkpoint_with(table=None),
    "bytes below 0": checkpoint_with(bytes_done=-1),
    "inputs that are none": checkpoint_with(inputs={}),
    "inputs as text": checkpoint_with(inputs=["/a"]),
    "an input without a size": checkpoint_with(inputs=[{"path": "/a", "mtime_ns": 2}]),
    "an input with more": checkpoint_with(inputs=[{**STAMP, "more": 1}]),
    "a path that is a number": checkpoint_with(inputs=[{**STAMP, "path": 1}]),
    "options that are none": checkpoint_with(options=[]),
    "more": checkpoint_with(more=1),
    "a list": checkpoint_with(b"[]"),
    "nothing": checkpoint_with(b""),
    "deep": checkpoint_with(b"[" * 100_000),
    "no UTF-8": checkpoint_with(b"\xff\xfe\xfd"),
    "a number without end": checkpoint_with(b"9" * 5000),
    "notes beyond the end": checkpoints.MAGIC + b"\xff" * 8,
    "no sketch": checkpoints.MAGIC + bytes(8),
}
for name in ("notes beyond the end", "no sketch"):
    BAD_CHECKPOINTS[name] += hashlib.sha256(BAD_CHECKPOINTS[name]).digest()


@pytest.mark.parametrize("name", BAD_CHECKPOINTS)
def test_19_a_checkpoint_of_anything_else_is_refused(name, tmp_path, monkeypatch, capfd):
    with pytest.raises(CheckpointError, match=r"^c: expected a checkpoint.*Remove it to start again"):
        checkpoints.loads(BAD_CHECKPOINTS[name], "c")
    monkeypatch.chdir(tmp_path)
    Path("o.qckm.checkpoint").write_bytes(BAD_CHECKPOINTS[name])
    Path("rows.csv").write_text("a,b\n1,2\n")
    assert run(["info", "o.qckm.checkpoint"]) == 1
    assert run([*SKETCH, "--resume"]) == 1
    err = capfd.readouterr().err
    assert err.count("expected a checkpoint") == 2
    assert "a fault of qckm" not in err
    assert not os.path.exists("o.qckm")


def test_19_a_checkpoint_behind_all_inputs_is_refused(tmp_path, monkeypatch, capfd):
    """It would be taken for a sum that is complete."""
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("a,b\n1,2\n3,4\n")
    assert run(SKETCH) == 0
    from qckm.cli.data_to_sketch import SketchTask, _options
    from qckm.cli.options import Reading
    from qckm.planning.plan import Plan

    plan = Plan(scale=1.0, n_frequencies=5)
    task = SketchTask(("rows.csv",), Reading(), plan, output="o.qckm", resume=True)
    state = State(qckm.load("o.qckm").operator.empty(), Position(1, 0))
    checkpoints.save(Checkpoint(state, (Stamp.of("rows.csv"),), _options(task, None)), "o.qckm.checkpoint")
    assert run([*SKETCH, "--resume"]) == 1
    assert "expected a place within the inputs" in capfd.readouterr().err
    assert qckm.load("o.qckm").count == 2


# --- one kind of file for another ---


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    OPERATOR.sketch(np.eye(2)).save("s.qckm")
    for ending, data in WRITTEN.items():
        Path(f"m.{ending}").write_bytes(data)
    Path("c.checkpoint").write_bytes(checkpoints.dumps(CHECKPOINT))
    Path("rows.csv").write_text("a,b\n1,2\n")
    pq.write_table(pa.table({"a": [1.0], "b": [2.0]}), "rows.parquet")


@pytest.mark.parametrize(
    "words, said",
    [
        ("predict rows.csv -m s.qckm", "s.qckm: expected a model file: got a sketch: decode it first"),
        ("report s.qckm", "`qckm decode s.qckm -k 10 -o model.json` makes a model of it"),
        ("predict rows.csv -m c.checkpoint", "got a checkpoint of a run that is not done"),
        ("predict rows.csv -m rows.parquet", "got a Parquet file of something else"),
        ("predict rows.csv -m rows.csv", "rows.csv: expected a model file: got text"),
        ("decode m.json -k 1", "m.json: Expected a sketch file, got a model"),
        ("decode m.csv -k 1", "m.csv: Expected a sketch file, got a model"),
        ("decode m.parquet -k 1", "m.parquet: Expected a sketch file, got a Parquet file"),
        ("decode m.npz -k 1", "m.npz: Expected a sketch file, got a model"),
        ("merge s.qckm m.json", "m.json: Expected a sketch file, got a model"),
        ("sketch rows.csv --operator m.json -o o.qckm", "m.json: Expected a sketch file, got a model"),
        ("decode c.checkpoint -k 1", "c.checkpoint: Expected a sketch file, got a checkpoint"),
    ],
)
def test_19_one_kind_of_file_for_another_is_called_by_its_name(folder, words, said, capfd):
    assert run(words.split()) == 1
    assert said in capfd.readouterr().err


def test_19_of_what_is_no_file_of_ours_little_is_read():
    """A device without end, or a terabyte of data, given for a model or a sketch."""
    for read in (qckm.load_model, qckm.load, checkpoints.load):
        with pytest.raises(qckm.errors.QckmError):
            read("/dev/zero")
    with open("/dev/zero", "rb") as zeros:
        words = [sys.executable, "-m", "qckm", "info", "-"]
        done = subprocess.run(words, stdin=zeros, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr.startswith("qckm: standard input: expected a model file")
