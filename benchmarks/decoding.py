"""How long does a decode without rows take, on real data of many measurements and with many clusters?"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

import qckm
from benchmarks.timing import Row, Rows, seconds

# The workbench's data sets; elsewhere QCKM_DATA says where they are.
_MNIST = Path(os.environ.get("QCKM_DATA", Path(__file__).parents[2] / "shared" / "data")) / "mnist_spectral.npz"
_TURNS = 3


def rows() -> Rows:
    """Yield the seconds of decodes from the sketch alone; the note has their processor time, of all threads."""
    rng = np.random.default_rng(0)
    if _MNIST.exists():
        with np.load(_MNIST) as data:
            mnist = data["features"]
        for m, target in ((1000, 5.0), (2000, 10.0)):
            yield _decode(mnist, 10, m, target, f"decode of the sketch alone, mnist_spectral, K = 10, m = {m}")
    centers = 40 * 10 * rng.random((100, 2))
    X = centers[rng.integers(100, size=100_000)] + rng.standard_normal((100_000, 2))
    yield _decode(X, 100, 1000, 10.0, "decode of the sketch alone, K = 100, n = 2, 10⁵ rows, m = 1000")


def _decode(X: np.ndarray, n_clusters: int, m: int, target: float, what: str) -> Row:
    operator = qckm.SketchOperator.from_pilot(X[:5000], n_clusters, n_frequencies=m, random_state=0)
    sketch = operator.sketch(X)
    begun = time.process_time()
    wall = sorted(
        seconds(lambda seed=seed: qckm.decode(sketch, n_clusters, random_state=seed)) for seed in range(_TURNS)
    )
    busy = (time.process_time() - begun) / _TURNS
    return Row(what, target, wall[_TURNS // 2], unit="s", at_most=True, note=f"{busy:.1f} s of processor time")
