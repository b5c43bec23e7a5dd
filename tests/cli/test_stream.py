"""An endless pipe: snapshots while it runs, windows as differences of snapshots."""

import subprocess
import sys
import time

import qckm


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def rows_in(path):
    try:
        return qckm.load(path).count
    except (OSError, ValueError):
        return -1


def test_snapshots_of_a_pipe_that_goes_on(tmp_path):
    op = qckm.SketchOperator.draw(2, 20, scale=2.0, random_state=0, feature_names=["a", "b"])
    op.empty().save(tmp_path / "op.qckm")
    words = ["sketch", "-", "--operator", "op.qckm", "--every", "0.2s", "-o", "snap{number}.qckm"]
    run = subprocess.Popen([sys.executable, "-m", "qckm", *words, "-q"], stdin=subprocess.PIPE, cwd=tmp_path)
    run.stdin.write(b"a,b\n1,2\n3,4\n")
    run.stdin.flush()
    wait_for(lambda: any(rows_in(path) == 2 for path in tmp_path.glob("snap*.qckm")))
    early = next(path for path in sorted(tmp_path.glob("snap*.qckm")) if rows_in(path) == 2)
    run.stdin.write(b"5,6\n")
    run.stdin.close()
    assert run.wait(60) == 0
    last = max(tmp_path.glob("snap*.qckm"))
    window = qckm.load(last) - qckm.load(early)
    assert window == op.sketch([[5.0, 6.0]])
