"""What the experiments share: synthetic data, the SSE, and a table that is printed and kept."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin_min

RESULTS = Path(__file__).parent / "results"


def gaussian_clusters(n_clusters: int, n: int, n_rows: int, seed: int) -> np.ndarray:
    """Unit-variance Gaussian clusters with centres N(0, (1.5·K^(1/n))² I), the benchmark of docs and issues."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n_clusters, n)) * 1.5 * n_clusters ** (1 / n)
    return centers[rng.integers(n_clusters, size=n_rows)] + rng.normal(size=(n_rows, n))


def sse(X: np.ndarray, centers: np.ndarray) -> float:
    """Sum of squared distances to the nearest centroid."""
    return float(pairwise_distances_argmin_min(X, centers, metric="sqeuclidean")[1].sum())


def keep(name: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    """Write a table to results/NAME.csv and say where."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    print(f"written: {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
    return path
