"""What frequencies made from a recipe cost against the default law of the same norms, on real rows.

One-bit sketches of m = 5nK, scale from the pilot, decoded from the sketch alone; the same rows and seeds for both laws.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.cluster import KMeans

import qckm
from common import keep, sse
from decoder.datasets import FOLDER

SETS = {"mnist_spectral": 10, "skin_segmentation": 10, "walking_accelerometer": 10}  # K
LAWS = ("balanced-radius", "integer-balanced")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--trials", type=int, default=3)
    arguments.add_argument("--rows", type=int, default=20_000)
    chosen = arguments.parse_args()
    results = []
    for name, n_clusters in SETS.items():
        with np.load(FOLDER / f"{name}.npz") as file:
            rows = file["features" if name == "mnist_spectral" else "X"].astype(np.float64)
        found: dict[str, list[float]] = {law: [] for law in LAWS}
        for seed in range(chosen.trials):
            X = rows[np.random.default_rng(seed).permutation(len(rows))[: chosen.rows]]
            best = KMeans(n_clusters, n_init=5, random_state=seed).fit(X).inertia_
            for law in LAWS:
                km = qckm.CompressiveKMeans(
                    n_clusters, law=law, init="sketch", compute_labels=False, random_state=seed
                ).fit(X)
                found[law].append(sse(X, km.cluster_centers_) / best - 1)
                print(name, seed, law, f"{found[law][-1]:.4f}", flush=True)
        for law in LAWS:
            values = np.array(found[law])
            numbers = (float(np.median(values)), float(values.mean()), float(values.max()))
            results.append([name, n_clusters, chosen.trials, law, *(f"{x:.4f}" for x in numbers)])
        keep("recipe", ["data", "K", "trials", "law", "median excess", "mean", "worst"], results)


if __name__ == "__main__":
    main()
