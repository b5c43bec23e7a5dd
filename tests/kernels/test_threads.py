"""Threads: how many, who stops them, and what a fork does to them."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import qckm
from qckm.kernels.threads import count_threads, one_thread, share


@pytest.fixture
def cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr("qckm.kernels.threads._libraries", lambda: threadpool_limits)
    monkeypatch.setattr(threadpool_limits, "info", staticmethod(list), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.parametrize("n_jobs, expected", [(None, 8), (1, 1), (3, 3), (20, 20), (-1, 8), (-2, 7), (-99, 1)])
def test_n_jobs(n_jobs, expected, cores):
    assert count_threads(n_jobs) == expected


@pytest.mark.parametrize("variable, expected", [("3", 3), ("2,4", 2), ("100", 8), ("", 8), ("nonsense", 8), ("0", 8)])
def test_omp_num_threads_limits_the_default(variable, expected, cores, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    assert count_threads(None) == expected
    assert count_threads(4) == 4


def test_our_own_threads_are_as_many_where_blas_has_one():
    before = count_threads(None)
    with one_thread():
        assert {library["num_threads"] for library in threadpool_info()} == {1}
        assert count_threads(None) == before
    with threadpool_limits(1), one_thread():
        assert count_threads(None) == 1


def test_threadpoolctl_limits_the_default():
    with threadpool_limits(1):
        assert count_threads(None) == 1


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all"])
def test_other_n_jobs_are_refused(n_jobs):
    op, X = qckm.SketchOperator.draw(2, 4, 1.0, random_state=0), np.zeros((1, 2))
    for verb, what in ((op.sketch, X), (op.encode, X), (op.pool, op.encode(X))):
        with pytest.raises(qckm.errors.OperatorError, match="n_jobs"):
            verb(what, n_jobs=n_jobs)
    assert op.sketch(X, n_jobs=np.int64(2)) == op.sketch(X)


def test_each_task_is_done_once():
    done = share(list, 1000, n_jobs=4)
    assert sorted(task for tasks in done for task in tasks) == list(range(1000))


def test_an_error_stops_the_others():
    seen = []

    def work(tasks):
        for task in tasks:
            seen.append(task)
            if task == 3:
                raise RuntimeError("three")
            time.sleep(0.001)

    with pytest.raises(RuntimeError, match="three"):
        share(work, 10_000, n_jobs=3)
    assert len(seen) < 10_000


def test_the_first_bad_row_is_named_whoever_finds_it(rng):
    op = qckm.SketchOperator.draw(8, 20, 1.0, random_state=0)
    X = rng.standard_normal((100_000, 8))
    X[[30_123, 65_432, 99_999], [4, 2, 0]] = np.nan, np.inf, np.nan
    for _ in range(5):
        with pytest.raises(ValueError, match="NaN at row 30123, column 4"):
            op.sketch(X, n_jobs=4)
        with pytest.raises(ValueError, match="NaN at row 30123, column 4"):
            op.encode(X, n_jobs=4)


def _total(X):
    op = qckm.SketchOperator.draw(X.shape[1], 50, 1.0, random_state=0)
    return op.sketch(X, n_jobs=2).total.tolist()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_after_threads_were_used(rng):
    X = rng.standard_normal((50_000, 4))
    expected = _total(X)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(_total, [X] * 4).get(timeout=60) == [expected] * 4


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_control_c_is_heard():
    code = """
import signal
import numpy as np, qckm
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs start deaf to it
op = qckm.SketchOperator.draw(10, 2000, 1.0, random_state=0)
X = np.broadcast_to(np.zeros((1, 10), np.float32), (10**9, 10))  # an hour or so
op.sketch(X[:10])
try:
    print("ready", flush=True)
    op.sketch(X, n_jobs=2)
except KeyboardInterrupt:
    print("interrupted")
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            assert child.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            child.kill()  # it would go on for that hour


def test_a_memmap_is_not_copied(tmp_path):
    """160 MB on disk; the process's own memory may grow by a few."""
    code = f"""
import re, threading
import numpy as np, qckm
def anonymous():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
X = np.memmap({str(tmp_path / "rows")!r}, np.float32, "w+", shape=(4_000_000, 10))
op = qckm.SketchOperator.draw(10, 8, 1.0, random_state=0)
op.sketch(X[:20_000], n_jobs=2)
before, peak, done = anonymous(), 0, threading.Event()
def watch():
    global peak
    while not done.wait(0.002):
        peak = max(peak, anonymous())
watcher = threading.Thread(target=watch)
watcher.start()
op.sketch(X, n_jobs=2)
done.set()
watcher.join()
print(peak - before)
"""
    if not os.path.exists("/proc/self/status"):
        pytest.skip("no /proc here")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 30
