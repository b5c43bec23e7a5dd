"""How fast is a one-bit sketch, against the matrix product it replaces and against NumPy?"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

import qckm
from benchmarks.numpy_peers import chunked
from benchmarks.timing import Row, Rows, ratio

M = 1000
SINGLE = {5: 1.1, 10: 1.5, 20: 1.7, 50: 1.9, 100: 2.0, 784: 2.0}
PAIRED = {3: 0.75, 10: 1.45, 20: 1.6, 100: 2.05}


def rows() -> Rows:
    """Yield the rates as 2·n·m·N operations over the flop rate of sgemm, then the ratio to NumPy."""
    rng = np.random.default_rng(0)
    size = 2048
    A = rng.standard_normal((size, size)).astype(np.float32)
    with threadpool_limits(1):
        for dither, targets in (("single", SINGLE), ("paired", PAIRED)):
            for n, target in targets.items():
                N = 3_000_000 // n
                X = rng.standard_normal((N, n)).astype(np.float32)
                op = qckm.SketchOperator.draw(n, M, 3.0, dither=dither, random_state=0, frequencies="dense")
                times = ratio(lambda: A @ A, lambda op=op, X=X: op.sketch(X, n_jobs=1))
                rate = times * (n * M * N) / size**3
                yield Row(f"one-bit {dither}, n = {n}: operations a second over sgemm's", target, rate)
        X = rng.standard_normal((100_000, 10)).astype(np.float32)
        op = qckm.SketchOperator.draw(10, M, 3.0, dither="single", random_state=0)
        omega, xi = op.frequencies.astype(np.float32), op.phases.astype(np.float32)
        times = ratio(
            lambda: chunked(X, lambda part: np.sign(np.cos(part @ omega + xi)).sum(0)),
            lambda: op.sketch(X, n_jobs=1),
            5,
        )
        yield Row("one-bit single against chunked NumPy sign(cos(X @ W + xi)).sum(0), n = 10", 12, times)
