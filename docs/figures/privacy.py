"""The tables of docs/guide/privacy.md, from experiments/results/: every point that was measured, as it is."""

from __future__ import annotations

import statistics

from figures.markers import ROOT
from figures.results import Row, column, mean, read_csv, table, where

PATH, ORDINARY = (f"experiments/results/{name}.csv" for name in ("privacy", "privacy_ordinary"))
KINDS = {
    "scale": "public scale",
    "ranges": "public ranges",
    "local-2": "one bit per device, K = 5, n = 2",
    "local-10": "one bit per device, K = n = 10",
    "skin_segmentation": "skin",
    "walking_accelerometer": "walking",
    "mnist_spectral": "mnist_spectral",
}
REAL = ("skin_segmentation", "walking_accelerometer", "mnist_spectral")
PEERS = {"DP-Lloyd": "dp-lloyd", "diffprivlib": "diffprivlib"}


def measured() -> str:
    """Return every point that was measured, synthetic data first, then real data beside peers."""
    rows = read_csv(PATH)
    points = sorted(dict.fromkeys(row["point"] for row in rows), key=lambda point: _place(where(rows, point=point)))
    header = ["rows", "ε", "runs", "median", "mean", "greatest", "flagged"]
    tables = []
    for title, peers in (("K = n = 10 Gaussians, and devices", ()), ("real data, public ranges", PEERS)):
        mine = [point for point in points if (_kind(point) in REAL) is bool(peers)]
        lines = [_line(point, where(rows, point=point), tuple(peers)) for point in mine]
        tables.append(table([title, *header, *(f"{name}: median" for name in peers)], [line for line in lines if line]))
    versions = sorted({row["code"] for row in rows if row.get("code")})
    if len(versions) > 1:
        tables.append(f"The runs were made with {len(versions)} versions of the sources ({', '.join(versions)}).")
    return "\n\n".join(tables)


def flagged(least: str, most: str) -> str:
    """Return how many of the runs within these ratios the verdict flags: "4 of 4"."""
    own = [row for row in where(read_csv(PATH), method="qckm") if float(least) <= float(row["sse_ratio"]) < float(most)]
    return f"{sum(row['converged'] != 'True' for row in own)} of {len(own)}"


def audit(what: str, of: str) -> str:
    """Return a value of experiments/results/privacy_audit.csv, with two decimals, or none where it is large."""
    value = float(where(read_csv("experiments/results/privacy_audit.csv"), what=what, of=of)[0]["found"])
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _place(rows: list[Row]) -> tuple[int, float, float]:
    kinds = list(KINDS)
    kind = _kind(rows[0]["point"])
    place = kinds.index(kind) if kind in kinds else len(kinds)
    return place, float(rows[0]["rows"]), -float(rows[0]["epsilon"])


def _kind(point: str) -> str:
    return point if point in KINDS else point.partition("-")[0]


def _line(point: str, rows: list[Row], peers: tuple[str, ...]) -> list[str]:
    """Return a point's cells; none where there is no run of qckm."""
    own = where(rows, method="qckm")
    if not own:
        return []
    ratios = column(own, "sse_ratio")
    figures = [f"{value:.3f}" for value in (statistics.median(ratios), mean(ratios), max(ratios))]
    unsure = str(sum(row["converged"] != "True" for row in own))
    others = [column(where(rows, method=PEERS[name]), "sse_ratio") for name in peers]
    count = f"{int(own[0]['rows']):,}".replace(",", " ")
    cells = [KINDS.get(_kind(point), point), count, f"{float(own[0]['epsilon']):g}", str(len(own)), *figures, unsure]
    return cells + [f"{statistics.median(some):.2f}" if some else "not run" for some in others]


def guide() -> str:
    """Return all that experiments/privacy_table.py puts into the guide."""
    import sys

    sys.path.insert(0, str(ROOT / "experiments"))
    import privacy_table

    results = privacy_table.RESULTS
    lines, audit = (privacy_table.read(results / f"{name}.csv") for name in ("privacy", "privacy_audit"))
    return "\n".join(privacy_table.everything(lines, audit))


def ordinary() -> str:
    """Return the same noisy sums decoded as private ones and as ordinary ones, point by point."""
    rows = read_csv(ORDINARY)
    points = dict.fromkeys((row["set"], row["epsilon"]) for row in rows)
    lines = []
    for name, budget in sorted(points, key=lambda point: (point[0], float(point[1]))):
        both = [where(rows, set=name, epsilon=budget, **{"decoded as": how}) for how in ("private", "ordinary")]
        private, plain = ({row["seed"]: float(row["sse_ratio"]) for row in some} for some in both)
        more = [private[seed] - plain[seed] for seed in private]
        error = statistics.stdev(more) / len(more) ** 0.5
        means = [f"{mean(list(ratios.values())):.3f}" for ratios in (private, plain)]
        unsure = " / ".join(str(sum(row["converged"] != "True" for row in some)) for some in both)
        difference = "the same" if not any(more) else f"{mean(more):+.4f} ± {error:.4f}"
        title = name.replace("_", " ").replace("accelerometer", "").strip()
        lines.append([title, budget, str(len(more)), *means, difference, unsure])
    return table(["data", "ε", "runs", "private", "ordinary", "difference", "flagged: private / ordinary"], lines)


def ordinary_flagged(least: str, most: str) -> str:
    """Return how many of the private decodes within these ratios the verdict flags: "4 of 4"."""
    own = where(read_csv(ORDINARY), **{"decoded as": "private"})
    some = [row for row in own if float(least) <= float(row["sse_ratio"]) < float(most)]
    return f"{sum(row['converged'] != 'True' for row in some)} of {len(some)}"


def shops() -> str:
    """Return what noise of each shop costs beside one noise for all and none."""
    rows = read_csv("experiments/results/privacy_shops.csv")
    lines = []
    for point in dict.fromkeys(row["point"] for row in rows):
        own = where(rows, point=point)
        cells = [_shop_cell(where(own, noise=noise)) for noise in ("none", "central", "shops")]
        unsure = [
            str(sum(row["converged"] != "True" for row in where(own, noise=noise))) for noise in ("central", "shops")
        ]
        name = KINDS.get(point, "K = n = 10 Gaussians")
        count = int(own[0]["rows"])
        digits = [f"{value:,}".replace(",", " ") for value in (count, count // 40)]
        lines.append([name, *digits, str(len({row["seed"] for row in own})), *cells, " / ".join(unsure)])
    header = ["data", "rows", "per shop", "runs", "no noise", "one release", "40 releases", "flagged: one / 40"]
    return table(header, sorted(lines, key=lambda line: (line[0].startswith("K"), line)))


def _shop_cell(rows: list[Row]) -> str:
    ratios = column(rows, "sse_ratio")
    return f"{statistics.median(ratios):.3f} ({max(ratios):.3f})"
