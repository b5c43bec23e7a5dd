"""Why the defaults are what they are: law and radians per deviation, for CL-OMPR's points as atoms.

SSE over the best of five k-means, median and worst of a few seeds, for each law at several frequencies (rms ‖ω‖ times
the clusters' standard deviation), decoding from the sketch alone and with init="auto".
"""

from __future__ import annotations

import argparse
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import qckm
from common import gaussian_clusters, keep, sse
from qckm.operator.laws import LAWS

SETTINGS = {"K = n = 10": (10, 10, 1.0), "K = 8, n = 2": (8, 2, 1.0), "K = 4, n = 3, far apart": (4, 3, 4.0)}


def rows_of(name: str, seed: int) -> tuple[int, np.ndarray]:
    n_clusters, n, apart = SETTINGS[name]
    X = gaussian_clusters(n_clusters, n, 10_000, seed)
    if apart > 1:
        rng = np.random.default_rng(seed)
        X = apart * 1.5 * rng.normal(size=(n_clusters, n))[rng.integers(n_clusters, size=10_000)]
        X = X + rng.normal(size=X.shape)
    return n_clusters, X


def trial(job: tuple[str, str, float, str, int]) -> float:
    name, law, radians, init, seed = job
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        n_clusters, X = rows_of(name, seed)
        best = KMeans(n_clusters, n_init=5, random_state=seed).fit(X).inertia_
        scale = np.sqrt(X.shape[1]) / radians  # the clusters' deviation is 1
        how = {"law": law, "scale": scale, "init": init, "decoder": "clompr", "random_state": seed}
        km = qckm.CompressiveKMeans(n_clusters, compute_labels=False, **how)
        return sse(X, km.fit(X).cluster_centers_) / best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    points = [
        (name, law, radians, init)
        for name in SETTINGS
        for law in LAWS
        for radians in (0.6, 0.75, 0.9, 1.1)
        for init in ("sketch", "auto")
    ]
    rows = []
    with ProcessPoolExecutor(args.jobs) as pool:
        ratios = list(pool.map(trial, [(*point, seed) for point in points for seed in range(args.seeds)], chunksize=4))
    print(f"{'':24} {'law':20} {'radians':>7} {'init':>7} {'median':>8} {'worst':>8}")
    for i, point in enumerate(points):
        mine = ratios[i * args.seeds : (i + 1) * args.seeds]
        rows.append((*point, f"{np.median(mine):.4f}", f"{max(mine):.4f}"))
        print(f"{point[0]:24} {point[1]:20} {point[2]:7.2f} {point[3]:>7} {np.median(mine):8.3f} {max(mine):8.3f}")
    keep("defaults", ["data", "law", "radians_a_deviation", "init", "median_sse_ratio", "worst_sse_ratio"], rows)


if __name__ == "__main__":
    main()
