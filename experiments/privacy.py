"""What privacy costs: SSE of centroids from private sketches over the best k-means of all rows, and of peers.

Each point is some runs, each a line of results/privacy.csv as soon as it is done: a run that was stopped goes on where
it was. δ = 10⁻⁶ for one row added or removed; one bit, m = 5nK; operators from public ranges have five octaves. The
ranges of the synthetic data are ±12, a round number; those of real data are their extremes, rounded outwards to two
digits: a stand-in for what the owner of such data would know. Points:

- `central-scale`: K = n = 10 Gaussians, N rows; the scale is public;
- `central-ranges`: the same with an operator from ranges;
- `local`: one private bit per device, simulated by the exact distribution of what the server gets, by binomials a
  measurement; devices hold rows drawn from the data with replacement;
- real data, from ranges; beside it in the same run diffprivlib's KMeans (pure ε, the same ranges) and DP-Lloyd:
  five rounds from uniform starts, ρ-zCDP of the same (ε, δ) shared evenly, Gaussian noise on the sums and counts of
  clusters.

    python experiments/privacy.py POINT… [--runs 20] [--seed 0] [--jobs 1]

Points are run seed by seed, the slow ones first, each on one thread: whatever was measured when the time is up is an
even share of all. `code` in the table names the sources of qckm that a run was made with.
"""

from __future__ import annotations

import argparse
import hashlib
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import qckm
from common import RESULTS, gaussian_clusters, sse
from decoder.datasets import real
from paper.arguments import positive
from paper.runner import Table, run
from privacy_peers import peers
from qckm.privacy.local import ALL, choose_bits, debiased, keep_chance

DELTA, RANGE, N_JUDGES = 1e-6, 12.0, 20_000
Trial = Callable[..., list[tuple[object, ...]]]
HEADER = ("point", "seed", "rows", "epsilon", "method", "sse_ratio", "converged", "seconds", "code")
# name: kind, rows, epsilon; the slow ones first, so that processes end together
POINTS: dict[str, tuple[str, int, float]] = {
    **{f"{name}-{eps:g}": (name, 0, eps) for name in ("mnist_spectral", "walking_accelerometer", "skin_segmentation")
       for eps in (0.3, 1.0, 3.0)},
    **{f"ranges-{rows}-{eps:g}": ("central-ranges", rows, eps) for rows, eps in (
        (10_000, 0.3), (10_000, 1.0), (100_000, 0.1), (10_000, 3.0),
    )},
    **{f"scale-{rows}-{eps:g}": ("central-scale", rows, eps) for rows, eps in (
        (10_000, 0.03), (10_000, 0.1), (10_000, 0.2), (10_000, 0.3), (100_000, 0.03), (10_000, 1.0), (100_000, 0.1),
        (10_000, 3.0), (10_000, 10.0),
    )},
    "local-10": ("local", 10_000_000, 1.0),
    "local-2": ("local", 1_000_000, 1.0),
}  # fmt: skip


@cache
def code() -> str:
    """Return a name of the sources that were measured: it changes with any of them."""
    sources = sorted(Path(qckm.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:8]


def outwards(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round a data set's extremes outwards to two digits of the widest range: what its owner would know of it."""
    unit = 10.0 ** (np.floor(np.log10(np.ptp(X, axis=0).max())) - 1)
    return np.floor(X.min(axis=0) / unit) * unit, np.ceil(X.max(axis=0) / unit) * unit


def local_sketch(op: qckm.SketchOperator, X: np.ndarray, devices: int, epsilon: float, seed: int) -> qckm.Sketch:
    """Draw what a server gets of devices that each hold one of the rows: exactly as if each had reported."""
    rng, s = np.random.default_rng(seed), choose_bits(epsilon)
    kept = keep_chance(epsilon, s)
    ones = (1 + op.sketch(X, n_jobs=1).values()) / 2  # the share of the rows with contribution +1
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
            op = qckm.SketchOperator.from_ranges([-RANGE] * n, [RANGE] * n, K, random_state=seed, private=True)
        sketch = qckm.privacy.release(
            op.sketch(X, n_jobs=1), epsilon=epsilon, delta=DELTA, operator_is_public=True,
            ranges=([-RANGE] * n, [RANGE] * n),
        )  # fmt: skip
    else:
        X = real(kind)[0]
        lower, upper = outwards(X)
        op = qckm.SketchOperator.from_ranges(lower, upper, K, random_state=seed, private=True)
        sketch = qckm.privacy.release(op.sketch(X, n_jobs=1), epsilon=epsilon, delta=DELTA)
        others = peers(X, K, lower, upper, epsilon, DELTA, seed)
    ours, ratio = decoded({"qckm": sketch}, K, X, seed)
    lines = [("qckm", found.centers, found.converged, seconds) for found, seconds in ours.values()]
    lines += [(method, centers, "", "") for method, centers in others.items()]
    count = rows or len(X)
    return [
        (name, seed, count, f"{epsilon:g}", method, ratio(centers), *facts, code()) for method, centers, *facts in lines
    ]


def decoded(
    sketches: dict[str, qckm.Sketch], K: int, X: np.ndarray, seed: int
) -> tuple[dict[str, tuple[Any, str]], Callable[[np.ndarray], str]]:
    """Decode some sketches of rows; return what was found in each, with the seconds, and what judges centroids.

    That is their SSE over the best k-means, on 20 000 of the rows.
    """
    judges = X[np.random.default_rng(seed).choice(len(X), min(len(X), N_JUDGES), replace=False)]
    found = {}
    for name, sketch in sketches.items():
        start = time.perf_counter()
        clusters = qckm.decode(sketch, K, random_state=seed)
        found[name] = clusters, f"{time.perf_counter() - start:.1f}"
    best = min(
        KMeans(K, n_init=5, random_state=seed).fit(judges).inertia_,
        # Five starts may all miss the best: from what was found, k-means may do better.
        *(KMeans(K, init=each.centers, n_init=1).fit(judges).inertia_ for each, _ in found.values()),
    )
    return found, lambda centers: f"{sse(judges, centers) / best:.4f}"


def arguments(name: str, description: str, runs: int) -> argparse.ArgumentParser:
    """Return a parser of what the experiments of privacy have in common."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=positive, default=runs, help="seeds a point")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=positive, default=1, help="processes")
    parser.add_argument("--folder", type=Path, default=RESULTS, help=f"where {name}.csv is, which is added to")
    return parser


def measure(table: Table, trial: Trial, jobs: Iterable[tuple[Any, ...]], processes: int) -> None:
    """Do the runs that are not in a table yet."""
    with table.alone():
        done = table.done()
        left = [
            job for job in jobs if tuple(f"{key:g}" if isinstance(key, float) else str(key) for key in job) not in done
        ]
        run(table, left, partial(_on_one_thread, trial), processes, in_order=False)


def _on_one_thread(trial: Trial, job: tuple[Any, ...]) -> list[tuple[object, ...]]:
    warnings.simplefilter("ignore")
    with threadpool_limits(1):  # there are as many processes as cores
        return trial(*job)


def measure_points(
    name: str, header: Sequence[str], points: Iterable[str], trial: Trial, description: str, runs: int
) -> None:
    """Measure the points that the command line asks for, seed by seed."""
    parser, names = arguments(name, description, runs), list(points)
    parser.add_argument("points", nargs="*", default=names, help=f"among {', '.join(names)}; all by default")
    args = parser.parse_args()
    if unknown := set(args.points) - set(names):
        parser.error(f"no such point: {', '.join(sorted(unknown))}")
    jobs = [(point, seed) for seed in range(args.seed, args.seed + args.runs) for point in args.points]
    measure(Table(name, header, 2, args.folder), trial, jobs, args.jobs)


if __name__ == "__main__":
    measure_points("privacy", HEADER, POINTS, trial, __doc__, 20)
