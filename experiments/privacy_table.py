"""The table and the picture of docs/guide/privacy.md, from results/privacy.csv."""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib
import numpy as np

from common import RESULTS

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGE = Path(__file__).parents[1] / "docs" / "images" / "privacy.png"


def main() -> None:
    with (RESULTS / "privacy.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    points: dict[str, dict[str, list[float]]] = {}
    for line in lines:
        points.setdefault(line["point"], {}).setdefault(line["method"], []).append(float(line["sse_ratio"]))
    print("| | runs | median (greatest) | DP-Lloyd | diffprivlib |\n| --- | --- | --- | --- | --- |")
    for name, methods in sorted(points.items()):
        own = methods.get("qckm", [])
        cells = [f"{np.median(own):.3f} ({max(own):.3f})" if own else "–"]
        cells += [f"{np.median(methods[peer]):.2f}" if peer in methods else "–" for peer in ("dp-lloyd", "diffprivlib")]
        print(f"| {name} | {len(own)} | {' | '.join(cells)} |")
    flagged = [(float(line["sse_ratio"]), line["converged"] == "True") for line in lines if line["method"] == "qckm"]
    bad, good = [ok for ratio, ok in flagged if ratio > 1.2], [ok for ratio, ok in flagged if ratio < 1.1]
    print(f"above 1.2: {len(bad) - sum(bad)} of {len(bad)} flagged")
    print(f"below 1.1: {len(good) - sum(good)} of {len(good)} flagged")
    figure, axes = plt.subplots(figsize=(6, 3.6))
    for prefix, label, marker in (("scale", "scale public", "o"), ("ranges", "ranges public", "s")):
        mine = [line for line in lines if line["point"].startswith(prefix) and line["method"] == "qckm"]
        x = np.array([float(line["rows"]) * float(line["epsilon"]) for line in mine])
        y = np.array([float(line["sse_ratio"]) for line in mine])
        if len(x):
            axes.scatter(x, y, s=16, marker=marker, alpha=0.6, label=f"K = n = 10 Gaussians, {label}")
            places = np.unique(x)
            axes.plot(places, [np.median(y[x == place]) for place in places], linewidth=1)
    axes.set(xscale="log", xlabel="ε·N (δ = 10⁻⁶, one row added or removed)", ylabel="SSE / best k-means of all rows")
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(IMAGE, dpi=130)


if __name__ == "__main__":
    main()
