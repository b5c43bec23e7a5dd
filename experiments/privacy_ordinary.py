"""What private decoding is worth: beside ordinary decoding of the same sums, whose noise is not known then.

Each run releases the sketch of a real data set, or of 10 Gaussians in ten columns (10 000 rows), from public ranges (as
privacy.py does: K = 10, five octaves, m = 5nK, δ = 10⁻⁶ for one row added or removed), and decodes it twice with one
seed: as the private sketch that it is, and as if its sums were those of rows, its noise unknown. SSE is that of the
centroids over the best k-means on 20 000 of the rows. Each run is two lines of results/privacy_ordinary.csv as soon as
it is done. Of kddcup99, five columns are taken, in logarithms: with all 38, a decode from ranges takes more than eight
minutes.

    python experiments/privacy_ordinary.py [--epsilons 0.3 1 10 100] [--runs 20] [--seed 0] [--jobs 1]
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

import qckm
from common import gaussian_clusters
from decoder.datasets import FOLDER, real
from paper.runner import Table
from privacy import DELTA, arguments, code, decoded, measure, outwards

K = 10
SETS = ("mnist_spectral", "walking_accelerometer", "skin_segmentation", "kddcup99_10pct", "gaussians")
OF_KDDCUP99 = ("duration", "src_bytes", "dst_bytes", "count", "srv_count")
HEADER = ("set", "epsilon", "seed", "decoded as", "sse_ratio", "converged", "excess_high", "seconds", "code")


def rows_of(name: str, seed: int) -> np.ndarray:
    """Return the rows of a set; only those of Gaussians depend on the seed."""
    return gaussian_clusters(K, K, 10_000, seed) if name == "gaussians" else _rows_of(name)


@cache
def _rows_of(name: str) -> np.ndarray:
    if name != "kddcup99_10pct":
        return real(name)[0]
    with np.load(FOLDER / f"{name}.npz") as arrays:
        places = [arrays["columns"].tolist().index(column) for column in OF_KDDCUP99]
        return np.log1p(arrays["X"][:, places].astype(np.float64))


def trial(name: str, epsilon: float, seed: int) -> list[tuple[object, ...]]:
    """Return the lines of one run: the same sums, decoded as private ones and as ordinary ones."""
    X = rows_of(name, seed)
    op = qckm.SketchOperator.from_ranges(*outwards(X), K, random_state=seed, private=True)
    private = qckm.privacy.release(op.sketch(X, n_jobs=1), epsilon=epsilon, delta=DELTA)
    found, ratio = decoded({"private": private, "ordinary": replace(private, ledger=None)}, K, X, seed)
    return [
        (
            name,
            f"{epsilon:g}",
            seed,
            kind,
            ratio(each.centers),
            each.converged,
            f"{each.excess_high:.4f}",
            seconds,
            code(),
        )
        for kind, (each, seconds) in found.items()
    ]


def main() -> None:
    parser = arguments("privacy_ordinary", __doc__, 20)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.3, 1.0, 10.0, 100.0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    args = parser.parse_args()
    seeds = range(args.seed, args.seed + args.runs)
    jobs = [(name, epsilon, seed) for seed in seeds for epsilon in args.epsilons for name in args.sets]
    measure(Table("privacy_ordinary", HEADER, 3, args.folder), trial, jobs, args.jobs)


if __name__ == "__main__":
    main()
