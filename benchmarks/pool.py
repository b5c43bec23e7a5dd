"""How fast are the bits of a fleet of sensors pooled?"""

from __future__ import annotations

import numpy as np

import qckm
from benchmarks.timing import Row, Rows, ratio, seconds


def rows() -> Rows:
    """Yield bytes a second, and the ratio to NumPy."""
    op = qckm.SketchOperator.draw(10, 1000, 3.0, random_state=0)
    bits = np.random.default_rng(0).integers(0, 256, (200_000, 250), dtype=np.uint8)
    op.pool(bits[:10], n_jobs=1)
    best = min(seconds(lambda: op.pool(bits, n_jobs=1)) for _ in range(9))
    yield Row("pool of packed bits, one core (best of 9)", 3, bits.nbytes / best / 1e9, unit="GB/s")
    some = bits[:100_000]

    def numpy() -> None:
        np.unpackbits(some, axis=1, bitorder="little").sum(0)

    times = ratio(numpy, lambda: op.pool(some, n_jobs=1))
    yield Row("pool against numpy.unpackbits(...).sum(0)", 20, times)
