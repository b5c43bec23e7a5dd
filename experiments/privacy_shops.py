"""What less trust costs: 40 shops that each add noise to their own sketch, beside one noise for all, and none.

A head office that may see the exact sketches of its shops merges them and adds noise once. Where it may not, every
shop makes its sketch private before it sends it; the noise of 40 releases is in the sum, √40 times the deviation. All
releases are of ε = 1, δ = 10⁻⁶ for one row added or removed, with operators from public ranges (as in privacy.py).
Rows are dealt out to shops at random, so that each has a 40th of them. SSE is that of the centroids over the best
k-means on 20 000 of the rows, as in privacy.py. Each run is three lines of results/privacy_shops.csv.

    python experiments/privacy_shops.py [POINT…] [--runs 5] [--seed 0] [--jobs 1]
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import qckm
from common import RESULTS, gaussian_clusters, sse
from decoder.datasets import real
from paper.arguments import positive
from paper.runner import Table, run
from privacy import DELTA, N_JUDGES, RANGE, code, outwards

SHOPS, EPSILON, K, N = 40, 1.0, 10, 10
HEADER = ("point", "seed", "rows", "noise", "sse_ratio", "converged", "seconds", "code")
REAL = ("skin_segmentation", "walking_accelerometer", "mnist_spectral")
# How many rows; real data have their own.
POINTS = {"gaussians-10000": 10_000, "gaussians-100000": 100_000, **dict.fromkeys(REAL, 0)}


def trial(name: str, seed: int) -> list[tuple[object, ...]]:
    """Return the lines of one run: without noise, with one release, with one for each shop."""
    if name in REAL:
        X = real(name)[0]
        lower, upper = outwards(X)
    else:
        X = gaussian_clusters(K, N, POINTS[name], seed)
        lower, upper = np.full(N, -RANGE), np.full(N, RANGE)
    op = qckm.SketchOperator.from_ranges(lower, upper, K, random_state=seed, private=True)
    dealt = np.array_split(np.random.default_rng(seed).permutation(len(X)), SHOPS)
    shops = [op.sketch(X[rows], n_jobs=1) for rows in dealt]
    budget = {"epsilon": EPSILON, "delta": DELTA}
    sketches = {
        "none": sum(shops),
        "central": qckm.privacy.release(sum(shops), **budget),
        "shops": sum(qckm.privacy.release(shop, **budget) for shop in shops),
    }
    judges = X[np.random.default_rng(seed).choice(len(X), min(len(X), N_JUDGES), replace=False)]
    found, seconds = {}, {}
    for noise, sketch in sketches.items():
        start = time.perf_counter()
        found[noise] = qckm.decode(sketch, K, random_state=seed)
        seconds[noise] = time.perf_counter() - start
    best = min(
        KMeans(K, n_init=5, random_state=seed).fit(judges).inertia_,
        *(KMeans(K, init=each.centers, n_init=1).fit(judges).inertia_ for each in found.values()),
    )
    lines = []
    for noise, each in found.items():
        ratio = f"{sse(judges, each.centers) / best:.4f}"
        lines.append((name, seed, len(X), noise, ratio, each.converged, f"{seconds[noise]:.1f}", code()))
    return lines


def measure(job: tuple[str, int]) -> list[tuple[object, ...]]:
    """Do one run on one thread: there are as many processes as cores."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        return trial(*job)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("points", nargs="*", default=list(POINTS), help=f"among {', '.join(POINTS)}; all by default")
    parser.add_argument("--runs", type=positive, default=5, help="seeds a point")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=positive, default=1, help="processes")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where privacy_shops.csv is, which is added to")
    args = parser.parse_args()
    if unknown := set(args.points) - set(POINTS):
        parser.error(f"no such point: {', '.join(sorted(unknown))}")
    table = Table("privacy_shops", HEADER, 2, args.folder)
    with table.alone():
        done = table.done()
        jobs = [(name, seed) for seed in range(args.seed, args.seed + args.runs) for name in args.points]
        run(table, [job for job in jobs if (job[0], str(job[1])) not in done], measure, args.jobs, in_order=False)


if __name__ == "__main__":
    main()
