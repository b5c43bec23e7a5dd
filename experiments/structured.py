"""What structured frequencies cost in quality: nothing. Dense and structured operators of one law, decoded alike.

For each shape and seed: Gaussian clusters, sketched with dense and with structured frequencies of the same law, scale
and number, one bit per measurement; the SSE of the centroids decoded from each, over the best of five k-means. Decoding
starts at k-means of 200 rows, which is close enough that what is compared is the sketches, not the luck of a search.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.cluster import KMeans

import qckm
from common import gaussian_clusters, keep, sse

SHAPES = [(64, 5, 1), (64, 5, 2), (64, 5, 5), (200, 5, 1), (200, 5, 3)]  # n, K, m / nK
N_ROWS = 20_000
KINDS = ("dense", "structured")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    args = parser.parse_args()
    rows = []
    print(f"{'n':>4} {'K':>3} {'m/nK':>5} {'':>12} {'median SSE / best':>18} {'within 2 %':>11} {'largest':>8}")
    for n, K, ratio in SHAPES:
        found: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for seed in range(args.seeds):
            X = gaussian_clusters(K, n, N_ROWS, seed)
            best = KMeans(K, n_init=5, random_state=seed).fit(X).inertia_
            start = KMeans(K, n_init=5, random_state=seed).fit(X[:200]).cluster_centers_
            for kind in KINDS:
                op = qckm.SketchOperator.draw(
                    n, round(ratio * n * K), scale=np.sqrt(n) / 0.8, random_state=seed, frequencies=kind
                )
                centers = qckm.decode(op.sketch(X), K, decoder="clompr", random_state=seed, init=start).centers
                found[kind].append(sse(X, centers) / best)
                rows.append((n, K, ratio, kind, seed, f"{found[kind][-1]:.5f}"))
        for kind in KINDS:
            values = np.array(found[kind])
            print(
                f"{n:4} {K:3} {ratio:5} {kind:>12} {np.median(values):18.4f} {(values <= 1.02).mean():11.2f} "
                f"{values.max():8.3f}",
                flush=True,
            )
    keep("structured", ["n", "K", "m_over_nK", "frequencies", "seed", "sse_over_best"], rows)


if __name__ == "__main__":
    main()
