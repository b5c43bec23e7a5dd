"""Files of version 2: what they hold, that old files stay as they were, and what is refused."""

import hashlib
import json
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

import qckm
from qckm.errors import FileError
from qckm.sketch import files

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))
import make_v2  # noqa: E402


@pytest.mark.parametrize("name", list(make_v2.sketches()))
def test_golden_files_of_version_2_are_read_and_written_alike(name):
    data, sketch = (GOLDEN / f"{name}.qckm").read_bytes(), make_v2.sketches()[name]
    loaded = files.loads(data)
    assert loaded == sketch
    assert (loaded.ledger, loaded.weighted) == (sketch.ledger, sketch.weighted)
    assert loaded.column_sums == sketch.column_sums
    assert np.array_equal(loaded.operator.ranges or (), sketch.operator.ranges or ())
    assert files.dumps(loaded) == data


def test_a_sketch_without_extensions_is_of_version_1():
    op = qckm.SketchOperator.draw(2, 5, scale=1.0, random_state=0)
    assert files.dumps(op.empty())[8] == 1
    assert files.dumps(op.sketch(np.eye(2)).without_column_sums())[8] == 1
    assert files.dumps(op.sketch(np.eye(2)))[8] == 2
    assert files.dumps(op.sketch(np.eye(2), [1, 2]))[8] == 2


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
