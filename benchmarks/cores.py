"""Two builds of the C core against each other, turn by turn in one run, one thread; NumPy is all that this needs.

    PYTHONPATH=src:. python benchmarks/cores.py old/qckm_core.so new/qckm_core.so

Both must give the same sums, which are those of the NumPy kernel.
"""

from __future__ import annotations

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # before NumPy

import statistics
import sys
import time
import warnings
from typing import Any

import numpy as np

import qckm
from qckm.kernels import library
from qckm.kernels.library import SlowKernelWarning

CASES = [("single", n) for n in (5, 10, 20, 100)] + [("paired", n) for n in (3, 10, 20, 100)]
M, TURNS, SIZE = 1000, 15, 1024  # frequencies, turns, and the size of the matrices that are multiplied


def main(paths: list[str]) -> None:
    """Print, of each case, operations a second over sgemm's of both, and how much faster the second is."""
    cores = [_load(path) for path in paths]
    rng = np.random.default_rng(0)
    A = rng.standard_normal((SIZE, SIZE)).astype(np.float32)
    print(f"{cores[0].qckm_instructions().decode()}, NumPy {np.__version__}")
    for dither, n in CASES:
        X = rng.standard_normal((1_000_000 // n, n)).astype(np.float32)
        operators = [_operator(core, n, dither, X) for core in cores]
        _require_same([*operators, _operator(None, n, dither, X[:50])], X[:50])
        times = [_turn(A, operators, X) for _ in range(TURNS)]
        work = n * M * len(X) / SIZE**3
        old, new = (work * statistics.median(turn[0] / turn[which] for turn in times) for which in (1, 2))
        faster = statistics.median(turn[1] / turn[2] for turn in times)
        print(f"one-bit {dither}, n = {n}: {old:.2f} and {new:.2f} times sgemm, {faster:.3f} times as fast", flush=True)


def _load(path: str) -> Any:
    os.environ["QCKM_CORE"] = path
    library.load.cache_clear()
    return library.load()


def _operator(core: Any, n: int, dither: str, X: np.ndarray) -> qckm.SketchOperator:
    """Return an operator whose kernel has been laid out by a core; by NumPy, where it is None."""
    operator = qckm.SketchOperator.draw(n, M, 3.0, dither=dither, random_state=0, frequencies="dense")
    load, library.load = library.load, lambda: core
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SlowKernelWarning)
            operator.sketch(X[:1], n_jobs=1)
    finally:
        library.load = load
    return operator


def _require_same(operators: list[qckm.SketchOperator], X: np.ndarray) -> None:
    first, *others = (operator.sketch(X, n_jobs=1).total for operator in operators)
    for other in others:
        np.testing.assert_array_equal(first, other)


def _turn(A: np.ndarray, operators: list[qckm.SketchOperator], X: np.ndarray) -> list[float]:
    """Return the processor time of a matrix product, and of a sketch by each operator."""
    marks = [time.process_time()]
    A @ A
    marks.append(time.process_time())
    for operator in operators:
        operator.sketch(X, n_jobs=1)
        marks.append(time.process_time())
    return list(np.diff(marks))


if __name__ == "__main__":
    main(sys.argv[1:])
