"""How often is `choose_n_clusters` right? 1 to 8 round clusters, four deviations apart or more, sketched for 8 of them.

    python choosing_k.py            # in experiments/; about three minutes

Five data sets for each K and n, half of them one bit a measurement, half full precision. Printed, and kept in
results/choosing_k.csv, is what was chosen, and what the true number leaves of the sketch over what chance may leave.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product

import numpy as np

import qckm
from common import keep

HEADER = ("n", "K", "seed", "signature", "chosen", "misfit_over_chance")
GUESS, N_ROWS, APART = 8, 20_000, 4.0


def clusters(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows of clusters of unit variance, none nearer to another than APART."""
    while True:
        centers = 6.5 * rng.normal(size=(n_clusters, n))
        distances = np.linalg.norm(centers[:, np.newaxis] - centers, axis=2)
        if n_clusters == 1 or distances[~np.eye(n_clusters, dtype=bool)].min() > APART:
            return centers[rng.integers(n_clusters, size=N_ROWS)] + rng.normal(size=(N_ROWS, n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # numbers that do not explain the sketch are among those tried
    lines = []
    for n, n_clusters, seed in product((2, 5), (1, 2, 3, 5, 8), range(args.seeds)):
        X = clusters(n, n_clusters, np.random.default_rng([seed, n_clusters, n]))
        signature = ("one-bit", "exponential")[seed % 2]
        km = qckm.CompressiveKMeans(GUESS, signature=signature, compute_labels=False, random_state=seed).fit(X)
        found = qckm.choose_n_clusters(km.sketch_, range(1, 11), random_state=seed)
        left = found.objectives[n_clusters - 1] / found.by_chance[n_clusters - 1]
        lines.append((n, n_clusters, seed, signature, found.n_clusters, f"{left:.2f}"))
        print(*lines[-1], flush=True)
    print(f"{sum(line[1] == line[4] for line in lines)} of {len(lines)} right")
    keep("choosing_k", HEADER, lines)


if __name__ == "__main__":
    main()
