"""The tables of docs/guide/drift.md, from experiments/drift/results/."""

from __future__ import annotations

from figures.results import column, read_csv, table, where

FOLDER = "experiments/drift/results"
TESTS = ("largest", "whitened", "squares", "blocks")
POWER = {
    "`largest`, no row": "largest",
    "`whitened`, 2000 reference rows": "whitened",
    "KS, all rows": "KS a column, all rows kept",
    "MMD, 500 rows": "MMD permutation, 500 rows kept",
}
DATA = ("skin", "walking", "kddcup99", "uniform", "gaussians")


def levels() -> str:
    """Return the share of false alarms at 5 %, for windows of equal size and one bit."""
    rows = []
    for size in (500, 5000, 50_000):
        for data in DATA:
            some = where(read_csv(f"{FOLDER}/levels.csv"), data=data, rows_a=size, rows_b=size)
            if some:
                cells = [column(where(some, statistic=test), "level_5_percent") for test in TESTS]
                shown = [f"{values[0]:.1f} %" if values else "–" for values in cells]
                rows.append([f"{size:,}".replace(",", " "), data, *shown])
    return table(["rows per window", "data", *(f"`{test}`" for test in TESTS)], rows)


def power() -> str:
    """Return how often drift was found, beside two tests that keep rows."""
    results = read_csv(f"{FOLDER}/power.csv")
    rows = []
    for change in dict.fromkeys(row["change"] for row in results):
        found = [where(results, change=change, statistic=name) for name in POWER.values()]
        rows.append([change, *(f"{float(some[0]['percent']):.0f} %" if some else "–" for some in found)])
    return table(["", *POWER], rows)


def culprits() -> str:
    """Return how often the change was named."""
    results = read_csv(f"{FOLDER}/culprits.csv")
    rows = []
    for change in dict.fromkeys(row["change"] for row in results):
        named = [row["named"] == "1" for row in where(results, change=change)]
        title = "none: nothing is named" if change == "none" else change
        rows.append([title, f"{sum(named)} of {len(named)}"])
    return table(["change", "culprit named"], rows)


def dependence() -> str:
    """Return the false alarms where rows depend on their neighbours."""
    results = sorted(read_csv(f"{FOLDER}/dependence.csv"), key=lambda row: int(row["rows"]))
    rows = []
    for row in results:
        name, _, parts = row["test"].partition(", ")
        test = f"`{name}`" + (f", {parts}" if parts else "")
        alarms = f"{row['alarms']} of {row['pairs']} ({float(row['percent']):.0f} %)"
        rows.append([row["windows"], row["rows"], test, alarms])
    return table(["windows", "rows", "test", "alarms"], rows)


def effects() -> str:
    """Return how large changes are said to be, beside how large they are."""
    rows = []
    for row in read_csv(f"{FOLDER}/effects.csv"):
        size, error = float(row["median_effect"]), float(row["median_error"])
        many = f"{int(row['rows']):,}".replace(",", " ")
        told = f"{size:.2%} ± {error:.2%}".replace("%", " %")
        rows.append(
            [row["change"], many, f"{float(row['share']):.0%}".replace("%", " %"), told, row["above_by_two_errors"]]
        )
    return table(["change", "rows per window", "share that changed", "median effect", "above it by two errors"], rows)
