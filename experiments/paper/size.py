"""What the paper could not show: bytes kept and bits acquired a sample, against the SSE; rows kept instead, beside it.

    python -m paper.size blobs                                      # in experiments/
    python -m paper.size mnist --features mnist_spectral.npz

A sketch of m frequencies keeps 2m sums of 8 bytes; a uniform subsample and a coreset are given as many bytes in float32
rows (the coreset's with a weight each). Not counted: the operator, which is the same for every sketch and can be drawn
from a seed. Acquired a sample: 2m bits with one bit per measurement, 2m times 16 bits in full precision (what the
tables hold), or the whole row, 32 bits per feature, for those who keep rows. The SSE is over all rows, and over the
best of five k-means on all of them. The coreset is the lightweight one of Bachem, Lucic and Krause (2018): two passes
over the rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import qckm
from common import gaussian_clusters
from paper.arguments import existing, positive
from paper.mnist import features
from paper.runner import RESULTS, Table, run
from paper.settings import best_of_five, sse

HEADER = ["data", "seed", "method", "m", "bytes", "bits_a_sample", "sse_over_kmeans"]
K = N_FEATURES = 10
SIZES = (75, 100, 125, 150, 200, 300, 500, 1000)
METHODS = ("subsample", "coreset", "one-bit", "exponential")


@cache
def rows_of(data: str, seed: int) -> np.ndarray:
    return features(data)[0] if data != "blobs" else gaussian_clusters(K, N_FEATURES, 100_000, seed)


def subsample(X: np.ndarray, n_bytes: int, rng: np.random.Generator) -> tuple[np.ndarray, None]:
    """Return as many uniform rows as fit."""
    return X[rng.choice(len(X), n_bytes // (4 * X.shape[1]), replace=False)], None


def coreset(X: np.ndarray, n_bytes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return as many weighted rows as fit: half uniformly, half in proportion to the squared distance to the mean."""
    squares = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    chances = 0.5 / len(X) + 0.5 * squares / squares.sum()
    count = n_bytes // (4 * (X.shape[1] + 1))
    chosen = rng.choice(len(X), count, p=chances / chances.sum())
    return X[chosen], 1 / (count * chances[chosen])


def measure(job: tuple[str, str, int, list[tuple[str, int]]]) -> list[tuple]:
    """Do one trial: one data set and seed, all methods and sizes that are wanted."""
    label, data, seed, cells = job
    X = rows_of(data, seed)
    out = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = best_of_five(X, K, seed)
        for method, m in cells:
            n_bytes, rng = 2 * m * 8, np.random.default_rng([seed, m, METHODS.index(method)])
            if method in ("subsample", "coreset"):
                kept, weights = (subsample if method == "subsample" else coreset)(X, n_bytes, rng)
                centers = KMeans(K, n_init=5, random_state=seed).fit(kept, sample_weight=weights).cluster_centers_
                bits = 32 * X.shape[1]
            else:
                how = {"n_frequencies": m, "signature": method, "init": "sketch", "random_state": seed}
                centers = qckm.CompressiveKMeans(K, compute_labels=False, **how).fit(X).cluster_centers_
                bits = 2 * m * (1 if method == "one-bit" else 16)
            out.append((label, seed, method, m, n_bytes, bits, f"{sse(X, centers) / best:.4f}"))
    return out


def table_of(folder: Path = RESULTS) -> Table:
    """Return the table."""
    return Table("size", HEADER, n_keys=4, folder=folder)


def measure_sizes(
    data: str,
    path: Path | None,
    trials: int,
    processes: int = 1,
    methods: Sequence[str] = METHODS,
    sizes: Sequence[int] = SIZES,
    folder: Path = RESULTS,
) -> None:
    """Measure what is missing of a data set."""
    table = table_of(folder)
    with table.alone():
        done, jobs = table.done(), []
        for seed in range(trials):
            wanted = [(method, m) for method in methods for m in sizes]
            cells = [(method, m) for method, m in wanted if (data, str(seed), method, str(m)) not in done]
            if cells:
                jobs.append((data, "blobs" if data == "blobs" else str(path), seed, cells))
        run(table, jobs, measure, processes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=("blobs", "mnist"))
    parser.add_argument("--features", type=existing)
    parser.add_argument("--trials", type=positive, default=20)
    parser.add_argument("--jobs", type=positive, default=1, help="processes")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    args = parser.parse_args()
    if args.data == "mnist" and args.features is None:
        parser.error("mnist needs --features, a file that paper.spectral makes")
    measure_sizes(args.data, args.features, args.trials, args.jobs, args.methods)


if __name__ == "__main__":
    main()
