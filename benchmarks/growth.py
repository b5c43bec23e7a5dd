"""How does the cost of a sketch grow with rows, features and frequencies? Straight lines, in one picture.

`python -m benchmarks.growth` writes results/growth.csv and results/growth.png.
"""

from __future__ import annotations

import csv
import statistics
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from threadpoolctl import threadpool_limits

import qckm
from benchmarks.machine import describe
from benchmarks.timing import seconds

BASE = {"rows N": 40_000, "features n": 32, "frequencies m": 512}
FACTORS = (1, 2, 3, 4, 6, 8)
RESULTS = Path(__file__).parent / "results"


def measure(repeats: int = 9) -> dict[str, list[float]]:
    """Return the seconds of one-bit sketches, for each quantity times each factor, turn by turn."""
    rng = np.random.default_rng(0)
    works = {}
    for what in BASE:
        for factor in FACTORS:
            N, n, m = (size * (factor if name == what else 1) for name, size in BASE.items())
            op = qckm.SketchOperator.draw(n, m, 3.0, random_state=0, frequencies="dense")
            X = rng.standard_normal((N, n)).astype(np.float32)
            works[what, factor] = lambda op=op, X=X: op.sketch(X, n_jobs=1)
    with threadpool_limits(1):
        turns = [{key: seconds(work) for key, work in works.items()} for _ in range(repeats + 1)][1:]
    return {what: [statistics.median(turn[what, factor] for turn in turns) for factor in FACTORS] for what in BASE}


def plot(times: dict[str, list[float]]) -> None:
    """Draw times over that of the base, against the factor."""
    figure, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
    for (what, measured), mark in zip(times.items(), "os^", strict=True):
        axes.plot(FACTORS, np.array(measured) / measured[0], marker=mark, label=f"{what} = factor × {BASE[what]:,}")
    axes.plot(FACTORS, FACTORS, color="0.6", linestyle=":", label="in proportion")
    axes.set(xlabel="factor", ylabel="time / time at factor 1", xlim=(0, None), ylim=(0, None))
    axes.set_title("One-bit paired sketch, one thread: cost grows in straight lines", fontsize=10)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(RESULTS / "growth.png", dpi=120)


def main() -> None:
    """Measure, write and draw."""
    RESULTS.mkdir(exist_ok=True)
    times = measure()
    with (RESULTS / "growth.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["what", "factor", "size", "seconds", "machine"])
        for what, measured in times.items():
            for factor, value in zip(FACTORS, measured, strict=True):
                writer.writerow([what, factor, factor * BASE[what], f"{value:.5f}", describe()])
    plot(times)
    for what, measured in times.items():
        print(
            what,
            " ".join(f"{factor}: {value / measured[0]:.2f}" for factor, value in zip(FACTORS, measured, strict=True)),
        )


if __name__ == "__main__":
    main()
