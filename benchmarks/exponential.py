"""How fast is an exponential sketch (CKM), against NumPy and against a one-bit sketch of the same frequencies?"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

import qckm
from benchmarks.numpy_peers import chunked
from benchmarks.timing import Row, Rows, ratio

N, n, M = 100_000, 10, 1000


def rows() -> Rows:
    """Yield both ratios, and that of a signature looked up in its table."""
    X = np.random.default_rng(0).standard_normal((N, n)).astype(np.float32)
    exponential = qckm.SketchOperator.draw(n, M, 3.0, signature="exponential", random_state=0)
    one_bit = qckm.SketchOperator.draw(n, M, 3.0, random_state=0)
    triangle = qckm.SketchOperator.draw(n, M, 3.0, signature="triangle", random_state=0)
    omega = exponential.frequencies.astype(np.float32)

    def numpy() -> None:
        def measure(part: np.ndarray) -> np.ndarray:
            phases = part @ omega
            return np.concatenate([np.cos(phases).sum(0), np.sin(phases).sum(0)])

        chunked(X, measure)

    with threadpool_limits(1):
        times = ratio(numpy, lambda: exponential.sketch(X, n_jobs=1), 5)
        yield Row("exponential against chunked NumPy cos and sin, n = 10", 3, times)
        times = ratio(lambda: exponential.sketch(X, n_jobs=1), lambda: one_bit.sketch(X, n_jobs=1))
        yield Row("one-bit paired against exponential, same frequencies, n = 10", 1.5, times)
        times = ratio(numpy, lambda: triangle.sketch(X, n_jobs=1), 5)
        yield Row("a table (triangle, paired) against chunked NumPy cos and sin, n = 10", 3, times)
