"""The table of docs/guide/privacy.md, from experiments/results/privacy.csv: every point that was measured, as it is."""

from __future__ import annotations

import statistics

from figures.results import Row, column, read_csv, table, where

PATH = "experiments/results/privacy.csv"
KINDS = {
    "scale": "K = n = 10 Gaussians, public scale",
    "ranges": "K = n = 10 Gaussians, public ranges",
    "skin_segmentation": "skin, public ranges",
    "walking_accelerometer": "walking, public ranges",
    "mnist_spectral": "mnist_spectral, public ranges",
    "local-2": "one bit a device, K = 5, n = 2",
    "local-10": "one bit a device, K = n = 10",
}


def measured() -> str:
    """Return every point: rows, ε, runs, median and greatest SSE over the best, how many were flagged, and peers."""
    rows = read_csv(PATH)
    points = sorted(dict.fromkeys(row["point"] for row in rows), key=lambda point: _place(where(rows, point=point)))
    header = ["", "rows", "ε", "runs", "median (greatest)", "flagged", "DP-Lloyd", "diffprivlib"]
    return table(header, [_line(point, where(rows, point=point)) for point in points])


def flagged(least: str, most: str) -> str:
    """Return how many of the runs within these ratios the verdict flags: "4 of 4"."""
    own = [row for row in where(read_csv(PATH), method="qckm") if float(least) <= float(row["sse_ratio"]) < float(most)]
    return f"{sum(row['converged'] != 'True' for row in own)} of {len(own)}"


def audit(what: str, of: str) -> str:
    """Return a value of experiments/results/privacy_audit.csv, with two decimals, or none where it is large."""
    value = float(where(read_csv("experiments/results/privacy_audit.csv"), what=what, of=of)[0]["found"])
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _place(rows: list[Row]) -> tuple[int, float, float]:
    return list(KINDS).index(_kind(rows[0]["point"])), float(rows[0]["rows"]), -float(rows[0]["epsilon"])


def _kind(point: str) -> str:
    return point if point in KINDS else point.partition("-")[0]


def _line(point: str, rows: list[Row]) -> list[str]:
    own = where(rows, method="qckm")
    ratios = column(own, "sse_ratio")
    found = f"{statistics.median(ratios):.3f} ({max(ratios):.3f})" if own else "not measured"
    unsure = str(sum(row["converged"] != "True" for row in own)) if own else ""
    peers = [column(where(rows, method=name), "sse_ratio") for name in ("dp-lloyd", "diffprivlib")]
    count = f"{int(rows[0]['rows']):,}".replace(",", " ")
    title = KINDS[_kind(point)]
    return [title, count, f"{float(rows[0]['epsilon']):g}", str(len(own)), found, unsure] + [
        f"{statistics.median(some):.2f}" if some else "" for some in peers
    ]
