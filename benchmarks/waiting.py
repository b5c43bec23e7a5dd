"""How long does a user wait, and how much is installed: the import, the first sketch, the first fit, small batches?"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

import qckm
from benchmarks.launch import launch
from benchmarks.timing import Row, Rows, ratio

# One thread: in processor time.
_IMPORT = "import time; start = time.process_time(); import qckm; print(time.process_time() - start)"
_SKETCH = """
import time
import numpy as np, qckm
op = qckm.SketchOperator.draw(10, 1000, 3.0, random_state=0)
X = np.zeros((10, 10), np.float32)
start = time.process_time()
op.sketch(X)
print(time.process_time() - start)
"""


def rows() -> Rows:
    """Yield seconds of new processes, megabytes of what pip installs, and the ratio of small batches to NumPy."""
    yield Row("import qckm", 0.15, _median(_IMPORT), unit="s", at_most=True, note="NumPy included")
    yield Row("first sketch of a process", 0.02, _median(_SKETCH), unit="s", at_most=True, note="the core is loaded")
    yield Row("first `qckm fit` of 20 000 × 10 rows, K = 10, in a new home", 2.0, _first_fit(), unit="s", at_most=True)
    size = sum(_sizes("qckm").values()) / 1e6
    yield Row("what `pip install qckm` puts into site-packages", 490, size, unit="MB", at_most=True)
    yield _small_batches()


def _median(code: str) -> float:
    return statistics.median(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(9))


def _first_fit() -> float:
    rng = np.random.default_rng(0)
    X = 10 * rng.standard_normal((10, 10))[rng.integers(0, 10, 20_000)] + rng.standard_normal((20_000, 10))
    with tempfile.TemporaryDirectory() as home:
        data, model = Path(home) / "rows.parquet", Path(home) / "model.json"
        pq.write_table(pa.table({f"x{k}": X[:, k] for k in range(10)}), data)
        # Whatever would be kept between processes is kept in the new home, and nothing is there yet.
        fresh = [f"HOME={home}", f"XDG_CACHE_HOME={home}"]
        done = launch(
            ["/usr/bin/env", *fresh, sys.executable, "-m", "qckm", "fit", str(data), "-k", "10", "-o", str(model)]
        )
        assert done.status == 0, done.errors
        return done.seconds


def _sizes(name: str) -> dict[str, float]:
    """Return the bytes of a distribution and of all that it needs, extras left out, by name."""
    found: dict[str, float] = {}
    missing = [name]
    while missing:
        name = missing.pop()
        if name in found:
            continue
        distribution = metadata.distribution(name)
        paths = (Path(str(path.locate())) for path in distribution.files or ())
        found[name] = sum(path.stat().st_size for path in paths if path.exists())
        for requirement in distribution.requires or ():
            if "extra ==" not in requirement and _is_installed(other := re.match(r"[\w.-]+", requirement)[0]):
                missing.append(other.lower())
    return found


def _is_installed(name: str) -> bool:
    """Whether a distribution is here; some are for other systems only."""
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _small_batches() -> Row:
    """Of batches of ten rows, what is paid a call counts, not what is paid a row."""
    rng = np.random.default_rng(0)
    batches = rng.standard_normal((1000, 10, 10)).astype(np.float32)
    op = qckm.SketchOperator.draw(10, 1000, 3.0, dither="single", random_state=0)
    omega, xi = op.frequencies.astype(np.float32), op.phases.astype(np.float32)
    with threadpool_limits(1):
        times = ratio(
            lambda: [np.sign(np.cos(batch @ omega + xi)).sum(0) for batch in batches],
            lambda: [op.sketch(batch) for batch in batches],
            7,
        )
    return Row("1000 batches of 10 rows, n = 10, m = 1000, against NumPy sign(cos(X @ W + xi)).sum(0)", 0.5, times)
