"""What less trust costs: 40 shops that each add noise to their own sketch, beside one noise for all, and none.

A head office that may see the exact sketches of its shops merges them and adds noise once. Where it may not, every
shop makes its sketch private before it sends it; the noise of 40 releases is in the sum, √40 times the deviation. All
releases are of ε = 1, δ = 10⁻⁶ for one row added or removed, with operators from public ranges (as in privacy.py).
Rows are dealt out to shops at random, so that each has a 40th of them. SSE is that of the centroids over the best
k-means on 20 000 of the rows, as in privacy.py. Each run is three lines of results/privacy_shops.csv.

    python experiments/privacy_shops.py [POINT…] [--runs 5] [--seed 0] [--jobs 1]
"""

from __future__ import annotations

import numpy as np

import qckm
from common import gaussian_clusters
from decoder.datasets import real
from privacy import DELTA, RANGE, code, decoded, measure_points, outwards

SHOPS, EPSILON, K, N = 40, 1.0, 10, 10
HEADER = ("point", "seed", "rows", "noise", "sse_ratio", "converged", "seconds", "code")
REAL = ("skin_segmentation", "walking_accelerometer", "mnist_spectral")
# How many rows; real data have their own.
POINTS = {"gaussians-10000": 10_000, "gaussians-100000": 100_000, **dict.fromkeys(REAL, 0)}


def trial(name: str, seed: int) -> list[tuple[object, ...]]:
    """Return the lines of one run: without noise, with one release, with one for each shop."""
    if name in REAL:
        X = real(name)[0]
        lower, upper = outwards(X)
    else:
        X = gaussian_clusters(K, N, POINTS[name], seed)
        lower, upper = np.full(N, -RANGE), np.full(N, RANGE)
    op = qckm.SketchOperator.from_ranges(lower, upper, K, random_state=seed, private=True)
    dealt = np.array_split(np.random.default_rng(seed).permutation(len(X)), SHOPS)
    shops = [op.sketch(X[rows], n_jobs=1) for rows in dealt]
    budget = {"epsilon": EPSILON, "delta": DELTA}
    sketches = {
        "none": sum(shops),
        "central": qckm.privacy.release(sum(shops), **budget),
        "shops": sum(qckm.privacy.release(shop, **budget) for shop in shops),
    }
    found, ratio = decoded(sketches, K, X, seed)
    return [
        (name, seed, len(X), noise, ratio(each.centers), each.converged, seconds, code())
        for noise, (each, seconds) in found.items()
    ]


if __name__ == "__main__":
    measure_points("privacy_shops", HEADER, POINTS, trial, __doc__, 5)
