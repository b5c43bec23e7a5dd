"""The data of the experiments: clusters drawn anew for every seed, and real rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

N_ROWS = 10_000
# The workbench's data sets; elsewhere QCKM_DATA says where they are.
FOLDER = Path(os.environ.get("QCKM_DATA", Path(__file__).parents[3] / "shared" / "data"))


def two_clusters(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the paper's setting (a): means ±(1 … 1), covariance (n/20)·I."""
    return _around(np.array([np.ones(n), -np.ones(n)]), rng, np.sqrt(n / 20))


def corners(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the paper's setting (b): means at corners of {±1}ⁿ, covariance (n/20)·I."""
    chosen = rng.choice(2**n, n_clusters, replace=False)
    return _around(2.0 * ((chosen[:, np.newaxis] >> np.arange(n)) & 1) - 1, rng, np.sqrt(n / 20))


def gaussians(n: int, n_clusters: int, rng: np.random.Generator, n_rows: int = N_ROWS) -> np.ndarray:
    """Draw unit-variance clusters with centres N(0, (1.5·K^(1/n))² I)."""
    return _around(_centers(n, n_clusters, rng), rng, 1.0, n_rows=n_rows)


def unequal_weights(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw clusters of which the lightest has a twentieth of the heaviest's rows."""
    return _around(_centers(n, n_clusters, rng), rng, 1.0, np.geomspace(1, 20, n_clusters))


def unequal_widths(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw clusters of which the narrowest has a quarter of the widest's deviation."""
    return _around(_centers(n, n_clusters, rng), rng, np.geomspace(0.4, 1.6, n_clusters))


def elongated(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw clusters each four times longer in a direction of its own than in the others; unit variance on average."""
    centers = _centers(n, n_clusters, rng)
    which = rng.integers(n_clusters, size=N_ROWS)
    axes = rng.normal(size=(n_clusters, n))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    short = np.sqrt(n / (n + 15))
    along = rng.normal(size=(N_ROWS, 1)) * np.sqrt(15) * axes[which]
    return centers[which] + short * (rng.normal(size=(N_ROWS, n)) + along)


def many_gaussians(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw as `gaussians` does, with 500 rows a cluster."""
    return gaussians(n, n_clusters, rng, 500 * n_clusters)


def far_apart(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw unit-variance clusters with centres anywhere in a cube of side 40·K^(1/n)."""
    return _around(rng.uniform(-20, 20, size=(n_clusters, n)) * n_clusters ** (1 / n), rng, 1.0)


def no_clusters(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows anywhere in a cube: k-means divides it."""
    return rng.uniform(-1, 1, size=(N_ROWS, n))


SYNTHETIC: dict[str, Callable[[int, int, np.random.Generator], np.ndarray]] = {
    function.__name__: function
    for function in (
        two_clusters, corners, gaussians, unequal_weights, unequal_widths, elongated, many_gaussians, far_apart,
        no_clusters,
    )
}  # fmt: skip


@cache
def real(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and labels of a real data set, in the order of its file."""
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        raise SystemExit(f"{path} is not there: point QCKM_DATA to a folder with {path.name}.")
    with np.load(path) as arrays:
        rows = arrays["features" if name == "mnist_spectral" else "X"].astype(np.float64)
        labels = arrays["labels" if name == "mnist_spectral" else "y"]
    if name == "skin_segmentation":
        rows = rows / 255
    if name == "kddcup99_10pct":
        rows = np.log1p(rows)
        rows = rows[:, rows.std(axis=0) > 0]
        rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    return rows, labels


def _centers(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n_clusters, n)) * 1.5 * n_clusters ** (1 / n)


def _around(
    centers: np.ndarray,
    rng: np.random.Generator,
    deviations: float | np.ndarray,
    weights: np.ndarray | None = None,
    n_rows: int = N_ROWS,
) -> np.ndarray:
    shares = np.ones(len(centers)) if weights is None else weights
    which = rng.choice(len(centers), n_rows, p=shares / shares.sum())
    widths = np.broadcast_to(deviations, len(centers))[which]
    return centers[which] + widths[:, np.newaxis] * rng.normal(size=(n_rows, centers.shape[1]))
