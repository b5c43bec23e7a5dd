"""What privacy costs: SSE of centroids from private sketches over the best k-means of all rows, and of peers.

Each point is some runs, each a line of results/privacy.csv as soon as it is done: a run that was stopped goes on where
it was. δ = 10⁻⁶ for one row added or removed; one bit, m = 5nK; operators from public ranges have five octaves. The
ranges of the synthetic data are ±12, a round number; those of real data are their extremes, rounded outwards to two
digits: a stand-in for what the owner of such data would know. Points:

- `central-scale`: K = n = 10 Gaussians, N rows; the scale is public;
- `central-ranges`: the same with an operator from ranges;
- `local`: one private bit a device, simulated by the exact distribution of what the server gets, by binomials a
  measurement; devices hold rows drawn from the data with replacement;
- real data, from ranges; beside it in the same run diffprivlib's KMeans (pure ε, the same ranges) and DP-Lloyd:
  five rounds from uniform starts, ρ-zCDP of the same (ε, δ) shared evenly, Gaussian noise on the sums and counts of
  clusters.

    python experiments/privacy.py POINT… [--runs 20] [--seed 0]
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans

import qckm
from common import RESULTS, gaussian_clusters, sse
from decoder.datasets import real
from qckm.privacy.local import choose_bits, debiased, keep_chance
from qckm.privacy.report import ALL

DELTA, RANGE, N_JUDGES = 1e-6, 12.0, 20_000
HEADER = ("point", "rows", "epsilon", "seed", "method", "sse_ratio", "converged", "seconds")
# name: kind, rows, epsilon
POINTS: dict[str, tuple[str, int, float]] = {
    **{f"scale-{rows}-{eps:g}": ("central-scale", rows, eps) for rows, eps in (
        (10_000, 0.03), (10_000, 0.1), (10_000, 0.2), (10_000, 0.3), (10_000, 1.0), (100_000, 0.1), (10_000, 3.0),
        (10_000, 10.0),
    )},
    **{f"ranges-{rows}-{eps:g}": ("central-ranges", rows, eps) for rows, eps in ((10_000, 0.3), (10_000, 1.0))},
    "local-10": ("local", 10_000_000, 1.0),
    "local-2": ("local", 1_000_000, 1.0),
    **{f"{name}-{eps:g}": (name, 0, eps) for name in ("skin_segmentation", "mnist_spectral", "walking_accelerometer")
       for eps in (0.3, 1.0, 3.0)},
}  # fmt: skip


def outwards(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round a data set's extremes outwards to two digits of the widest range: what its owner would know of it."""
    unit = 10.0 ** (np.floor(np.log10(np.ptp(X, axis=0).max())) - 1)
    return np.floor(X.min(axis=0) / unit) * unit, np.ceil(X.max(axis=0) / unit) * unit


def dp_lloyd(X: np.ndarray, K: int, lower: np.ndarray, upper: np.ndarray, epsilon: float, seed: int) -> np.ndarray:
    """Return the centroids of five rounds of Lloyd's algorithm, with Gaussian noise on sums and counts."""
    rounds, n, rng = 5, X.shape[1], np.random.default_rng(seed)
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    rows = (X - middle) / half
    # A row moves one cluster's sum by up to √n, and its count, weighted as the sums are, by as much.
    sigma = np.sqrt(2 * n) / np.sqrt(2 * qckm.privacy.rho_of(epsilon, DELTA) / rounds)
    centers = rng.uniform(-1, 1, (K, n))
    for _ in range(rounds):
        which = ((rows[:, np.newaxis] - centers) ** 2).sum(axis=2).argmin(axis=1)
        sums = np.stack([np.bincount(which, rows[:, i], K) for i in range(n)], axis=1)
        counts = np.bincount(which, minlength=K) + rng.normal(size=K) * sigma / np.sqrt(n)
        noisy = (sums + rng.normal(size=(K, n)) * sigma) / np.maximum(counts, 1)[:, np.newaxis]
        centers = np.where((counts > 1)[:, np.newaxis], np.clip(noisy, -1, 1), rng.uniform(-1, 1, (K, n)))
    return centers * half + middle


def peers(
    X: np.ndarray, K: int, lower: np.ndarray, upper: np.ndarray, epsilon: float, seed: int
) -> dict[str, np.ndarray]:
    """Return the centroids of diffprivlib, where it is installed, and of DP-Lloyd."""
    found = {"dp-lloyd": dp_lloyd(X, K, lower, upper, epsilon, seed)}
    from sklearn.tree import _tree

    # diffprivlib 0.6.6 asks scikit-learn 1.9 for names that are gone, for its forests; its k-means needs none.
    _tree.DOUBLE, _tree.DTYPE = getattr(_tree, "DOUBLE", np.float64), getattr(_tree, "DTYPE", np.float32)
    try:
        from diffprivlib.models import KMeans as PrivateKMeans
    except ImportError:
        return found
    model = PrivateKMeans(K, epsilon=epsilon, bounds=(lower, upper), random_state=seed)
    return {**found, "diffprivlib": model.fit(X).cluster_centers_}


def local_sketch(op: qckm.SketchOperator, X: np.ndarray, devices: int, epsilon: float, seed: int) -> qckm.Sketch:
    """Draw what a server gets of devices that each hold one of the rows: exactly as if each had reported."""
    rng, s = np.random.default_rng(seed), choose_bits(epsilon)
    kept = keep_chance(epsilon, s)
    ones = (1 + op.sketch(X).values()) / 2  # the share of the rows with contribution +1
    chance = kept / ALL * ones + (1 - kept / ALL) * (1 - ones)
    reports = rng.multinomial(devices * s, np.full(op.n_measurements, 1 / op.n_measurements))
    return debiased(op, 2 * rng.binomial(reports, chance) - reports, devices, kept, s)


def trial(name: str, seed: int) -> list[tuple[object, ...]]:
    """Return the lines of one run."""
    kind, rows, epsilon = POINTS[name]
    K, n, others = 10, 10, {}
    if kind == "local":
        K, n = (10, 10) if name == "local-10" else (5, 2)
        X = gaussian_clusters(K, n, 200_000, seed)
        scale = np.sqrt(n) / 0.65
        op = qckm.SketchOperator.draw(n, max(100, 5 * n * K), scale, "balanced-radius", random_state=seed)
        sketch = local_sketch(op, X, rows, epsilon, seed)
        sketch = qckm.Sketch(
            op, sketch.total, sketch.count, 0, (np.full(n, -RANGE), np.full(n, RANGE)), 0, False, sketch.ledger
        )
    elif kind.startswith("central"):
        X = gaussian_clusters(K, n, rows, seed)
        if kind == "central-scale":
            op = qckm.SketchOperator.draw(n, 500, np.sqrt(n) / 0.65, "balanced-radius", random_state=seed)
        else:
            op = qckm.SketchOperator.from_ranges([-RANGE] * n, [RANGE] * n, K, random_state=seed)
        sketch = qckm.privacy.release(
            op.sketch(X), epsilon=epsilon, delta=DELTA, operator_is_public=True,
            ranges=([-RANGE] * n, [RANGE] * n),
        )  # fmt: skip
    else:
        X = real(kind)[0]
        lower, upper = outwards(X)
        op = qckm.SketchOperator.from_ranges(lower, upper, K, random_state=seed)
        sketch = qckm.privacy.release(op.sketch(X), epsilon=epsilon, delta=DELTA)
        others = peers(X, K, lower, upper, epsilon, seed)
    judges = X[np.random.default_rng(seed).choice(len(X), min(len(X), N_JUDGES), replace=False)]
    best = KMeans(K, n_init=5, random_state=seed).fit(judges).inertia_
    start = time.perf_counter()
    found = qckm.decode(sketch, K, random_state=seed)
    seconds = time.perf_counter() - start
    # Five starts may all miss the best: from what was found, k-means may do better.
    best = min(best, KMeans(K, init=found.centers, n_init=1).fit(judges).inertia_)
    count = rows or len(X)
    lines: list[tuple[object, ...]] = [
        (
            name,
            count,
            epsilon,
            seed,
            "qckm",
            f"{sse(judges, found.centers) / best:.4f}",
            found.converged,
            f"{seconds:.1f}",
        )
    ]
    for method, centers in others.items():
        lines.append((name, count, epsilon, seed, method, f"{sse(judges, centers) / best:.4f}", "", ""))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("points", nargs="*", default=list(POINTS))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    path = RESULTS / "privacy.csv"
    if not path.exists():
        path.write_text(",".join(HEADER) + "\n")
    with path.open(newline="") as file:
        done = {(line["point"], int(line["seed"])) for line in csv.DictReader(file)}
    for seed in range(args.seed, args.seed + args.runs):
        for name in args.points:
            if (name, seed) in done:
                continue
            lines = trial(name, seed)
            with path.open("a", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(lines)
            print(*lines, sep="\n", flush=True)


if __name__ == "__main__":
    main()
