"""How many frequencies should a sketch have that is decoded alone? The excess of its centroids, bytes and seconds.

    python default_m.py [--seeds 3] [--ratios 5 10 20 40] [--data skin_segmentation …] [--of ranges]

K = 10, on the real data of QCKM_DATA: the operator is the one that `qckm operator` draws from a pilot, of m = 5nK and
more, or from the ranges of the columns, of as many at each of five scales. No row is at hand for the decoder.
"excess" is SSE over that of the best of five k-means of all rows, less 1; "bytes" the file of all rows; "ns a row" what
sketching one takes on one thread; "seconds" the processor's time to decode. Runs that results/default_m.csv holds
already are not made again: delete its lines to measure another decoder.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

import qckm
from common import RESULTS, sse
from decoder import datasets
from decoder.trials import _best_of_real
from qckm.planning.plan import Plan, draw_operator
from qckm.sketch import files
from qckm.sources.opening import open_source

K = 10
DATA = ("mnist_spectral", "skin_segmentation", "walking_accelerometer", "kddcup99_10pct")
RATIOS = (5, 10, 20, 40)
HEADER = ("data", "operator of", "m / nK", "seed", "m", "bytes", "ns a row", "seconds", "excess", "converged")


def draw(X: np.ndarray, of: str, m: int, seed: int) -> qckm.SketchOperator:
    if of == "ranges":
        return qckm.SketchOperator.from_ranges(X.min(axis=0), X.max(axis=0), K, m, random_state=seed)
    return draw_operator(open_source(X), Plan(n_clusters=K, n_frequencies=m, seed=seed)).operator


def trial(X: np.ndarray, best: float, of: str, ratio: int, seed: int) -> tuple[object, ...]:
    """Sketch all rows, decode the sketch alone, and return m and what follows in the header."""
    operator = draw(X, of, max(100, ratio * X.shape[1] * K), seed)
    some = X[: 200_000_000 // (X.shape[1] * operator.n_frequencies)]
    times = []
    for _ in range(3):
        began = time.process_time()
        operator.sketch(some, n_jobs=1)
        times.append((time.process_time() - began) / len(some))
    sketch = operator.sketch(X)
    began = time.process_time()
    found = qckm.decode(sketch, K, random_state=seed)
    seconds = time.process_time() - began
    excess = sse(X, found.centers) / best - 1
    size = len(files.dumps(sketch))
    return operator.n_frequencies, size, f"{1e9 * min(times):.0f}", f"{seconds:.2f}", f"{excess:.5f}", found.converged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ratios", type=int, nargs="+", default=RATIOS)
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--of", choices=("pilot", "ranges"), default="pilot")
    given = parser.parse_args()
    path = RESULTS / "default_m.csv"
    known = {tuple(row[:4]) for row in csv.reader(path.open())} if path.exists() else set()
    with path.open("a", newline="") as file, threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = csv.writer(file, lineterminator="\n")
        if not known:
            writer.writerow(HEADER)
        for name in given.data:
            X, best = np.ascontiguousarray(datasets.real(name)[0], np.float64), _best_of_real(name, K)
            for seed in range(given.seeds):
                for ratio in given.ratios:
                    if (name, given.of, str(ratio), str(seed)) in known:
                        continue
                    line = (name, given.of, ratio, seed, *trial(X, best, given.of, ratio, seed))
                    writer.writerow(line)
                    file.flush()
                    print(*line, flush=True)


if __name__ == "__main__":
    main()
