"""Names of parts on the command line, files of equal content, and sketches whose operator is their own."""

import numpy as np
import pytest

import qckm


@pytest.fixture
def nights(folder, qckm_):
    qckm_("operator", "part0.parquet", "-k", 3, "--seed", 1, "-o", "op.qckm")
    for name, data in (("berlin", "part0.parquet"), ("paris", "part1.parquet")):
        words = ("--operator", "op.qckm", "--part", f"{name}/2026-11-16", "-o", f"{name}.qckm")
        assert qckm_("sketch", data, *words)[0] == 0


def test_the_same_part_is_not_merged_twice(nights, qckm_, facts):
    assert facts("merge", "berlin.qckm", "paris.qckm", "-o", "all.qckm")["parts"] == 2
    assert facts("info", "all.qckm")["parts"] == 2
    code, _, err = qckm_("merge", "all.qckm", "berlin.qckm", "-o", "all.qckm")
    assert code == 1
    assert "berlin.qckm: Cannot add sketches that have the part" in err
    assert "--no-parts" in err
    assert qckm.load("all.qckm").count == 3000
    assert "berlin/2026-11-16" in qckm.load("all.qckm").parts
    assert facts("merge", "all.qckm", "berlin.qckm", "--no-parts", "-o", "twice.qckm")["rows"] == 4500
    assert not qckm.load("twice.qckm").parts


def test_a_part_that_is_not_there_is_not_subtracted(nights, qckm_):
    qckm_("merge", "berlin.qckm", "paris.qckm", "-o", "all.qckm")
    assert qckm_("subtract", "all.qckm", "paris.qckm", "-o", "all.qckm")[0] == 0
    code, _, err = qckm_("subtract", "all.qckm", "paris.qckm", "-o", "all.qckm")
    assert code == 1
    assert "not in the sketch" in err


def test_snapshots_and_names_that_are_none_are_refused_before_anything_is_read(nights, qckm_):
    words = ("sketch", "part0.parquet", "--operator", "op.qckm", "-o", "out.qckm")
    assert "Snapshots are not parts" in qckm_(*words, "--part", "a", "--every", "60s")[2]
    code, _, err = qckm_(*words, "--part", "")
    assert code == 1
    assert "name of a part" in err


def test_files_without_names_of_equal_content_are_told(folder, qckm_):
    qckm_("sketch", "part0.parquet", "--scale", 1, "--frequencies", 20, "--seed", 1, "-o", "one.qckm")
    qckm_("sketch", "part0.parquet", "--operator", "one.qckm", "-o", "two.qckm")
    qckm_("sketch", "part1.parquet", "--operator", "one.qckm", "-o", "three.qckm")
    code, _, err = qckm_("merge", "one.qckm", "two.qckm", "three.qckm", "-o", "all.qckm")
    assert code == 0
    assert "one.qckm and two.qckm have the same content" in err
    assert "three" not in err
    assert "same content" in qckm_("merge", "one.qckm", "one.qckm", "-o", "all.qckm")[2]
    assert "same content" not in qckm_("subtract", "one.qckm", "two.qckm", "-o", "none.qckm")[2]
    assert "same content" not in qckm_("merge", "one.qckm", "none.qckm", "none.qckm", "-o", "all.qckm")[2]


def test_a_sketch_of_its_own_operator_is_told_to_merge_with_nothing(folder, qckm_):
    _, _, err = qckm_("sketch", "part0.parquet", "-k", 3, "-o", "my night.qckm")
    assert "merges only with sketches made with --operator 'my night.qckm'" in err
    assert "qckm operator" in err
    assert "merges" not in qckm_("sketch", "part1.parquet", "--operator", "my night.qckm", "-o", "two.qckm")[2]
    np.testing.assert_equal(qckm_("merge", "my night.qckm", "two.qckm", "-o", "all.qckm")[0], 0)
