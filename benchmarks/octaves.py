"""What do octaves gain by sharing their projection, over the same frequencies each projected for itself?"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

import qckm
from benchmarks.timing import Row, Rows, ratio


def rows() -> Rows:
    """Yield the ratio for one bit and for the cosine; the second operator has the same codes but for one."""
    rng = np.random.default_rng(0)
    for signature, n, target in (("one-bit", 10, 1.3), ("one-bit", 50, 2.5), ("exponential", 50, 1.8)):
        X = rng.standard_normal((1_000_000 // n, n)).astype(np.float32)
        shared = qckm.SketchOperator.draw(n, 500, 0.3, signature=signature, octaves=5, random_state=0)
        off = shared.frequencies.copy()
        off[0, -1] = 0.0  # no longer twice the one before: no octaves
        alone = qckm.SketchOperator.from_frequencies(
            off, phases=shared.phases, signature=signature, steps=shared.steps, random_state=0
        )
        with threadpool_limits(1):
            times = ratio(
                lambda op=alone, X=X: op.sketch(X, n_jobs=1), lambda op=shared, X=X: op.sketch(X, n_jobs=1), 5
            )
        yield Row(f"five octaves, shared projection, {signature}, n = {n}, m = 500", target, times)
