"""When are structured frequencies faster than dense ones?"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

import qckm
from benchmarks.timing import Row, Rows, ratio


def rows() -> Rows:
    """Yield the ratio for the issue's shape, and for smaller ones."""
    rng = np.random.default_rng(0)
    for n, target in ((1024, 5), (512, 2), (256, 1.5)):
        X = rng.standard_normal((2_000_000 // n, n)).astype(np.float32)
        dense, structured = (
            qckm.SketchOperator.draw(n, 4096, 3.0, random_state=0, frequencies=kind) for kind in ("dense", "structured")
        )
        with threadpool_limits(1):
            times = ratio(
                lambda op=dense, X=X: op.sketch(X, n_jobs=1), lambda op=structured, X=X: op.sketch(X, n_jobs=1), 5
            )
        yield Row(f"structured against dense, n = {n}, m = 4096", target, times)
