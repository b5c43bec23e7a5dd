"""How many measurements a decoder needs: success against m/(nK), in the paper's two settings, from the sketch alone.

Success is SSE ≤ 1.2 times the best of five k-means, as in the paper; N = 10 000. (a): K = 2 Gaussians at ±(1 … 1),
n = 10; (b): K Gaussians at corners of {±1}⁵; covariance (n/20)·I. Default settings of CompressiveKMeans except m, the
decoder and init="sketch": the pilot gives the scale, it does not seed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import qckm
from common import keep, sse

N_ROWS = 10_000
RATIOS = (0.75, 1.0, 1.25, 1.5, 2.0, 5.0)
SETTINGS = {"(a) n = 10, K = 2": (10, 2), "(b) n = 5, K = 4": (5, 4), "(b) n = 5, K = 10": (5, 10)}


def rows_of(setting: str, seed: int) -> np.ndarray:
    n, n_clusters = SETTINGS[setting]
    rng = np.random.default_rng(seed)
    if setting.startswith("(a)"):
        centers = np.array([np.ones(n), -np.ones(n)])
    else:
        corners = rng.choice(2**n, n_clusters, replace=False)
        centers = 2.0 * ((corners[:, np.newaxis] >> np.arange(n)) & 1) - 1
    return centers[rng.integers(n_clusters, size=N_ROWS)] + np.sqrt(n / 20) * rng.normal(size=(N_ROWS, n))


def trial(job: tuple[str, int]) -> list[tuple]:
    setting, seed = job
    warnings.simplefilter("ignore")
    n, n_clusters = SETTINGS[setting]
    X, out = rows_of(setting, seed), []
    with threadpool_limits(1):
        best = KMeans(n_clusters, n_init=5, random_state=seed).fit(X).inertia_
        for decoder in ("matched", "clompr"):
            for signature in ("one-bit", "exponential"):
                for ratio in RATIOS:
                    m = int(np.ceil(ratio * n * n_clusters))
                    km = qckm.CompressiveKMeans(
                        n_clusters,
                        signature=signature,
                        n_frequencies=m,
                        decoder=decoder,
                        init="sketch",
                        compute_labels=False,
                        random_state=seed,
                    )
                    start = time.perf_counter()
                    found = sse(X, km.fit(X).cluster_centers_) / best
                    out.append((setting, decoder, signature, ratio, seed, found, time.perf_counter() - start))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    jobs = [(setting, seed) for setting in SETTINGS for seed in range(args.trials)]
    with ProcessPoolExecutor(args.jobs) as pool:
        rows = [row for trials in pool.map(trial, jobs) for row in trials]
    print(
        f"{'':20} {'decoder':8} {'signature':12} " + " ".join(f"{ratio:>5}" for ratio in RATIOS) + "   seconds, median"
    )
    table = []
    for setting in SETTINGS:
        for decoder in ("matched", "clompr"):
            for signature in ("one-bit", "exponential"):
                mine = [row for row in rows if row[:3] == (setting, decoder, signature)]
                rates = [np.mean([row[5] <= 1.2 for row in mine if row[3] == ratio]) for ratio in RATIOS]
                seconds = np.median([row[6] for row in mine])
                print(
                    f"{setting:20} {decoder:8} {signature:12} "
                    + " ".join(f"{r:5.2f}" for r in rates)
                    + f"   {seconds:.2f}"
                )
                table += [
                    (setting, decoder, signature, r, args.trials, f"{v:.3f}")
                    for r, v in zip(RATIOS, rates, strict=True)
                ]
    keep("decoders", ["setting", "decoder", "signature", "m_over_nK", "trials", "success"], table)


if __name__ == "__main__":
    main()
