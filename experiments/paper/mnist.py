"""Figure 3: spectral features of MNIST, K = 10, m = 1000, 100 experiments, 1 and 5 replicates, nothing left out.

    python -m paper.mnist kmeans --features mnist_spectral.npz     # in experiments/; paper.spectral makes the file
    python -m paper.mnist tuned --features mnist_spectral.npz

An experiment draws one operator a signature, sketches all rows and decodes five times; a row is kept for each. With one
replicate the first counts, with five the one of the least sketch objective (for k-means: of the least SSE).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

import qckm
from paper.arguments import existing, positive
from paper.published_scale import published_scale
from paper.runner import RESULTS, Table, run
from qckm.clustering.centroids import nearest

HEADER = ["experiment", "signature", "replicate", "sse_over_N", "ari", "objective"]
K, M, REPLICATES = 10, 1000, 5
DEVIATION = 0.45  # within the digits' clusters
METHODS = {
    "kmeans": "k-means++ on all rows",
    "paper": "CL-OMPR with the law and the scale of the toolbox the paper builds on",
    "tuned": "CL-OMPR with the same law at 0.6 radians a deviation, where it does best on these features",
    "matched": "CompressiveKMeans as it is, from the sketch alone",
}


@cache
def features(path: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as data:
        return data["features"].astype(np.float64), data["labels"]


def measure(job: tuple[str, str, int, str]) -> list[tuple]:
    """Do one experiment with one signature: five replicates, a row each."""
    path, method, experiment, signature = job
    X, digits = features(path)
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for replicate, (centers, objective) in enumerate(_replicates(method, X, experiment, signature)):
            labels, squares = nearest(X, centers, n_jobs=1)
            score = adjusted_rand_score(digits, labels)
            rows.append((experiment, signature, replicate, f"{squares.mean():.5f}", f"{score:.5f}", f"{objective:.6g}"))
    return rows


def _replicates(method: str, X: np.ndarray, experiment: int, signature: str):
    """Yield centroids and what a replicate is chosen by."""
    seeds = [1000 * experiment + replicate for replicate in range(REPLICATES)]
    if method == "kmeans":
        for seed in seeds:
            kmeans = KMeans(K, n_init=1, random_state=seed).fit(X)
            yield kmeans.cluster_centers_, kmeans.inertia_
        return
    if method == "matched":  # one replicate: it searches again by itself until it is content
        how = {"n_frequencies": M, "signature": signature, "init": "sketch", "compute_labels": False}
        km = qckm.CompressiveKMeans(K, random_state=seeds[0], **how).fit(X)
        yield km.cluster_centers_, km.objective_
        return
    scale = np.sqrt(X.shape[1]) * DEVIATION / 0.6
    if method == "paper":
        scale = published_scale(X, np.random.default_rng(experiment))
    op = qckm.SketchOperator.draw(X.shape[1], M, scale, "adapted-radius", signature, random_state=experiment)
    sketch = op.sketch(X, n_jobs=1)
    for seed in seeds:
        found = qckm.decode(sketch, K, decoder="clompr", random_state=seed)
        yield found.centers, found.objective


def table_of(method: str, folder: Path = RESULTS) -> Table:
    """Return the table of a method."""
    return Table(f"fig3-{method}", HEADER, n_keys=2, folder=folder)


def whole(method: str, rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return the rows of experiments of which all replicates are there: a kill may have cut the last one short."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        found.setdefault((row["experiment"], row["signature"]), set()).add(row["replicate"])
    replicates = 1 if method == "matched" else REPLICATES
    return [row for row in rows if len(found[row["experiment"], row["signature"]]) == replicates]


def measure_method(method: str, path: Path, experiments: int, processes: int = 1, folder: Path = RESULTS) -> None:
    """Measure what is missing of a method, cut experiments anew."""
    table = table_of(method, folder)
    with table.alone():
        rows = table.read()
        if len(kept := whole(method, rows)) < len(rows):
            table.replace([row.values() for row in kept])
    with table.alone():  # again, for a table that was replaced is another file
        done = table.done()
        jobs = [
            (str(path), method, experiment, signature)
            for experiment in range(experiments)
            for signature in (["none"] if method == "kmeans" else ["exponential", "one-bit"])
            if (str(experiment), signature) not in done
        ]
        run(table, jobs, measure, processes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("--features", type=existing, required=True)
    parser.add_argument("--experiments", type=positive, default=100)
    parser.add_argument("--jobs", type=positive, default=1, help="processes")
    args = parser.parse_args()
    measure_method(args.method, args.features, args.experiments, args.jobs)


if __name__ == "__main__":
    main()
