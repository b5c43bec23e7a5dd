"""The main job, end to end: a data file → a sketch → centroids → a report, with KMeans beside it.

Makes its own data (300 000 rows of 10 features in 10 clusters of unequal weights), so it needs no network. Writes to
demo-output/: the rows, the sketch files, the centroids as CSV, a picture and a report.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin_min

import qckm

OUT = Path("demo-output")
K, N_FEATURES, N_ROWS = 10, 10, 300_000


def make_rows(path: Path) -> np.ndarray:
    """Write the data file; return the true labels."""
    rng = np.random.default_rng(2018)
    centers = rng.normal(size=(K, N_FEATURES)) * 1.5 * K ** (1 / N_FEATURES)
    labels = rng.choice(K, N_ROWS, p=np.linspace(1, 3, K) / np.linspace(1, 3, K).sum())
    np.save(path, (centers[labels] + rng.normal(size=(N_ROWS, N_FEATURES))).astype(np.float32))
    return labels


def timed(work):
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def main() -> None:
    OUT.mkdir(exist_ok=True)
    data = OUT / "rows.npy"
    labels = make_rows(data)
    rows = np.load(data, mmap_mode="r")
    print(f"{data}: {N_ROWS:,} rows × {N_FEATURES} features, {data.stat().st_size / 1e6:.1f} MB")

    found, lines = {}, []
    for title, signature in (("QCKM, one bit a measurement", "one-bit"), ("CKM, full precision", "exponential")):
        km = qckm.CompressiveKMeans(K, signature=signature, compute_labels=False, random_state=0)
        km, seconds = timed(lambda km=km: km.fit(rows))
        path = OUT / f"{signature}.qckm"
        km.sketch_.save(path)
        found[title] = (km.cluster_centers_, seconds, path.stat().st_size)
    kmeans, seconds = timed(lambda: KMeans(K, n_init=5, random_state=0).fit(rows))
    found["KMeans, best of 5, all rows kept"] = (kmeans.cluster_centers_, seconds, data.stat().st_size)

    header = f"{'':34} {'SSE / KMeans':>12} {'ARI':>6} {'bytes kept':>12} {'data / kept':>11} {'seconds':>8}"
    lines += [header, "-" * len(header)]
    for title, (centers, seconds, size) in found.items():
        nearest, squares = pairwise_distances_argmin_min(rows, centers, metric="sqeuclidean")
        ratio, rand = squares.sum() / kmeans.inertia_, adjusted_rand_score(labels, nearest)
        shrunk = data.stat().st_size / size
        lines.append(f"{title:34} {ratio:12.4f} {rand:6.3f} {size:12,} {shrunk:11.0f} {seconds:8.2f}")
    report = "\n".join(lines)
    print(report)

    np.savetxt(OUT / "centroids.csv", next(iter(found.values()))[0], delimiter=",", fmt="%.6g")
    (OUT / "report.txt").write_text(report + "\n")
    draw(rows, {title: centers for title, (centers, _, _) in found.items()}, OUT / "centroids.png")
    print(f"written: {', '.join(str(path) for path in sorted(OUT.iterdir()))}")


def draw(rows: np.ndarray, found: dict[str, np.ndarray], path: Path) -> None:
    """Draw the centroids on the two main axes of the centroids, over a sample of the rows."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sample = rows[:: len(rows) // 20_000]
    reference = list(found.values())[-1]
    axes_of = np.linalg.svd(reference - reference.mean(axis=0))[2][:2].T
    figure, axes = plt.subplots(figsize=(7.5, 5.5), layout="constrained")
    axes.scatter(*(sample @ axes_of).T, s=2, c="#c9ced6", linewidths=0, rasterized=True)
    styles = [("o", 150, "#d1495b", 2.2), ("s", 75, "#edae49", 2.0), ("x", 40, "#00798c", 2.0)]
    for (title, centers), (marker, size, color, width) in zip(found.items(), styles, strict=True):
        face = {} if marker == "x" else {"facecolors": "none"}
        axes.scatter(*(centers @ axes_of).T, s=size, marker=marker, color=color, linewidths=width, label=title, **face)
    axes.set(
        title=f"{len(rows):,} rows, clustered from a sketch", xlabel="first axis of the centroids", ylabel="second axis"
    )
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=1, frameon=False)
    axes.set_aspect("equal")
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
