"""What integer phases cost: nothing. The same rows sketched in float64 beside, and both sketches decoded alike.

For each seed one operator is drawn; its rows are sketched by the integer arithmetic and, with the same frequencies and
dithers, in float64 with the signature's own formula. Printed: the distance of the two sketches against the sampling
error of a sketch of N rows, and the SSE of the centroids decoded from each, over the best of five k-means.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.cluster import KMeans

import qckm
from common import gaussian_clusters, keep, sse

K, N_FEATURES, N_ROWS, M = 5, 5, 20_000, 250
FORMULAS = {
    "exponential": np.cos,
    "one-bit": lambda t: np.where(np.cos(t) > 0, 1.0, -1.0),
    "triangle": lambda t: 2 / np.pi * np.arcsin(np.cos(t)),
}


def float_sketch(op: qckm.SketchOperator, X: np.ndarray) -> qckm.Sketch:
    """Sketch in float64, as everybody else does."""
    formula = FORMULAS[op.signature.name]
    phases = (X - op.origin) @ op.frequencies + op.phases
    values = np.concatenate([formula(phases).mean(axis=0), formula(phases + np.pi / 2).mean(axis=0)])
    total = values * len(X) * op.signature.full_scale
    return qckm.Sketch(op, total, len(X), 0, (X.min(axis=0), X.max(axis=0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    args = parser.parse_args()
    rows = []
    titles = ["‖z − z64‖ / sampling error", "SSE integers", "SSE float64", "largest gap"]
    print(f"{'signature':12} {titles[0]:>27} {titles[1]:>13} {titles[2]:>12} {titles[3]:>12}")
    for name in FORMULAS:
        mine = []
        for seed in range(args.seeds):
            X = gaussian_clusters(K, N_FEATURES, N_ROWS, seed)
            best = KMeans(K, n_init=5, random_state=seed).fit(X).inertia_
            op = qckm.SketchOperator.draw(N_FEATURES, M, scale=3.0, signature=name, random_state=seed)
            integers, floats = op.sketch(X), float_sketch(op, X)
            gap = np.linalg.norm(integers.values() - floats.values())
            sampling = np.sqrt(op.n_measurements / N_ROWS) * (1 if name == "one-bit" else np.sqrt(0.5))
            ratios = [
                sse(X, qckm.decode(sketch, K, decoder="clompr", n_init=2, random_state=seed).centers) / best
                for sketch in (integers, floats)
            ]
            mine.append((gap / sampling, *ratios))
            rows.append((name, seed, f"{gap / sampling:.6f}", f"{ratios[0]:.6f}", f"{ratios[1]:.6f}"))
        ratio, ours, theirs = np.array(mine).T
        print(
            f"{name:12} {np.median(ratio):27.4f} {np.median(ours):13.4f} {np.median(theirs):12.4f} "
            f"{np.abs(ours - theirs).max():12.4f}"
        )
    header = ["signature", "seed", "distance_over_sampling_error", "sse_integers", "sse_float64"]
    keep("quantisation", header, rows)


if __name__ == "__main__":
    main()
