import errno
import hashlib
import json
import os
import struct
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qckm
from checks import check_identical, operators, rows_for
from qckm.common import atomic
from qckm.errors import FileError
from qckm.sketch import files

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))
import make_v1  # noqa: E402


@pytest.fixture
def sketch(rng):
    op = qckm.SketchOperator.draw(n_features=3, n_frequencies=10, scale=1.0, random_state=0)
    return op.sketch(rng.normal(size=(20, 3)))


def rewritten(data, **changes):
    """A file with another header and a right checksum: what only an adversary writes."""
    length = struct.unpack_from("<I", data, 12)[0]
    header = json.loads(data[16 : 16 + length])
    header.update(changes)
    header = {key: value for key, value in header.items() if value is not ...}
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    return sealed(data[:12] + struct.pack("<I", len(text)) + text + data[16 + length : -32])


def sealed(body):
    return body + hashlib.sha256(body).digest()


@given(st.data())
def test_round_trip_is_identity(data):
    operator = data.draw(operators())
    sketch = operator.sketch(data.draw(rows_for(operator)))
    check_identical(files.loads(files.dumps(sketch)), sketch)


def test_weights_and_signatures_of_ones_own_survive(rng):
    op = qckm.SketchOperator.draw(2, 5, scale=1.0, signature=make_v1.ramp, random_state=0)
    sketch = op.sketch(rng.normal(size=(9, 2)), rng.random(9))
    back = files.loads(files.dumps(sketch))
    check_identical(back, sketch)
    assert back.operator.signature.name == "custom"
    assert (back.operator.law, back.operator.scale) == ("gaussian", 1.0)


@pytest.mark.parametrize("name", sorted(make_v1.sketches()))
def test_golden_files_of_version_1_are_read_and_written_alike(name):
    data = (GOLDEN / f"{name}.qckm").read_bytes()
    expected = make_v1.sketches()[name]
    check_identical(qckm.load(GOLDEN / f"{name}.qckm"), expected)
    assert files.dumps(expected) == data


def test_equal_sketches_give_equal_bytes(sketch):
    assert files.dumps(sketch) == files.dumps(files.loads(files.dumps(sketch)))


def test_save_replaces_whole_files_only(sketch, tmp_path, monkeypatch):
    path = tmp_path / "day.qckm"
    sketch.save(path)
    before = path.read_bytes()

    def full_disk(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        (sketch + sketch).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["day.qckm"]


def test_save_keeps_links_and_the_usual_permissions(sketch, tmp_path):
    real, link = tmp_path / "real.qckm", tmp_path / "link.qckm"
    sketch.save(real)
    link.symlink_to(real)
    (sketch + sketch).save(str(link))
    assert link.is_symlink()
    assert qckm.load(real).count == 40
    umask = os.umask(0)
    os.umask(umask)
    assert real.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_device_is_written_to_not_replaced(sketch):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with pytest.raises(OSError, match="No space left"):
        sketch.save("/dev/full")
    assert atomic.is_device("/dev/full")


def test_save_says_when_there_is_no_such_folder(sketch, tmp_path):
    with pytest.raises(FileNotFoundError):
        sketch.save(tmp_path / "nowhere" / "x.qckm")


def test_every_truncation_is_refused(sketch):
    data = files.dumps(sketch)
    for length in range(len(data)):
        with pytest.raises(FileError):
            files.loads(data[:length])
    with pytest.raises(FileError, match="damaged or cut"):
        files.loads(data + b"\0")


def test_every_flipped_bit_is_refused(sketch):
    data = files.dumps(sketch)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << (position % 8)
        with pytest.raises(FileError):
            files.loads(bytes(damaged))


@given(st.binary(max_size=400))
def test_arbitrary_bytes_are_refused(data):
    with pytest.raises(FileError):
        files.loads(data)
    with pytest.raises(FileError):
        files.loads(sealed(files.MAGIC + struct.pack("<II", 1, min(len(data), 50)) + data))


def test_the_error_names_the_file(tmp_path):
    (tmp_path / "notes.txt").write_text("not a sketch at all, but long enough")
    with pytest.raises(FileError, match=r"notes\.txt: .*magic"):
        qckm.load(tmp_path / "notes.txt")


def test_another_version_is_named(sketch):
    data = bytearray(files.dumps(sketch))
    data[8] = 3
    with pytest.raises(FileError, match="version 1 or 2, got 3"):
        files.loads(bytes(data))


@pytest.mark.parametrize("length", [1 << 22, (1 << 22) + 1, 2**32 - 1])
def test_an_oversized_header_is_refused(length):
    with pytest.raises(FileError, match=r"cut short|at most"):
        files.loads(sealed(files.MAGIC + struct.pack("<II", 1, length) + b"{}"))


@pytest.mark.parametrize(
    "changes",
    [
        {"n_features": 2**40, "n_frequencies": 2**40},
        {"n_frequencies": 2**62},
        {"n_features": -3},
        {"n_features": 3.0},
        {"n_features": True},
        {"n_features": "3"},
        {"count": -1},
        {"count": 2**70},
        {"count": 1.5},
        {"count": 1},
        {"count": 0},
        {"count": None},
        {"saturated": 21},
        {"sum": "object"},
        {"sum": "float64"},
        {"dither": "triple"},
        {"dither": "single"},
        {"signature": "__import__"},
        {"signature": "triangle"},
        {"table": True},
        {"fingerprint": "0" * 64},
        {"arithmetic": "floats/7"},
        {"scale": "1"},
        {"scale": 2**53 + 1},
        {"law": {"name": "x"}},
        {"feature_names": ["a"]},
        {"feature_names": ["a", "a", "b"]},
        {"feature_names": [1, 2, 3]},
        {"skipped": -1},
    ],
)
def test_a_hostile_header_is_refused_even_with_a_right_checksum(sketch, changes):
    with pytest.raises(FileError):
        files.loads(rewritten(files.dumps(sketch), **changes))


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"n_features": 0}, "at least one feature and one frequency"),
        ({"n_frequencies": 0}, "at least one feature and one frequency"),
        ({"n_features": 2**48}, "at least one feature and one frequency"),
        ({"n_frequencies": 2**48}, "at least one feature and one frequency"),
        ({"count": -1}, "'count' in the header to be a finite number >= 0, got -1"),
        ({"count": 2**63}, "'count' in the header to be a finite number >= 0"),
        ({"count": 1.5}, "'count' in the header to be <class 'int'>, got 1.5"),
        ({"table": 1}, "'table' in the header to be <class 'bool'>, got 1"),
        ({"skipped": True}, "'skipped' in the header to be <class 'int'>, got True"),
        ({"scale": float("nan")}, "Expected a JSON header, got something else: NaN is no JSON"),
        ({"scale": float("inf")}, "Infinity is no JSON"),
        ({"scale": 2**53 + 1}, "'scale' in the header to be a number that float64 holds"),
        ({"dither": "triple"}, "a sum of int64 or float64 and a paired or single dither"),
        ({"sum": "int32"}, "a sum of int64 or float64 and a paired or single dither, got 'int32'"),
        ({"arithmetic": "floats/7"}, "got 'floats/7'"),
        ({"fingerprint": "0" * 64}, "fingerprint does not match its header"),
        ({"feature_names": ["a", "a", "b"]}, "checksum is right, but what it holds is not valid: Expected 3 different"),
        ({"saturated": 21}, "checksum is right, but what it holds is not valid: The sum, the count and the bounds"),
    ],
)
def test_a_hostile_header_is_refused_for_its_own_reason(sketch, changes, reason):
    with pytest.raises(FileError) as error:
        files.loads(rewritten(files.dumps(sketch), **changes))
    assert reason in str(error.value)


@pytest.mark.parametrize("key", ["scale", "feature_names", "law", "count"])
def test_a_header_without_one_of_its_notes_is_refused(sketch, key):
    data = files.dumps(sketch)
    with pytest.raises(FileError, match=f"'{key}' in the header .* got Ellipsis"):
        files.loads(rewritten(data, **{key: ...}))


def test_rows_left_out_are_kept_count_of(sketch):
    assert files.loads(files.dumps(replace(sketch, skipped=7))).skipped == 7


def test_hostile_json_is_refused():
    for text in (
        b"[" * 60_000,
        b'{"count": NaN}',
        b"[]",
        b"1" * 5000,
        b'{"n_features": ' + b"9" * 5000 + b"}",
        b"\xff",
    ):
        with pytest.raises(FileError):
            files.loads(sealed(files.MAGIC + struct.pack("<II", 1, len(text)) + text))


def test_a_hostile_header_allocates_nothing(sketch):
    data = rewritten(files.dumps(sketch), n_features=2**20, n_frequencies=2**20)
    tracemalloc.start()
    with pytest.raises(FileError, match="as the header says"):
        files.loads(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_hostile_arrays_are_refused(sketch):
    """Right sizes and checksum, wrong numbers: steps that are no powers of two, a dither of many turns, NaN bounds."""
    data = files.dumps(sketch)
    start = 16 + struct.unpack_from("<I", data, 12)[0]
    n, m = 3, 10
    offsets = {"dither": start + 2 * n * m, "steps": start + 2 * n * m + 4 * m}
    offsets["lower"] = offsets["steps"] + 16 * n
    for place, value in (
        ("dither", struct.pack("<i", -5)),
        ("steps", struct.pack("<d", 0.3)),
        ("lower", struct.pack("<d", np.nan)),
    ):
        body = bytearray(data[:-32])
        body[offsets[place] : offsets[place] + len(value)] = value
        with pytest.raises(FileError):
            files.loads(sealed(bytes(body)))


def test_an_endless_device_is_not_read_to_the_end():
    if not os.path.exists("/dev/zero"):
        pytest.skip("this system has no /dev/zero")
    with pytest.raises(FileError, match="magic"):
        qckm.load("/dev/zero")
