"""What private decoding is worth: beside ordinary decoding of the same sums, whose noise is not known then.

Each run releases the sketch of a real data set from public ranges (as privacy.py does: K = 10, five octaves, m = 5nK,
δ = 10⁻⁶ for one row added or removed), and decodes it twice with one seed: as the private sketch that it is, and as if
its sums were those of rows, its noise unknown. SSE is that of the centroids over the best k-means on 20 000 of the
rows. Each run is two lines of results/privacy_ordinary.csv as soon as it is done. Of kddcup99, five columns are taken,
in logarithms: with all 38, a decode from ranges takes more than eight minutes.

    python experiments/privacy_ordinary.py [--epsilons 0.3 1 10 100] [--runs 20] [--seed 0] [--jobs 1]
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import qckm
from common import RESULTS, sse
from decoder.datasets import FOLDER, real
from paper.arguments import positive
from paper.runner import Table, run
from privacy import DELTA, N_JUDGES, code, outwards

K = 10
SETS = ("mnist_spectral", "walking_accelerometer", "skin_segmentation", "kddcup99_10pct")
OF_KDDCUP99 = ("duration", "src_bytes", "dst_bytes", "count", "srv_count")
HEADER = ("set", "epsilon", "seed", "decoded as", "sse_ratio", "converged", "excess_high", "seconds", "code")


@cache
def rows_of(name: str) -> np.ndarray:
    """Return the rows of a set."""
    if name != "kddcup99_10pct":
        return real(name)[0]
    with np.load(FOLDER / f"{name}.npz") as arrays:
        places = [arrays["columns"].tolist().index(column) for column in OF_KDDCUP99]
        return np.log1p(arrays["X"][:, places].astype(np.float64))


def trial(name: str, epsilon: float, seed: int) -> list[tuple[object, ...]]:
    """Return the lines of one run: the same sums, decoded as private ones and as ordinary ones."""
    X = rows_of(name)
    op = qckm.SketchOperator.from_ranges(*outwards(X), K, random_state=seed, private=True)
    private = qckm.privacy.release(op.sketch(X, n_jobs=1), epsilon=epsilon, delta=DELTA)
    judges = X[np.random.default_rng(seed).choice(len(X), min(len(X), N_JUDGES), replace=False)]
    found, seconds = {}, {}
    for kind, sketch in (("private", private), ("ordinary", replace(private, ledger=None))):
        start = time.perf_counter()
        found[kind] = qckm.decode(sketch, K, random_state=seed)
        seconds[kind] = time.perf_counter() - start
    best = min(
        KMeans(K, n_init=5, random_state=seed).fit(judges).inertia_,
        *(KMeans(K, init=each.centers, n_init=1).fit(judges).inertia_ for each in found.values()),
    )
    return [
        (name, f"{epsilon:g}", seed, kind, f"{sse(judges, each.centers) / best:.4f}", each.converged,
         f"{each.excess_high:.4f}", f"{seconds[kind]:.1f}", code())
        for kind, each in found.items()
    ]  # fmt: skip


def measure(job: tuple[str, float, int]) -> list[tuple[object, ...]]:
    """Do one run on one thread: there are as many processes as cores."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        return trial(*job)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.3, 1.0, 10.0, 100.0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--runs", type=positive, default=20, help="seeds a point")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=positive, default=1, help="processes")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where privacy_ordinary.csv is, which is added to")
    args = parser.parse_args()
    table = Table("privacy_ordinary", HEADER, 3, args.folder)
    with table.alone():
        done = table.done()
        seeds = range(args.seed, args.seed + args.runs)
        jobs = [(name, epsilon, seed) for seed in seeds for epsilon in args.epsilons for name in args.sets]
        jobs = [job for job in jobs if (job[0], f"{job[1]:g}", str(job[2])) not in done]
        run(table, jobs, measure, args.jobs, in_order=False)


if __name__ == "__main__":
    main()
