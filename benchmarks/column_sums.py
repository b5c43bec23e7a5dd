"""What do the sums of products of columns cost, beside a sketch with sums of columns and squares alone?"""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

import qckm
from benchmarks.timing import Row, Rows, ratio
from qckm.kernels import portable

# Rows within a few scales of the origin, as a pilot has it; and half of them clipped, as it should not be.
_SPREADS = {"": 1.0, ", half of the rows clipped": 30.0}


def rows() -> Rows:
    """Yield times with the products over times without: ten columns, and as many as have them."""
    rng = np.random.default_rng(0)
    for n, m, target in ((10, 500, 1.05), (64, 500, 1.15), (64, 3200, 1.15)):
        operator = qckm.SketchOperator.draw(n, m, 1.0, frequencies="dense", random_state=0)
        for words, spread in _SPREADS.items():
            X = (spread * rng.standard_normal((8_000_000 // (n + m // 10), n))).astype(np.float32)
            work = _work(operator, X)
            with threadpool_limits(1):
                times = 1 / ratio(lambda work=work: work(0), lambda work=work: work(64), 25)
            yield Row(f"with products of columns, n = {n}, m = {m}{words}", target, times, "×", True)


def _work(operator: qckm.SketchOperator, X: np.ndarray) -> Callable[[int], qckm.Sketch]:
    def sketch(most: int) -> qckm.Sketch:
        with patch.object(portable, "MOST_COLUMNS", most):
            return operator.sketch(X, n_jobs=1)

    return sketch
