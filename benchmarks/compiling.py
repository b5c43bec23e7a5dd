"""How long does a user wait before the first row: for the import, and for compilation the first time and later?"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks.timing import Row, Rows

_CHILD = """
import sys, time
import numpy as np, qckm
op = qckm.SketchOperator.draw(10, 1000, 3.0, random_state=0)
X = np.zeros((10, 10), np.float32)
start = time.perf_counter()
op.sketch(X)
print(time.perf_counter() - start, "numba" in sys.modules)
"""


def _measure(cache: str) -> tuple[float, str]:
    """Return the seconds of a process's first sketch, and whether numba was imported for it."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", _CHILD], env=environment, capture_output=True, text=True, check=True)
    seconds, imported = done.stdout.split()
    return float(seconds), imported


_IMPORT = "import time; start = time.perf_counter(); import qckm; print(time.perf_counter() - start)"


def rows() -> Rows:
    """Yield the seconds of the import, and of a process's first sketch without and with what others left on disk."""
    imports = [float(subprocess.check_output([sys.executable, "-c", _IMPORT])) for _ in range(7)]
    yield Row("import qckm", 0.6, statistics.median(imports), unit="s", at_most=True, note="NumPy included")
    first, later = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            first.append(_measure(cache))
            later += [_measure(cache) for _ in range(3)]
    for what, target, runs in (("first sketch ever", 2.0, first), ("first sketch of a later process", 0.3, later)):
        note = "import of numba and compilation included" if runs[0][1] == "True" else "numba is not imported"
        yield Row(what, target, statistics.median(run[0] for run in runs), unit="s", at_most=True, note=note)
