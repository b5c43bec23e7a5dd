"""Forgetting on the command line: what `subtract` leaves, `--no-bounds`, and files of older versions."""

from pathlib import Path

import numpy as np
import pytest

import qckm
from qckm.sketch import checkpoints, files

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def shops(folder, qckm_):
    """Berlin and Paris, whose values reach further, by one operator."""
    np.savetxt("paris.csv", 3 * np.load("rows.npy")[:500], header="a,b", comments="", delimiter=",")
    qckm_("operator", "part0.parquet", "-k", 3, "--seed", 1, "-o", "op.qckm")


def night(qckm_, name, data, *options):
    code, _, err = qckm_("sketch", data, "--operator", "op.qckm", *options, "-o", f"{name}.qckm")
    assert code == 0, err


def test_what_is_left_knows_no_bounds_that_paris_may_have_set(shops, qckm_, facts):
    night(qckm_, "berlin", "part0.parquet")
    night(qckm_, "paris", "paris.csv")
    qckm_("merge", "berlin.qckm", "paris.qckm", "-o", "all.qckm")
    assert facts("info", "all.qckm")["greatest"] == pytest.approx((3 * np.load("rows.npy")[:500]).max(axis=0))
    qckm_("subtract", "all.qckm", "paris.qckm", "-o", "left.qckm")
    left = facts("info", "left.qckm")
    assert left["least"] is left["greatest"] is None
    assert left["rows"] == 1500
    assert qckm.load("left.qckm") == qckm.load("berlin.qckm")
    code, _, err = qckm_("decode", "left.qckm", "-k", 3, "--seed", 0, "-o", "model.json")
    assert code == 0, err


def test_without_bounds_berlin_and_paris_less_paris_is_berlin_to_the_byte(shops, qckm_, facts):
    night(qckm_, "berlin", "part0.parquet", "--no-bounds")
    night(qckm_, "paris", "paris.csv", "--no-bounds")
    qckm_("merge", "berlin.qckm", "paris.qckm", "-o", "all.qckm")
    qckm_("subtract", "all.qckm", "paris.qckm", "-o", "left.qckm")
    assert Path("left.qckm").read_bytes() == Path("berlin.qckm").read_bytes()
    assert "bounds" not in facts("info", "berlin.qckm")["bytes for"]


def test_a_checkpoint_without_bounds_has_none_either(shops, qckm_, monkeypatch):
    saved, save = [], checkpoints.save
    monkeypatch.setattr(
        checkpoints, "save", lambda found, path: (saved.append(checkpoints.dumps(found)), save(found, path))
    )
    night(qckm_, "all", "part*.parquet", "--no-bounds", "--no-column-sums", "--checkpoint-every", "0.000001s")
    assert saved
    for data in saved:
        sketch = checkpoints.loads(data, "it").state.sketch
        assert np.isnan(sketch.bounds).all() or not sketch.count
        assert sketch.column_sums is None


def test_the_bytes_of_a_file_are_told(shops, qckm_, facts):
    night(qckm_, "berlin", "part0.parquet")
    found = facts("info", "berlin.qckm")
    assert found["version"] == 3
    assert sum(found["bytes for"].values()) == found["bytes"] == Path("berlin.qckm").stat().st_size
    words = qckm_("info", "berlin.qckm")[1].decode()
    assert "bytes for" in words
    assert f"sums {found['bytes for']['sums']}" in words


def test_a_file_of_an_older_version_is_merged_and_what_is_written_is_told(folder, qckm_):
    (folder / "old.qckm").write_bytes((GOLDEN / "v2-column-sums.qckm").read_bytes())
    code, _, err = qckm_("merge", "old.qckm", "old.qckm", "-o", "new.qckm")
    assert code == 0
    assert "old.qckm is of an older file version; new.qckm is of version 3, which older qckm cannot read" in err
    assert files.version_of((folder / "new.qckm").read_bytes()) == 3
    assert "older" not in qckm_("merge", "new.qckm", "-o", "newer.qckm")[2]
