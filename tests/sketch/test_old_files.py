"""Files of versions 1 and 2: that they are read for ever, what is written of them, and what is refused."""

import hashlib
import json
import struct
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import qckm
from checks import check_identical
from qckm.errors import FileError, MergeError
from qckm.sketch import files

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))
import make_v1  # noqa: E402
import make_v2  # noqa: E402

PLAIN = (GOLDEN / "v1-one-bit.qckm").read_bytes()


@pytest.mark.parametrize("name", [*make_v1.sketches(), *make_v2.sketches()])
def test_golden_files_of_old_versions_are_read_and_written_as_version_3(name):
    sketch = {**make_v1.sketches(), **make_v2.sketches()}[name]
    loaded = qckm.load(GOLDEN / f"{name}.qckm")
    check_identical(loaded, sketch)
    assert loaded.ledger == sketch.ledger
    assert np.array_equal(loaded.operator.ranges or (), sketch.operator.ranges or ())
    assert files.dumps(loaded)[8] == 3
    check_identical(files.loads(files.dumps(loaded)), loaded)


@pytest.mark.parametrize("name", [*make_v1.sketches(), *make_v2.sketches()])
def test_golden_files_of_old_versions_merge_with_themselves_and_are_forgotten(name):
    one = qckm.load(GOLDEN / f"{name}.qckm")
    if one.private:
        with pytest.raises(MergeError, match="same rows"):
            one + one
        return
    both = one + one
    assert both.count == 2 * one.count
    assert both - one == one


def sealed(body):
    return body + hashlib.sha256(body).digest()


def rewritten(data, **changes):
    """A file with another header and a right checksum: what only an adversary writes."""
    length = struct.unpack_from("<I", data, 12)[0]
    header = json.loads(data[16 : 16 + length])
    header.update(changes)
    header = {key: value for key, value in header.items() if value is not ...}
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    return sealed(data[:12] + struct.pack("<I", len(text)) + text + data[16 + length : -32])


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
        {"n_features": 2.0},
        {"n_features": True},
        {"n_features": "2"},
        {"count": -1},
        {"count": 2**70},
        {"count": 1.5},
        {"count": 1},
        {"count": 0},
        {"count": None},
        {"saturated": 5},
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
        {"feature_names": ["a", "a"]},
        {"feature_names": [1, 2]},
        {"skipped": -1},
    ],
)
def test_a_hostile_header_is_refused_even_with_a_right_checksum(changes):
    with pytest.raises(FileError):
        files.loads(rewritten(PLAIN, **changes))


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
        ({"feature_names": ["a", "a"]}, "checksum is right, but what it holds is not valid: Expected 2 different"),
        ({"saturated": 5}, "checksum is right, but what it holds is not valid: The sum, the count and the bounds"),
    ],
)
def test_a_hostile_header_is_refused_for_its_own_reason(changes, reason):
    with pytest.raises(FileError) as error:
        files.loads(rewritten(PLAIN, **changes))
    assert reason in str(error.value)


@pytest.mark.parametrize("key", ["scale", "feature_names", "law", "count"])
def test_a_header_without_one_of_its_notes_is_refused(key):
    data = PLAIN
    with pytest.raises(FileError, match=f"'{key}' in the header .* got Ellipsis"):
        files.loads(rewritten(data, **{key: ...}))


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


def test_a_header_that_says_two_things_is_refused():
    length = struct.unpack_from("<I", PLAIN, 12)[0]
    text = PLAIN[16 : 16 + length].replace(b"{", b'{"count":7,', 1)
    with pytest.raises(FileError, match="a key is there twice: 'count'"):
        files.loads(sealed(PLAIN[:12] + struct.pack("<I", len(text)) + text + PLAIN[16 + length : -32]))


def test_a_hostile_header_allocates_nothing():
    data = rewritten(PLAIN, n_features=2**20, n_frequencies=2**20)
    tracemalloc.start()
    with pytest.raises(FileError, match="as the header says"):
        files.loads(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_hostile_arrays_are_refused():
    """Right sizes and checksum, wrong numbers: steps that are no powers of two, a dither of many turns, NaN bounds."""
    data = PLAIN
    start = 16 + struct.unpack_from("<I", data, 12)[0]
    n, m = 2, 5
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


def changed(data, change):
    """Return a file with another header, and a right checksum."""
    length = struct.unpack_from("<I", data, 12)[0]
    header = json.loads(data[16 : 16 + length])
    change(header["extensions"])
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    body = data[:12] + struct.pack("<I", len(text)) + text + data[16 + length : -32]
    return body + hashlib.sha256(body).digest()


def extension(name, required, arrays=()):
    return {"name": name, "required": required, "facts": {}, "arrays": list(arrays)}


def test_an_unknown_extension_is_left_out_unless_it_is_required():
    data = (GOLDEN / "v2-ranges.qckm").read_bytes()
    assert files.loads(changed(data, lambda found: found.append(extension("later", False)))).operator.ranges
    with pytest.raises(FileError, match="newer qckm"):
        files.loads(changed(data, lambda found: found.append(extension("later", True))))


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.clear(),
        lambda found: found.append("ledger"),
        lambda found: found.append(dict(found[0])),
        lambda found: found[0].pop("facts"),
        lambda found: found[0].update(required=1),
        lambda found: found[0]["facts"].update(rho=-1),
        lambda found: found[0]["facts"].update(rho=True),
        lambda found: found[0]["facts"].update(rho="much"),
        lambda found: found[0]["facts"].update(extra=1),
        lambda found: found[0]["facts"].update(releases="one"),
        lambda found: found[0]["facts"].update(releases=[]),
        lambda found: found[0]["facts"].update(mechanism="magic"),
        lambda found: found[1].update(arrays=[]),
        lambda found: found[1]["arrays"][0].__setitem__(1, "|O8"),
        lambda found: found[1]["arrays"][0].__setitem__(2, [1 << 60]),
        lambda found: found[1]["arrays"][0].__setitem__(2, [1 << 40]),
        lambda found: found[1]["arrays"][0].__setitem__(2, [-1]),
        lambda found: found[1]["arrays"][0].__setitem__(0, "upper"),
    ],
)
def test_a_forged_header_is_refused(change):
    with pytest.raises(FileError):
        files.loads(changed((GOLDEN / "v2-private.qckm").read_bytes(), change))


def test_a_private_sketch_has_no_notes_of_rows():
    data = bytearray((GOLDEN / "v2-private.qckm").read_bytes())
    at = data.index(b'"skipped":0')
    data[at : at + 11] = b'"skipped":3'
    body = bytes(data[:-32])
    with pytest.raises(FileError, match="private sketch"):
        files.loads(body + hashlib.sha256(body).digest())
