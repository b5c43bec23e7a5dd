"""How much memory does sketching a file take, beyond the file's own pages?"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.timing import Row, Rows

_CHILD = """
import re, sys, threading, time
import numpy as np, qckm

def anonymous():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

op = qckm.SketchOperator.draw(10, 1000, 3.0, random_state=0)
op.sketch(np.zeros((10, 10), np.float32))  # the core is loaded, the kernel laid out
before, peak, done = anonymous(), 0.0, threading.Event()

def watch():
    global peak
    while not done.wait(0.002):
        peak = max(peak, anonymous())

watcher = threading.Thread(target=watch)
watcher.start()
rows = np.memmap(sys.argv[1], np.float32, "r", shape=(10_000_000, 10))
count = op.sketch(rows).count
done.set()
watcher.join()
print(max(0.0, peak - before))
"""


def rows() -> Rows:
    """Yield the peak of the process's own memory while it sketches 400 MB, in megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.f32"
        rng = np.random.default_rng(0)
        with path.open("wb") as file:
            for _ in range(100):
                rng.standard_normal((100_000, 10), np.float32).tofile(file)
        done = subprocess.run([sys.executable, "-c", _CHILD, str(path)], capture_output=True, text=True, check=True)
    yield Row("peak memory of sketching a 10⁷ × 10 memmap", 100, float(done.stdout), unit="MB", at_most=True)
