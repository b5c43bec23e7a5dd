"""How long does a user wait for compilation, the first time and in every process after that?"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks.timing import Row, Rows

_CHILD = """
import time
import numpy as np, qckm
op = qckm.SketchOperator.draw(10, 1000, 3.0, random_state=0)
X = np.zeros((10, 10), np.float32)
start = time.perf_counter()
import numba
imported = time.perf_counter()
op.sketch(X)
print(imported - start, time.perf_counter() - start)
"""


def _measure(cache: str) -> tuple[float, float]:
    """Return the seconds of importing numba, and of the first sketch with that included."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", _CHILD], env=environment, capture_output=True, text=True, check=True)
    importing, total = map(float, done.stdout.split())
    return importing, total


def rows() -> Rows:
    """Yield the seconds of the first sketch of a process, without and with what earlier ones left on disk."""
    first, later = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            first.append(_measure(cache))
            later += [_measure(cache) for _ in range(3)]
    for what, target, runs in (("first sketch ever", 2.0, first), ("first sketch of a later process", 0.3, later)):
        importing, total = (statistics.median(run[i] for run in runs) for i in (0, 1))
        note = f"{importing:.2f} s of it importing numba"
        yield Row(f"{what}, import of numba included", target, total, unit="s", at_most=True, note=note)
