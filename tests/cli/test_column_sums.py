"""Sums of columns on the command line: in files, in `info`, or left out."""

import numpy as np
import pytest

import qckm


def test_info_tells_means_and_deviations_of_merged_files(folder, qckm_, facts):
    qckm_("sketch", "part0.parquet", "--scale", 1, "--frequencies", 20, "--seed", 1, "-o", "first.qckm")
    qckm_("sketch", "part1.parquet", "--operator", "first.qckm", "-o", "second.qckm")
    qckm_("merge", "first.qckm", "second.qckm", "-o", "all.qckm")
    found, rows = facts("info", "all.qckm"), np.load("rows.npy")
    step = qckm.load("all.qckm").operator.steps.max()
    assert found["mean"] == pytest.approx(rows.mean(axis=0), abs=step)
    assert found["standard deviation"] == pytest.approx(rows.std(axis=0), abs=step)


def test_they_can_be_left_out(folder, qckm_, facts):
    qckm_("sketch", "rows.csv", "--scale", 1, "--frequencies", 20, "--no-column-sums", "-o", "all.qckm")
    assert facts("info", "all.qckm")["mean"] is None
    assert qckm.load("all.qckm").column_sums is None
