import errno
import hashlib
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qckm
from checks import check_identical, operators, rows_for
from qckm.common import atomic
from qckm.common.arrays import integers_of
from qckm.errors import FileError
from qckm.sketch import files

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path[:0] = [str(GOLDEN), str(GOLDEN.parents[1] / "examples")]
import make_v1  # noqa: E402
import make_v3  # noqa: E402

import read_sketch  # noqa: E402


@pytest.fixture
def sketch(rng):
    op = qckm.SketchOperator.draw(n_features=3, n_frequencies=10, scale=1.0, random_state=0)
    return op.sketch(rng.normal(size=(20, 3)))


def sealed(body):
    return body + hashlib.sha256(body).digest()[:16]


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
    assert (back.operator.law, back.operator.scale) == ("integer-gaussian", 1.0)


@pytest.mark.parametrize("name", sorted(make_v3.sketches()))
def test_golden_files_of_version_3_are_read_and_written_alike(name):
    data = (GOLDEN / f"{name}.qckm").read_bytes()
    expected = make_v3.sketches()[name]
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
    with pytest.raises(FileError, match="damaged or cut short"):
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
        files.loads(sealed(files.START.pack(files.MAGIC, 3) + data))
    with pytest.raises(FileError):
        files.loads(sealed(files.START.pack(files.MAGIC, 3) + b"O" + bytes([min(len(data), 50)]) + data))


def test_the_error_names_the_file(tmp_path):
    (tmp_path / "notes.txt").write_text("not a sketch at all, but long enough")
    with pytest.raises(FileError, match=r"notes\.txt: .*got text"):
        qckm.load(tmp_path / "notes.txt")


def test_another_version_is_named(sketch):
    data = bytearray(files.dumps(sketch))
    data[8] = 4
    with pytest.raises(FileError, match="version 1 to 3, got 4"):
        files.loads(bytes(data))


def test_rows_left_out_are_kept_count_of(sketch):
    assert files.loads(files.dumps(replace(sketch, skipped=7))).skipped == 7


def test_an_endless_device_is_not_read_to_the_end():
    if not os.path.exists("/dev/zero"):
        pytest.skip("this system has no /dev/zero")
    with pytest.raises(FileError, match="got other bytes"):
        qckm.load("/dev/zero")


def test_files_of_one_operator_share_it_as_long_as_one_is_held(sketch):
    data, twice = files.dumps(sketch), files.dumps(sketch + sketch)
    first = files.loads(data)
    assert files.loads(twice).operator is first.operator
    named = replace(sketch, operator=replace(sketch.operator, feature_names=("a", "b", "c")))
    assert files.loads(files.dumps(named)).operator is not first.operator


def test_one_can_see_where_the_bytes_go(sketch):
    data = files.dumps(sketch)
    found = files.sizes(data)
    assert sum(found.values()) == len(data)
    assert found["recipe"] < 30
    whole = qckm.SketchOperator.draw(3, 10, scale=1.0, law="gaussian", random_state=0)
    assert files.sizes(files.dumps(whole.empty()))["frequencies"] == 1 + 2 * 3 * 10 + 3 * 10
    old = (GOLDEN / "v2-column-sums.qckm").read_bytes()
    assert sum(files.sizes(old).values()) == len(old)
    assert files.sizes(old)["frequency_codes"] == 20


@pytest.mark.parametrize("name", sorted(make_v3.sketches()))
def test_a_reader_that_knows_nothing_but_the_format_reads_the_golden_files(name):
    found, expected = read_sketch.read((GOLDEN / f"{name}.qckm").read_bytes()), make_v3.sketches()[name]
    assert found["sums"] == expected.total.tolist()
    assert (found["count"], found["saturated"], found["skipped"]) == (
        expected.count,
        expected.saturated,
        expected.skipped,
    )
    assert (found["n"], found["m"]) == (expected.operator.n_features, expected.operator.n_frequencies)
    assert expected.operator.fingerprint.startswith(found["fingerprint"])
    if expected.column_sums is not None:
        assert found["column_sums"] == integers_of(expected.column_sums.codes)
        assert found["column_squares"] == integers_of(expected.column_sums.squares)
        if expected.column_sums.products is not None:
            assert found["column_products"] == integers_of(expected.column_sums.products)
    assert found.get("parts", []) == list(expected.parts)
    if "bounds" in found:
        bounds = np.concatenate(files.loads(files.dumps(expected)).bounds).tolist()
        assert found["bounds"] == [None if np.isnan(bound) else bound for bound in bounds]


def test_an_operator_of_very_many_frequencies_is_read_without_rows():
    op = qckm.SketchOperator.draw(1, 700_000, scale=1.0, dither="paired", random_state=0)
    data = files.dumps(op.empty())
    assert files.loads(data).total.shape == (1_400_000,)
    assert files.sizes(data)["sums"] == 5
