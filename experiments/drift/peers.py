"""Tests that keep rows: Kolmogorov and Smirnov's for each column, and a permutation test of the kernel distance."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import ks_2samp

MMD_ROWS, PERMUTATIONS = 500, 200


def kolmogorov_smirnov(A: np.ndarray, B: np.ndarray) -> float:
    """Return the least p-value of all columns, by Bonferroni: what alibi-detect's KSDrift does."""
    least = min(ks_2samp(a, b, method="asymp").pvalue for a, b in zip(A.T, B.T, strict=True))
    return min(1.0, A.shape[1] * least)


def mmd_permutation(A: np.ndarray, B: np.ndarray, rng: np.random.Generator) -> float:
    """Return the p-value of the Gaussian kernel's distance of 500 rows of each, the median distance as its width.

    It is what alibi-detect's MMDDrift does, which permutes as often by default.
    """
    rows = np.concatenate([part[rng.choice(len(part), min(len(part), MMD_ROWS), replace=False)] for part in (A, B)])
    squares = cdist(rows, rows, "sqeuclidean")
    kernel = np.exp(-squares / np.median(squares[squares > 0]))
    np.fill_diagonal(kernel, 0.0)
    sides = np.ones((PERMUTATIONS + 1, len(rows)))
    sides[0, len(rows) // 2 :] = -1
    for side in sides[1:]:
        side[rng.permutation(len(rows))[: len(rows) // 2]] = -1
    distances = np.einsum("ij,ij->i", sides @ kernel, sides)
    return float((distances >= distances[0]).mean())
