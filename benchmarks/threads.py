"""Do two threads do twice as much as one? Only an idle machine can tell: the note says how busy this one was."""

from __future__ import annotations

import os
import time

import numpy as np
from threadpoolctl import threadpool_limits

import qckm
from benchmarks.timing import Row, Rows, ratio, seconds


def rows() -> Rows:
    """Yield the speed-up of a one-bit sketch."""
    X = np.random.default_rng(0).standard_normal((2_000_000, 10)).astype(np.float32)
    op = qckm.SketchOperator.draw(10, 1000, 3.0, random_state=0)
    with threadpool_limits(1):  # BLAS has nothing to do here, but its idle threads may spin
        times = ratio(lambda: op.sketch(X, n_jobs=1), lambda: op.sketch(X, n_jobs=2), clock=time.perf_counter)
        one, two = (seconds(lambda jobs=jobs: op.sketch(X, n_jobs=jobs), time.process_time) for jobs in (1, 2))
    note = (
        f"processor time {one:.2f} s and {two:.2f} s; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    yield Row("two threads against one, n = 10", 1.85, times, note=note)
