"""The data of the experiments: clusters drawn anew for every seed, and real rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_circles,
    make_moons,
    make_s_curve,
    make_swiss_roll,
)
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

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
    """Draw as `gaussians` does, with 500 rows per cluster."""
    return gaussians(n, n_clusters, rng, 500 * n_clusters)


def far_apart(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw unit-variance clusters with centres anywhere in a cube of side 40·K^(1/n)."""
    return _around(rng.uniform(-20, 20, size=(n_clusters, n)) * n_clusters ** (1 / n), rng, 1.0)


def no_clusters(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows anywhere in a cube: k-means divides it."""
    return rng.uniform(-1, 1, size=(N_ROWS, n))


def _bootstrap(rows: np.ndarray, rng: np.random.Generator, blur: float = 0.1) -> np.ndarray:
    """Draw rows again and again, blurred by a share of each column's deviation."""
    chosen = rows[rng.integers(len(rows), size=20_000)]
    return chosen + blur * rows.std(axis=0) * rng.normal(size=chosen.shape)


def iris(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from scikit-learn's iris, blurred."""
    return _bootstrap(load_iris().data, rng)


def wine(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from scikit-learn's wine, standardised, blurred."""
    return _bootstrap(StandardScaler().fit_transform(load_wine().data), rng)


def breast_cancer(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from the first components of scikit-learn's breast cancer, standardised, blurred."""
    rows = StandardScaler().fit_transform(load_breast_cancer().data)
    return _bootstrap(PCA(n, random_state=0).fit_transform(rows), rng)


def digits(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from the first components of scikit-learn's digits, blurred."""
    return _bootstrap(PCA(n, random_state=0).fit_transform(load_digits().data), rng)


def diabetes(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from scikit-learn's diabetes, blurred."""
    return _bootstrap(load_diabetes().data, rng)


def swiss_roll(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw scikit-learn's Swiss roll."""
    return make_swiss_roll(20_000, noise=0.5, random_state=int(rng.integers(2**31)))[0]


def s_curve(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw scikit-learn's S curve."""
    return make_s_curve(20_000, noise=0.1, random_state=int(rng.integers(2**31)))[0]


def moons(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw scikit-learn's two moons."""
    return make_moons(20_000, noise=0.1, random_state=int(rng.integers(2**31)))[0]


def circles(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw scikit-learn's two circles."""
    return make_circles(20_000, noise=0.05, factor=0.4, random_state=int(rng.integers(2**31)))[0]


def skewed(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw clusters with an exponential tail to one side."""
    centers = 4 * rng.normal(size=(n_clusters, n))
    return centers[rng.integers(n_clusters, size=20_000)] + rng.exponential(size=(20_000, n))


def heavy_tails(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw clusters of Student's distribution with four degrees of freedom, of unlike weights."""
    centers = 3 * rng.normal(size=(n_clusters, n))
    shares = np.arange(1, n_clusters + 1) / (n_clusters * (n_clusters + 1) / 2)
    return centers[rng.choice(n_clusters, 20_000, p=shares)] + rng.standard_t(4, size=(20_000, n))


def lognormal(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw one heavy-tailed crowd with correlated columns."""
    return np.exp(0.7 * rng.normal(size=(20_000, n)) @ rng.normal(size=(n, n)) / np.sqrt(n))


def groups(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw groups of three clusters side by side, the groups eight times further away."""
    middles = 40 * rng.normal(size=(n_clusters // 3, n))
    centers = (middles[:, np.newaxis] + 5 * rng.normal(size=(n_clusters // 3, 3, n))).reshape(-1, n)
    return _around(centers, rng, 1.0)


def near_and_far(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw three clusters of 2000 rows side by side, and others of 100 rows twenty times further away."""
    near, far = 3 * rng.normal(size=(3, n)), 60 * rng.normal(size=(n_clusters - 3, n))
    centers = np.repeat(np.concatenate([near, far]), [2000] * 3 + [100] * (n_clusters - 3), axis=0)
    return rng.permutation(centers + rng.normal(size=centers.shape))


def whole_numbers(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw columns of many equal values: counts."""
    rates = rng.gamma(2.0, 2.0, size=(n_clusters, n))
    return rng.poisson(rates[rng.integers(n_clusters, size=20_000)]).astype(float)


def unlike_columns(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw clusters in columns of unlike widths, from 1 to 100."""
    return gaussians(n, n_clusters, rng) * np.geomspace(1, 100, n)


def pareto(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw clusters that are stretched by a factor of infinite variance, row by row."""
    return gaussians(n, n_clusters, rng, 100_000) * (1 + rng.pareto(2, size=(100_000, 1)))


def student(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw clusters of Student's distribution with two degrees of freedom."""
    centers = 3 * rng.normal(size=(n_clusters, n))
    return centers[rng.integers(n_clusters, size=100_000)] + rng.standard_t(2, size=(100_000, n))


def one_far_away(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw clusters, and one row a thousand deviations away."""
    rows = gaussians(n, n_clusters, rng, 100_000)
    rows[7] = 3000
    return rows


def heavy_lognormal(n: int, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw one lognormal crowd with σ = 1.5."""
    return np.exp(1.5 * rng.normal(size=(100_000, n)))


# Of these rows, a few make up the SSE.
HEAVY = (pareto, student, one_far_away, heavy_lognormal)

# Data that none of the decoder's numbers was chosen on: columns and K.
STRANGERS = {
    iris: (4, 5), wine: (13, 6), breast_cancer: (6, 8), digits: (10, 10), diabetes: (10, 6), swiss_roll: (3, 10),
    s_curve: (3, 12), moons: (2, 6), circles: (2, 8), skewed: (3, 6), heavy_tails: (10, 10), lognormal: (5, 10),
    groups: (2, 9), near_and_far: (2, 8), whole_numbers: (8, 5), unlike_columns: (5, 5), elongated: (4, 8),
    unequal_weights: (6, 12), unequal_widths: (6, 12), no_clusters: (3, 15),
}  # fmt: skip

SYNTHETIC: dict[str, Callable[[int, int, np.random.Generator], np.ndarray]] = {
    function.__name__: function
    for function in (
        two_clusters, corners, gaussians, unequal_weights, unequal_widths, elongated, many_gaussians, far_apart,
        no_clusters, *STRANGERS, *HEAVY,
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
