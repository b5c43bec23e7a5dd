"""Two builds of the loops over floats against each other, turn by turn, one thread, with each instruction set.

    PYTHONPATH=src:. python benchmarks/loops.py old/qckm_core.so new/qckm_core.so

Both must be of one contract (core.h's QCKM_ABI).
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from qckm.clustering import centroids
from qckm.clustering.centroids import nearest
from qckm.decoding.model import c_loops
from qckm.decoding.model.loops import Climb, Rules, Sizes, Waves
from qckm.kernels import library

SETS, TURNS = ("avx512", "avx2", "plain"), 9
Case = Callable[[], Any]


def main(paths: list[str]) -> None:
    """Print, of each loop and instruction set, the time that the new build takes as a share of the old one's."""
    cores = [_load(path) for path in paths]
    for name in SETS:
        if not all(core.qckm_use(name.encode()) for core in cores):
            continue
        ratios = []
        for what, case in _cases().items():
            times = [[_timed(core, case) for core in cores] for _ in range(TURNS + 1)][1:]
            ratios.append(statistics.median(new / old for old, new in times))
            print(
                f"{name}, {what}: {ratios[-1]:.3f} ({statistics.median(new for _, new in times) * 1e3:.2f} ms)",
                flush=True,
            )
        print(f"{name}, geometric mean: {statistics.geometric_mean(ratios):.3f}", flush=True)


def _cases() -> dict[str, Case]:
    """Return the loops, with the sizes that decoding gives them."""
    rng = np.random.default_rng(0)
    waves, wide = _waves(10, 1000, rng), _waves(3, 300, rng)
    points, weights, widths = 3 * rng.normal(size=(10, 10)), rng.random(10), rng.random(10) / 10
    round_, oblong = np.empty((10, 0, 10)), rng.normal(size=(10, 2, 10)) / 10
    start, box = np.concatenate([points.ravel(), weights, widths]), (np.full(120, 1e-3), np.full(120, 9.0))
    box[0][:100] = -9
    climb = Climb(waves.z, np.exp(-waves.halves), 0.3, 3, box[0][:10], box[1][:10])
    many, tone = 3 * rng.normal(size=(200, 10)), waves._replace(harmonics=waves.harmonics[:1])
    rows, heavy = rng.normal(size=(10_000, 10)) + 3 * rng.integers(0, 3, (10_000, 1)), rng.random(10_000)
    rows -= rows.mean(axis=0)
    flat = np.ascontiguousarray(rows[:, :2])
    uniforms = rng.random(10_000)
    return {
        "atoms": lambda: c_loops.atoms(waves, many, np.full(200, 0.1), np.empty((200, 0, 10))),
        "misfit, n = 10, m = 1000, K = 10": lambda: c_loops.misfit(waves, points, weights, widths, round_),
        "misfit with two axes": lambda: c_loops.misfit(waves, points, weights, widths, oblong),
        "misfit, n = 3, m = 300, K = 10": lambda: c_loops.misfit(wide, points[:, :3], weights, widths, round_[..., :3]),
        "fit": lambda: c_loops.fit(waves, Sizes(10, 0, 10, 0.1), widths, start, *box, Rules(15, 15, 0.0)),
        "climb": lambda: c_loops.ascend(waves, many, climb),
        "match": lambda: c_loops.match(tone, points[0], box[0][:10], box[1][:10], Rules(30, 30, 0.0)),
        "k-means++, n = 10, K = 10": lambda: centroids.plus_plus(rows, heavy, 10, 4, uniforms),
        "k-means++, n = 2, K = 100": lambda: centroids.plus_plus(flat, heavy, 100, 6, uniforms),
        "Lloyd, n = 10, K = 10": lambda: centroids.lloyd(rows, heavy, rows[:10], 0.0, 12),
        "Lloyd, n = 2, K = 100": lambda: centroids.lloyd(flat, heavy, flat[:100], 0.0, 12),
        "nearest, n = 10, K = 10": lambda: nearest(rows, rows[:10], 1),
    }


def _waves(n: int, m: int, rng: np.random.Generator) -> Waves:
    frequencies = rng.normal(size=(n, m)) / np.sqrt(n)
    harmonics = rng.normal(size=(4, 4)) / (1 + 2 * np.arange(4.0))[:, np.newaxis] ** 2
    halves = (frequencies**2).sum(axis=0) / 2
    return Waves(frequencies, 7 * rng.random(m), halves, harmonics, 2, rng.normal(size=(2, m)))


def _load(path: str) -> Any:
    os.environ["QCKM_CORE"] = path
    library.load.cache_clear()
    return library.load()


def _timed(core: Any, case: Case) -> float:
    """Return the processor time of a few calls with a core, the first of which is not counted."""
    load, library.load = library.load, lambda: core
    library._function.cache_clear()
    try:
        case()
        start, calls = time.process_time(), 0
        while time.process_time() - start < 0.02 or not calls:
            case()
            calls += 1
        return (time.process_time() - start) / calls
    finally:
        library.load = load


if __name__ == "__main__":
    main(sys.argv[1:])
