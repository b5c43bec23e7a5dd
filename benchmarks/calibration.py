"""How fast is a product of calibration, Σ w f(x) (f(x)·d) over one-bit contributions, against float32 matrices?"""

from __future__ import annotations

import os
import time

import numpy as np
from threadpoolctl import threadpool_limits

import qckm
from benchmarks.timing import Row, Rows, ratio
from qckm.decoding.clouds.totals import contributions_of, measure
from qckm.kernels.threads import count_threads

_POINTS, _FREQUENCIES = 10_000, 1000  # 2000 measurements
_BLOCK = 1 << 19  # bytes of the matrix that stay in the cache for both products
_IN_A_ROW = 10  # products: conjugate gradients take up to 50, between which nothing else is in the cache


def rows() -> Rows:
    """Yield the ratios of one thread in processor time, and of two in time passed."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(_POINTS, 10))
    operator = qckm.SketchOperator.draw(10, _FREQUENCIES, 3.0, random_state=0)
    matrix = measure(operator, points)
    with threadpool_limits(1):
        for threads in (1, 2):
            weights, direction = rng.random(_POINTS), rng.normal(size=matrix.shape[1])
            with threadpool_limits(threads):  # the number of threads is asked for when contributions are made
                made = contributions_of(operator, points)

            def numpy(weights: np.ndarray = weights, direction: np.ndarray = direction) -> None:
                for _ in range(_IN_A_ROW):
                    _through(matrix, weights, direction.astype(np.float32))

            def ours(made=made, weights=weights, direction=direction) -> None:  # type: ignore[no-untyped-def]
                for _ in range(_IN_A_ROW):
                    made.through(weights, direction)

            clock = time.process_time if threads == 1 else time.perf_counter
            words = f"{threads} thread{'s' if threads > 1 else ''}"
            note = f"NumPy: one thread; load average {os.getloadavg()[0]:.1f} on {count_threads(-1)} cores"
            yield Row(
                f"products of calibration, {_POINTS} × {matrix.shape[1]}, {words}",
                8,
                ratio(numpy, ours, 9, clock),
                note=note,
            )


def _through(matrix: np.ndarray, weights: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Multiply both ways, a block of rows at a time: memory is read once."""
    height, total = _BLOCK // (4 * matrix.shape[1]), np.zeros(matrix.shape[1])
    for first in range(0, len(matrix), height):
        block = matrix[first : first + height]
        along = block @ direction
        total += (weights[first : first + height] * along).astype(np.float32) @ block
    return total
