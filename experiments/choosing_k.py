"""How often is `choose_n_clusters` right? 30 sets of separated clusters of four shapes, and 8 of one cluster.

    python choosing_k.py            # in experiments/; some ten minutes
    python choosing_k.py --seeds 1000 1012 --apart 5

Uniform, exponential, Gaussian or t (4 degrees of freedom) clusters, 2 to 15 of them in 2 to 8 columns, of unlike
deviations (0.7 to 1.4) and sizes, 20 000 rows. Centres of two clusters are six of their mean deviations apart at least.
The operator is drawn from a pilot for 16 clusters, and 1 to 16 are tried: from the sketch alone, and with 5000 rows.
Beside it: what the silhouette of 2000 rows chooses (of 2 to 16). Developed on seeds from 1000.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

import qckm
from common import keep

HEADER = ("seed", "shape", "n", "K", "init", "chosen", "agreement", "doubt", "cpu_seconds", "by_silhouette")
SHAPES, MOST, ROWS, ONE = ("uniform", "exponential", "gaussian", "t"), 16, 20_000, 8


def shaped(shape: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows of deviation 1."""
    if shape == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), (ROWS, n))
    if shape == "exponential":
        return rng.exponential(1, (ROWS, n)) - 1
    return rng.normal(size=(ROWS, n)) if shape == "gaussian" else rng.standard_t(4, (ROWS, n)) / np.sqrt(2)


def clusters(shape: str, n: int, n_clusters: int, apart: float, rng: np.random.Generator) -> np.ndarray:
    """Draw rows of clusters, none nearer to another than so many deviations."""
    deviations, wide = rng.uniform(0.7, 1.4, n_clusters), 3.0
    near = np.inf
    while near < apart or near == np.inf:
        centers = wide * n_clusters ** (1 / n) * rng.normal(size=(n_clusters, n))
        distances = np.linalg.norm(centers[:, np.newaxis] - centers, axis=2)
        distances /= (deviations[:, np.newaxis] + deviations) / 2
        near = float(distances[~np.eye(n_clusters, dtype=bool)].min(initial=1e9))
        wide *= 1.02
    labels = rng.choice(n_clusters, ROWS, p=rng.dirichlet(np.full(n_clusters, 10.0)))
    return centers[labels] + deviations[labels, np.newaxis] * shaped(shape, n, rng)


def by_silhouette(X: np.ndarray, rng: np.random.Generator) -> int:
    """Choose K as usual."""
    some = X[rng.choice(len(X), 2000, replace=False)]
    scores = [silhouette_score(some, KMeans(K, n_init=3, random_state=0).fit_predict(some)) for K in range(2, MOST + 1)]
    return 2 + int(np.argmax(scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 30 + ONE], metavar=("FROM", "TO"))
    parser.add_argument("--apart", type=float, default=6.0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines: list[tuple[object, ...]] = []
    for seed in range(*args.seeds):
        rng = np.random.default_rng(seed)
        shape, n = SHAPES[seed % 4], int(rng.choice([2, 3, 5, 8]))
        n_clusters = 1 if seed - args.seeds[0] >= 30 else int(rng.integers(2, 16))
        X = clusters(shape, n, n_clusters, args.apart, rng)
        sketch = qckm.SketchOperator.from_pilot(X, MOST, random_state=seed).sketch(X)
        usual = by_silhouette(X, rng) if n_clusters > 1 else ""
        for init, rows in (("rows", X[rng.choice(ROWS, 5000, replace=False)]), ("sketch", None)):
            began = time.process_time()
            found = qckm.choose_n_clusters(sketch, range(1, MOST + 1), rows=rows, random_state=seed)
            seconds = time.process_time() - began
            lines.append((
                seed, shape, n, n_clusters, init, found.n_clusters, f"{found.agreement:.2f}", bool(found.doubt),
                f"{seconds:.1f}", usual,
            ))  # fmt: skip
            print(*lines[-1], flush=True)
    keep("choosing_k", HEADER, lines)
    for init in ("rows", "sketch"):
        for words, some in (
            ("separated sets", [line for line in lines if line[4] == init and line[3] != 1]),
            ("sets of one cluster", [line for line in lines if line[4] == init and line[3] == 1]),
        ):
            right = sum(line[3] == line[5] for line in some)
            warned = sum(bool(line[7]) for line in some if line[3] != line[5])
            print(f"{init}: {right} of {len(some)} {words} right; of the others {warned} with a warning")
        print(f"{init}: {np.median([float(str(line[8])) for line in lines if line[4] == init]):.1f} s of CPU, median")
    separated = [line for line in lines if line[4] == "rows" and line[3] != 1]
    print(f"silhouette of 2000 rows: {sum(line[3] == line[9] for line in separated)} of {len(separated)} right")


if __name__ == "__main__":
    main()
