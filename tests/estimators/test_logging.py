"""What the library does is logged as libraries do: nothing is printed unless a program asks for it."""

import logging
import subprocess
import sys

import numpy as np

import qckm


def test_a_fit_tells_its_steps_to_who_listens(caplog, tmp_path):
    rows = np.random.default_rng(0).normal(size=(500, 2)) + [[0, 0], [9, 9]] * 250
    np.save(tmp_path / "rows.npy", rows)
    with caplog.at_level(logging.INFO, logger="qckm"):
        qckm.CompressiveKMeans(2, random_state=0).fit(tmp_path / "rows.npy")
    said = [record.getMessage().split()[0] for record in caplog.records]
    assert said == ["operator:", "sketch", "decoded"]
    assert {record.name.split(".")[0] for record in caplog.records} == {"qckm"}


def test_nobody_is_told_who_does_not_listen():
    rows = "np.eye(20)[:, :2] + np.arange(20)[:, None]"
    code = f"import numpy as np, qckm; qckm.CompressiveKMeans(2, random_state=0).fit({rows})"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
