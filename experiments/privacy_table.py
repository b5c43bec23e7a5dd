"""The figures of docs/guide/privacy.md, from results/privacy.csv and results/privacy_audit.csv.

    python experiments/privacy_table.py [--folder results] [--print]

writes the tables between the two marks in the guide, and docs/images/privacy.png; with --print it only prints them.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import matplotlib
import numpy as np

from common import RESULTS
from privacy import POINTS

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parents[1] / "docs"
GUIDE, IMAGE = DOCS / "guide" / "privacy.md", DOCS / "images" / "privacy.png"
BEGIN, END = "<!--table: privacy guide-->", "<!--/table-->"
REAL = {"skin_segmentation": "skin", "mnist_spectral": "mnist_spectral", "walking_accelerometer": "walking"}
PEERS = {"dp-lloyd": "DP-Lloyd", "diffprivlib": "diffprivlib"}
LOCAL = {
    "local-10": "one bit per device, 10⁷ devices, ε = 1, K = n = 10",
    "local-2": "one bit per device, 10⁶ devices, ε = 1, K = 5, n = 2",
}
# A run is bad above the one and good below the other: what the verdict is held to.
BAD, GOOD = 1.2, 1.1

Line = dict[str, str]


def ratios(lines: list[Line], point: str, method: str = "qckm") -> np.ndarray:
    """Return the SSE ratios of a point's runs, by seed."""
    mine = [line for line in lines if line["point"] == point and line["method"] == method]
    return np.array([float(line["sse_ratio"]) for line in sorted(mine, key=lambda line: int(line["seed"]))])


def describe(point: str) -> tuple[str, str, str]:
    """Return what a point is, ε·N and the target, in words."""
    kind, rows, epsilon = POINTS[point]
    if kind == "local":
        return LOCAL[point], "", "≤ 1.01"
    product = rows * epsilon
    least = 1.01 if kind == "central-scale" else 1.02
    target = f"≤ {least}" if product >= 10_000 else "≤ 1.05" if (product, least) == (3000, 1.01) else ""
    known = "scale" if kind == "central-scale" else "ranges"
    return f"public {known}, {_digits(rows)} rows, ε = {epsilon:g}", _digits(round(product)), target


def _digits(number: int) -> str:
    return f"{number:_}".replace("_", " ")


def is_real(point: str) -> bool:
    """Return whether a point is of real data."""
    return POINTS[point][0] in REAL


def flags(lines: list[Line], point: str | None = None) -> list[tuple[float, bool]]:
    """Return the ratio of each run, and whether it was flagged."""
    mine = [line for line in lines if line["method"] == "qckm" and point in (None, line["point"])]
    return [(float(line["sse_ratio"]), line["converged"] == "False") for line in mine]


def synthetic_table(lines: list[Line]) -> list[str]:
    """Return the table of points without peers."""
    found = ["| K = n = 10 Gaussians | ε·N | runs | median | mean | greatest | flagged | target |", "| --- " * 8 + "|"]
    order = sorted((p for p in POINTS if not is_real(p)), key=lambda p: (POINTS[p][0], POINTS[p][1] * POINTS[p][2]))
    for point in order:
        own = ratios(lines, point)
        if not len(own):
            continue
        what, product, target = describe(point)
        flagged = sum(flag for _, flag in flags(lines, point))
        figures = f"{np.median(own):.3f} | {own.mean():.3f} | {own.max():.3f} | {flagged}"
        found.append(f"| {what} | {product} | {len(own)} | {figures} | {target} |")
    return found


def real_table(lines: list[Line]) -> list[str]:
    """Return the table of real data beside peers: medians, and in how many runs ours is ahead of both."""
    names = " | ".join(f"{name}: median" for name in PEERS.values())
    found = [
        f"| real data, from ranges | ε | runs | median | mean | greatest | flagged | {names} | ahead of both |",
        "| --- " * (8 + len(PEERS)) + "|",
    ]
    for point in sorted(filter(is_real, POINTS), key=lambda p: (list(REAL).index(POINTS[p][0]), POINTS[p][2])):
        own, others = ratios(lines, point), [ratios(lines, point, peer) for peer in PEERS]
        if not len(own):
            continue
        medians = " | ".join(f"{np.median(other):.2f}" if len(other) else "not run" for other in others)
        complete = all(len(other) == len(own) for other in others)
        ahead = f"{sum(own < np.min(others, axis=0))} of {len(own)}" if complete else "not known"
        flagged = sum(flag for _, flag in flags(lines, point))
        figures = f"{np.median(own):.3f} | {own.mean():.3f} | {own.max():.3f} | {flagged}"
        kind, _, epsilon = POINTS[point]
        found.append(f"| {REAL[kind]} | {epsilon:g} | {len(own)} | {figures} | {medians} | {ahead} |")
    return found


def sentences(lines: list[Line], audit: list[Line]) -> list[str]:
    """Return what is said of the verdict, of the audit and of where the figures come from."""
    runs = flags(lines)
    bad, good = [flag for ratio, flag in runs if ratio > BAD], [flag for ratio, flag in runs if ratio < GOOD]
    found = [
        f"The verdict, over all {len(runs)} runs: {sum(bad)} of {len(bad)} above {BAD} were flagged (target: 95 %), "
        f"and {sum(good)} of {len(good)} below {GOOD} (target: at most 5 %)."
    ]
    between = [ratios(lines, point) for point in ("scale-10000-3", "scale-10000-1")]
    if all(map(len, between)):
        least, most = (f"{100 * (np.median(own) - 1):.1f}" for own in between)
        found.insert(
            0,
            f"20 000 customers at ε = 1 have ε·N = 20 000: with a public scale, the SSE is {least} to {most} % higher.",
        )
    seen = {(line["what"], line["of"]): float(line["found"]) for line in audit}
    two, half = "audit of ε = 2", ", half of the noise"
    found.append(
        f"Seen from outside (`experiments/privacy_audit.py`): a claim of ε = 2 is audited at "
        f"{seen[two, 'gaussian']:.2f} (Gaussian) and {seen[two, 'laplace']:.2f} (Laplace). With half of the noise, "
        f"which breaks the claim, it is audited at {seen[two, 'gaussian' + half]:.2f} and "
        f"{seen[two, 'laplace' + half]:.2f}. A claim of ε = 1 made locally is audited at "
        f"{seen['audit of ε = 1', 'local']:.2f}. A release of M = 1000 takes "
        f"{seen['milliseconds of a release of M = 1000', 'gaussian']:.0f} ms."
    )
    codes = sorted({line["code"] for line in lines})
    if len(codes) > 1:
        found.append(f"**The runs were made with {len(codes)} versions of the sources** ({', '.join(codes)}).")
    return found


def draw(lines: list[Line]) -> None:
    """Draw SSE against ε·N."""
    figure, axes = plt.subplots(figsize=(6, 3.6))
    for kind, label, marker in (
        ("central-scale", "scale public", "o"),
        ("central-ranges", "ranges public", "s"),
    ):
        mine = [line for line in lines if POINTS[line["point"]][0] == kind and line["method"] == "qckm"]
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


def read(path: Path) -> list[Line]:
    """Return the lines of a CSV."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def fill(text: str, figures: list[str]) -> str:
    """Return a page with figures between its marks."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END, 1)
    return f"{before}{BEGIN}\n\n" + "\n".join(figures) + f"\n\n{END}{after}"


def everything(lines: list[Line], audit: list[Line]) -> list[str]:
    """Return the lines that the guide shows."""
    return [*synthetic_table(lines), "", *real_table(lines), "", "\n\n".join(sentences(lines, audit))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where privacy.csv is")
    parser.add_argument("--print", action="store_true", help="print the tables, change nothing")
    args = parser.parse_args()
    lines, audit = read(args.folder / "privacy.csv"), read(RESULTS / "privacy_audit.csv")
    figures = everything(lines, audit)
    print("\n".join(figures))
    if not args.print:
        GUIDE.write_text(fill(GUIDE.read_text(), figures))
        draw(lines)


if __name__ == "__main__":
    main()
