"""What people use now, on the same Parquet file in one run: passes, peak memory, time, SSE and lines of code.

    python -m benchmarks.peers --rows 5000000      (pip install faiss-cpu dask-ml "dask[dataframe]" polars duckdb)

Each peer is the script below, in a process of its own; its lines are counted. A peer that is not installed is left
out with a word. SSE is over all rows, relative to the best of KMeans with five restarts on all of them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.cluster import KMeans

from benchmarks.cli_throughput import make
from benchmarks.launch import launch
from benchmarks.machine import describe
from qckm.clustering.centroids import nearest

RESULTS = Path(__file__).parent / "results"
K = 10

QCKM = "qckm fit {DATA} -k 10 -o {OUT} --quiet"

MINIBATCH = """
import numpy as np
import pyarrow.parquet as pq
from sklearn.cluster import MiniBatchKMeans
km = MiniBatchKMeans(10, random_state=0)
with pq.ParquetFile(DATA, pre_buffer=False) as file:
    for batch in file.iter_batches(batch_size=65536):
        km.partial_fit(np.stack([column.to_numpy() for column in batch.columns], axis=1))
np.savez(OUT, km.cluster_centers_)
"""

FAISS = """
import faiss
import numpy as np
import pyarrow.parquet as pq
table = pq.read_table(DATA)
X = np.stack([column.to_numpy() for column in table.columns], axis=1)
km = faiss.Kmeans(X.shape[1], 10, seed=1)
km.train(X)
np.savez(OUT, km.centroids)
"""

DASK = """
import dask.dataframe as dd
import numpy as np
from dask_ml.cluster import KMeans
X = dd.read_parquet(DATA, split_row_groups=True).to_dask_array(lengths=True)
km = KMeans(10, random_state=0).fit(X)
np.savez(OUT, km.cluster_centers_)
"""

POLARS = """
import numpy as np
import polars as pl
def batches():
    for frame in pl.scan_parquet(DATA).collect_batches(chunk_size=65536):
        yield frame.to_numpy()
rng = np.random.default_rng(0)
first = next(batches())
centers = [first[0]]
for _ in range(9):  # k-means++ on the first batch
    d = np.min([((first - c) ** 2).sum(1) for c in centers], axis=0)
    centers.append(first[rng.choice(len(first), p=d / d.sum())])
centers = np.array(centers)
for _ in range(10):  # Lloyd, a pass each
    sums, counts = np.zeros_like(centers), np.zeros(10)
    for X in batches():
        labels = ((centers**2).sum(1) - 2 * X @ centers.T).argmin(1)
        np.add.at(sums, labels, X)
        counts += np.bincount(labels, minlength=10)
    centers = sums / np.maximum(counts, 1)[:, None]
np.savez(OUT, centers)
"""

DUCKDB = """
import duckdb
import numpy as np
from sklearn.cluster import KMeans
sample = duckdb.sql(f"from '{DATA}' using sample reservoir(100000 rows) repeatable (0)").df()
km = KMeans(10, n_init=5, random_state=0).fit(sample.to_numpy())
np.savez(OUT, km.cluster_centers_)
"""

PEERS = {
    "qckm fit": (QCKM, "1 + a pilot", "no"),
    "MiniBatchKMeans.partial_fit over Parquet batches": (MINIBATCH, "1", "a batch"),
    "faiss.Kmeans, its default subsample (256 rows a centroid)": (FAISS, "1", "all"),
    "dask-ml KMeans": (DASK, "many", "chunks"),
    "polars + Lloyd by hand, 10 iterations": (POLARS, "11", "a batch"),
    "KMeans, best of 5, on 100 000 rows sampled by DuckDB": (DUCKDB, "1", "100 000"),
}


def measure(script: str, data: Path, out: Path) -> tuple[float, float] | str:
    """Run a script; return its seconds and peak memory in MB, or why there is none."""
    words = [sys.executable, "-c", f"DATA, OUT = {str(data)!r}, {str(out)!r}\n{script}"]
    if script is QCKM:
        words = [sys.executable, "-m", *QCKM.format(DATA=data, OUT=out).split()]
    ran = launch(words)
    if ran.status:
        return (ran.errors.strip().splitlines() or [f"failed: {ran.status}"])[-1]
    return ran.seconds, ran.megabytes


def centers_of(out: Path) -> np.ndarray:
    """Return the centroids a peer wrote."""
    with np.load(out) as arrays:
        return arrays["centers" if "centers" in arrays.files else "arr_0"]


def main() -> None:
    """Measure, print, and keep what was printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.parquet"
        make(data, options.rows, 10)
        rows = np.stack([column.to_numpy() for column in pq.read_table(data).columns], axis=1)
        best = KMeans(K, n_init=5, random_state=0).fit(rows).inertia_
        lines = [
            f"{options.rows:,} × 10 float32 Parquet, K = {K}; {describe()}",
            "",
            "| | passes | rows kept | peak memory, MB | seconds | SSE / best | lines |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for title, (script, passes, kept) in PEERS.items():
            out = Path(folder) / "out.npz"
            found = measure(script, data, out)
            count = len(script.strip().splitlines())
            if isinstance(found, str):
                lines.append(f"| {title} | not run: {found} | | | | | {count} |")
            else:
                ratio = nearest(rows, centers_of(out).astype(np.float64))[1].sum() / best
                seconds, memory = found
                lines.append(f"| {title} | {passes} | {kept} | {memory:.0f} | {seconds:.1f} | {ratio:.4f} | {count} |")
            print(lines[-1], flush=True)
    print("\n".join(lines))
    (RESULTS / "peers.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
