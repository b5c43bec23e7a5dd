"""The main job, end to end: a Parquet file of a million rows → `qckm fit` → a report, with KMeans and CKM beside it.

Makes its own data, so it needs no network. Writes to demo-output/: the rows, the sketch, the model, the report
(report.html: open it) and the comparison (comparison.txt).
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import qckm
from qckm.cli.commands.demo_command import make_rows
from qckm.models import Model

OUT = Path("demo-output")
K, N_ROWS = 10, 1_000_000


def timed(work):
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def command_line(*words) -> float:
    """Run qckm as a user would; return the seconds."""
    print("$ qckm", *words, flush=True)
    return timed(lambda: subprocess.run([sys.executable, "-m", "qckm", *map(str, words)], check=True))[1]


def main() -> None:
    OUT.mkdir(exist_ok=True)
    data = OUT / "rows.parquet"
    labels = make_rows(str(data), N_ROWS)
    print(f"{data}: {N_ROWS:,} rows in {K} clusters, {data.stat().st_size / 1e6:.1f} MB")
    outputs = ("-o", OUT / "model.json", "--sketch", OUT / "rows.qckm", "--report", OUT / "report.html")
    command_line("fit", data, "-k", K, *outputs)
    model = qckm.load_model(OUT / "model.json")
    seconds = sum(model.facts["seconds"].values())
    found = {"QCKM, one bit a measurement": (model.centers, seconds, model.facts["sketch_bytes"])}

    words = (
        "fit",
        data,
        "-k",
        K,
        "--signature",
        "exponential",
        "-o",
        OUT / "ckm.json",
        "--sketch",
        OUT / "ckm.qckm",
        "--quiet",
    )
    command_line(*words)
    ckm = qckm.load_model(OUT / "ckm.json")
    found["CKM, full precision"] = (ckm.centers, sum(ckm.facts["seconds"].values()), ckm.facts["sketch_bytes"])

    rows = np.stack([column.to_numpy() for column in pq.read_table(data).columns], axis=1)
    kmeans, seconds = timed(lambda: KMeans(K, n_init=5, random_state=0).fit(rows))
    found["KMeans, best of 5, all rows kept"] = (kmeans.cluster_centers_, seconds, data.stat().st_size)

    header = f"{'':34} {'SSE / KMeans':>12} {'ARI':>6} {'bytes kept':>12} {'data / kept':>11} {'seconds':>8}"
    lines = [header, "-" * len(header)]
    for title, (centers, seconds, size) in found.items():
        nearest, distances = Model(centers, np.full(K, 1 / K), np.zeros(K), np.ones(rows.shape[1])).nearest(rows)
        ratio, shrunk = (distances**2).sum() / kmeans.inertia_, data.stat().st_size / size
        rand = adjusted_rand_score(labels, nearest)
        lines.append(f"{title:34} {ratio:12.4f} {rand:6.3f} {size:12,} {shrunk:11.0f} {seconds:8.2f}")
    lines.append("ARI: agreement with the true clusters.")
    print("\n".join(lines))
    (OUT / "comparison.txt").write_text("\n".join(lines) + "\n")
    print(f"written: {', '.join(str(path) for path in sorted(OUT.iterdir()))}")


if __name__ == "__main__":
    main()
