"""Frequencies at one scale, or spread over the scales that clusters ask for, decoded together from the sketch alone.

Laws compared: *one*, the scale of the pilot, as `scale="auto"` has it; *own*, each frequency at the scale that one of
the pilot's clusters asks for, its deviation and its distance to the next, chosen at random; *between*, scales from the
smallest to the largest of these, their logarithm uniform. Data: three large clusters side by side and small ones
twenty times further away, groups of clusters at two spacings, and Gaussians whose clusters all ask for the same.
m = 5nK. Printed is the SSE over the best of five k-means; a run that is flagged has a star.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product

import numpy as np
from scipy.spatial import KDTree
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import qckm
from common import keep, sse
from decoder.datasets import SYNTHETIC
from qckm.operator import signatures
from qckm.operator.laws import Law, get_law
from qckm.planning.pilot import choose_law

CASES = [("near_and_far", 2, 8), ("near_and_far", 5, 8), ("groups", 2, 9), ("groups", 5, 9), ("gaussians", 10, 10)]
CASES += [("near_and_far", 3, 8), ("near_and_far", 10, 8)]
HEADER = ("data", "n", "K", "signature", "seed", "law", "sse", "flagged")
# As planning/pilot.py has it.
SCALES_APART = 2.5


def spread_law(base: str, scales: np.ndarray, n: int) -> tuple[Law, float]:
    """Return the law whose frequencies are those of another, each at one of some scales; and its own scale."""
    law = get_law(base)
    size = np.sqrt(n / law.mean_square(n))

    def draw_radii(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
        return law.draw_radii(n, m, rng) * size / rng.permutation(scales[np.arange(m) % len(scales)])

    return Law("spread", draw_radii, lambda n: n * float((scales**-2.0).mean())), float((scales**-2.0).mean() ** -0.5)


def own_scales(X: np.ndarray, centers: np.ndarray, radians: float) -> np.ndarray:
    """Return the scale (K,) that each cluster asks for."""
    n = X.shape[1]
    distances, nearest = KDTree(centers).query(X)
    counts = np.bincount(nearest, minlength=len(centers))
    deviations = np.sqrt(np.bincount(nearest, distances**2, len(centers)) / n / np.maximum(counts, 1))
    to_next = np.asarray(KDTree(centers).query(centers, k=2)[0])[:, 1]
    return np.maximum(deviations * np.sqrt(n) / radians, to_next / SCALES_APART)


def trial(case: tuple[str, int, int], signature: str, seed: int) -> list[tuple[object, ...]]:
    """Return a line for each law."""
    name, n, K = case
    X, m, lines = SYNTHETIC[name](n, K, np.random.default_rng(seed)), 5 * n * K, []
    best = KMeans(K, n_init=5, random_state=seed).fit(X)
    law, radians = choose_law(n, K, m, signatures.get(signature))
    own = own_scales(X, best.cluster_centers_, radians)
    between = np.geomspace(own.min(), own.max(), 100)
    for label, (chosen, scale) in {
        "one": ("auto", "auto"), "own": spread_law(law, own, n), "between": spread_law(law, between, n)
    }.items():  # fmt: skip
        km = qckm.CompressiveKMeans(
            K, signature=signature, n_frequencies=m, scale=scale, law=chosen, init="sketch", compute_labels=False,
            random_state=seed,
        ).fit(X)  # fmt: skip
        ratio = sse(X, km.cluster_centers_) / best.inertia_
        lines.append((name, n, K, signature, seed, label, f"{ratio:.4g}", not km.converged_))
    print(
        f"{name} n={n} {signature} seed {seed}: " + ", ".join(f"{x[5]} {x[6]}{'*' * bool(x[7])}" for x in lines),
        flush=True,
    )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--signatures", nargs="+", default=["one-bit", "exponential"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # failures are what is counted here
    with threadpool_limits(1):
        jobs = product(args.signatures, range(args.trials), CASES)
        lines: list[tuple[object, ...]] = []
        for signature, seed, case in jobs:
            lines += trial(case, signature, seed)
            keep("spread", HEADER, lines)


if __name__ == "__main__":
    main()
