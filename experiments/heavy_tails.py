"""Rows of which a few make up the SSE: `fit`, which samples rows by leverage, beside rows that are drawn uniformly.

Ten clusters in five columns, 100 000 rows: as they are, spread by a Pareto or a Student factor, with one row far away,
or with 1 in 2000; one lognormal crowd; and real rows. *leverage* is `fit`; *uniform* decodes the same sketch with 5000
rows drawn at random. SSE over the best of five k-means (ten for real rows); a run that is not converged has a star.

    python experiments/heavy_tails.py --seeds 10
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import cache

import numpy as np
from sklearn.cluster import KMeans

import qckm
from common import keep, sse
from decoder.datasets import real

N_ROWS, N_FEATURES, K, SAMPLE = 100_000, 5, 10, 5000
REAL = ("kddcup99_10pct", "mnist_spectral", "skin_segmentation", "walking_accelerometer")
HEADER = ("data", "seed", "sample", "sse", "estimated", "flagged")


def clusters(rng: np.random.Generator, noise: Callable[..., np.ndarray] | None = None) -> np.ndarray:
    """Draw ten clusters of such noise, Gaussian by default."""
    centers = 3 * rng.normal(size=(K, N_FEATURES))
    return centers[rng.integers(K, size=N_ROWS)] + (noise or rng.normal)(size=(N_ROWS, N_FEATURES))


def one_far_away(rng: np.random.Generator) -> np.ndarray:
    """Draw clusters, and one row 3000 away."""
    X = clusters(rng)
    X[rng.integers(N_ROWS)] = 3000
    return X


def some_far_away(rng: np.random.Generator) -> np.ndarray:
    """Draw clusters of which 1 row in 2000 is 60 away in each column."""
    X = clusters(rng)
    X[rng.choice(N_ROWS, N_ROWS // 2000, replace=False)] += 60
    return X


KINDS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "plain": clusters,
    "one row far away": one_far_away,
    "1 in 2000 far away": some_far_away,
    "Pareto 2": lambda rng: clusters(rng) * (1 + rng.pareto(2, size=(N_ROWS, 1))),
    "t 2": lambda rng: clusters(rng, lambda size: rng.standard_t(2, size=size)),
    "lognormal 1.5": lambda rng: np.exp(1.5 * rng.normal(size=(N_ROWS, N_FEATURES))),
}


@cache
def best_of_real(name: str) -> float:
    """Return the SSE of the best of ten k-means."""
    return float(KMeans(K, n_init=10, random_state=0).fit(real(name)[0]).inertia_)


def trial(name: str, seed: int) -> list[tuple[object, ...]]:
    """Return a line for each way to sample."""
    rng = np.random.default_rng(seed)
    if name in REAL:
        X, best = real(name)[0], best_of_real(name)
    else:
        X = KINDS[name](rng)
        best = float(KMeans(K, n_init=5, random_state=seed).fit(X).inertia_)
    km = qckm.CompressiveKMeans(K, compute_labels=False, random_state=seed).fit(X)
    rows = X[rng.choice(len(X), SAMPLE, replace=False)]
    uniform = qckm.decode(km.sketch_, K, rows=rows, random_state=seed)
    lines = []
    for label, centers, inertia, converged in (
        ("uniform", uniform.centers, uniform.inertia, uniform.converged),
        ("leverage", km.cluster_centers_, km.inertia_estimate_, km.converged_),
    ):
        estimated = "" if inertia is None else f"{inertia / best:.4g}"
        lines.append((name, seed, label, f"{sse(X, centers) / best:.5g}", estimated, not converged))
    print(f"{name} seed {seed}: " + ", ".join(f"{x[2]} {x[3]}{'*' * bool(x[5])}" for x in lines), flush=True)
    return lines


def main() -> None:
    """Print every trial, then the means."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed; what is developed on has 1000 and more")
    parser.add_argument("--data", nargs="*", default=[*KINDS, *REAL])
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        line
        for name in chosen.data
        for seed in range(chosen.first, chosen.first + chosen.seeds)
        for line in trial(name, seed)
    ]
    print(f"{'data':24}{'uniform':>18}{'leverage':>18}   (mean, worst)")
    for name in chosen.data:
        found = [
            [float(line[3]) for line in lines if line[0] == name and line[2] == x] for x in ("uniform", "leverage")
        ]
        print(f"{name:24}" + "".join(f"{np.mean(ratios):9.4g}{max(ratios):9.4g}" for ratios in found))
    if chosen.first == 0:
        keep("heavy_tails", HEADER, lines)


if __name__ == "__main__":
    main()
