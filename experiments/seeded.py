"""What frequencies that a device regenerates from a 32-bit seed cost against the default law.

One-bit sketches of Gaussian clusters, scale from the pilot, decoded from the sketch alone; the same rows for both laws.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.cluster import KMeans

import qckm
from common import gaussian_clusters, keep, sse

SETTINGS = [(3, 5), (3, 10), (10, 10)]  # n, K
LAWS = ("auto", "seeded")  # auto: concentrated-radius where m is small, else balanced-radius


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--trials", type=int, default=20)
    arguments.add_argument("--rows", type=int, default=10_000)
    chosen = arguments.parse_args()
    results = []
    for n, n_clusters in SETTINGS:
        for ratio in (2, 5):  # m / nK
            found: dict[str, list[float]] = {law: [] for law in LAWS}
            for seed in range(chosen.trials):
                X = gaussian_clusters(n_clusters, n, chosen.rows, seed)
                best = KMeans(n_clusters, n_init=5, random_state=seed).fit(X).inertia_
                for law in LAWS:
                    km = qckm.CompressiveKMeans(
                        n_clusters,
                        n_frequencies=ratio * n * n_clusters,
                        law=law,
                        init="sketch",
                        compute_labels=False,
                        random_state=seed,
                    ).fit(X)
                    found[law].append(sse(X, km.cluster_centers_) / best)
            for law in LAWS:
                values = np.array(found[law])
                row = (n, n_clusters, ratio, law, np.median(values), values.max(), (values <= 1.2).mean())
                results.append([f"{x:.4f}" if isinstance(x, float) else x for x in row])
                print(*results[-1], sep="\t", flush=True)
    keep("seeded", ["n", "K", "m/nK", "law", "median SSE/best", "worst", "share <= 1.2"], results)


if __name__ == "__main__":
    main()
