"""The data of the drift experiments, an operator for each, and windows drawn from them."""

from __future__ import annotations

from functools import cache

import numpy as np

import qckm
from decoder.datasets import real

REAL = {"skin": "skin_segmentation", "walking": "walking_accelerometer", "kddcup99": "kddcup99_10pct"}
NAMES = (*REAL, "uniform", "gaussians")
K = 10
CENTERS = np.random.default_rng(7).normal(size=(K, 10)) * 1.5 * K ** (1 / 10)


def draw(name: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows: of real data without replacement, so that windows have no row in common."""
    if name == "uniform":
        return rng.uniform(-1, 1, size=(count, 3))
    if name == "gaussians":
        return CENTERS[rng.integers(K, size=count)] + rng.normal(size=(count, 10))
    rows = real(REAL[name])[0]
    return rows[rng.choice(len(rows), count, replace=False)]


@cache
def operator_of(name: str, n_frequencies: int, signature: str, seed: int = 0) -> qckm.SketchOperator:
    """Return an operator as `CompressiveKMeans` draws it from a pilot of 5000 rows."""
    km = qckm.CompressiveKMeans(
        K, n_frequencies=n_frequencies, signature=signature, compute_labels=False, init="sketch", random_state=seed
    )
    return km.partial_fit(draw(name, 5000, np.random.default_rng(seed))).operator_
