"""The tables of docs/decoder.md, from experiments/decoder/results/."""

from __future__ import annotations

import statistics
from collections import Counter

from figures.results import Row, column, mean, read_csv, table, where

FOLDER = "experiments/decoder/results"
GOOD, ROUNDING = 1.05, 1e-3  # as in experiments/decoder/tables.py
SUCCESS = 1.2  # an SSE of at most so many times the best counts as a success, as in experiments/decoder/trials.py
RATIOS = (0.65, 0.75, 0.9, 1.0, 1.25)
PHASES = {
    "(a) n = 5, K = 2": ("two_clusters", 5, 2),
    "(a) n = 10": ("two_clusters", 10, 2),
    "(a) n = 20": ("two_clusters", 20, 2),
    "(b) n = 5, K = 4": ("corners", 5, 4),
    "(b) K = 10": ("corners", 5, 10),
    "(b) K = 20": ("corners", 5, 20),
    "K = n = 10": ("gaussians", 10, 10),
}
SHAPES = {
    "weights 1 : 20, K = n = 10": ("unequal_weights", 10, 10),
    "widths 1 : 4, K = n = 10": ("unequal_widths", 10, 10),
    "four times longer in a direction of its own, K = n = 10": ("elongated", 10, 10),
    "n = 2, K = 20 (they overlap)": ("gaussians", 2, 20),
    "n = 50, K = 5": ("gaussians", 50, 5),
    "K = n = 10": ("gaussians", 10, 10),
}
REAL = ("mnist_spectral", "skin_segmentation", "walking_accelerometer")
MORE = (3.0, 5.0, 10.0, 20.0, 40.0)
TABLES = (
    "phase",
    "shapes",
    "real",
    "more",
    "strangers",
    "near",
    "apart",
    "order",
    "heavy",
    "misleading",
    "wrong",
    "kdd",
    "many",
)


def runs(name: str, **wanted: object) -> list[Row]:
    """Return the one-bit runs of an experiment that have these values."""
    return where(read_csv(f"{FOLDER}/{name}.csv"), **{"signature": "one-bit", **wanted})


def ratio(rows: list[Row], name: str = "sse") -> str:
    """Return mean and worst of an SSE over the best, or a dash."""
    values = column(rows, name)
    return f"{mean(values):.3f}, {max(values):.3f}" if values else "–"


def phase() -> str:
    """Return the share of runs that succeed, one bit / full precision, by m/(nK)."""
    rows = []
    for title, (data, n, K) in PHASES.items():
        cells, seconds = [], []
        for times in RATIOS:
            both = [
                runs("phase", data=data, n=n, K=K, ratio=times, signature=name, init="sketch")
                for name in ("one-bit", "exponential")
            ]
            rates = [f"{mean([float(v <= SUCCESS) for v in column(some, 'sse')]):.2f}" for some in both if some]
            cells.append(" / ".join(rates) or "–")
            if times == 1:
                seconds = [f"{statistics.median(column(some, 'seconds')):.2f}" for some in both]
        rows.append([title, *cells, " / ".join(seconds)])
    return table(["", *(f"{times:g}" for times in RATIOS), "seconds at 1"], rows)


def shapes() -> str:
    """Return the SSE for clusters of several shapes: the sketch alone, with rows, the pilot alone."""
    return table(
        ["", "the sketch alone", '`init="auto"`', "pilot"], [_three("shapes", *case) for case in SHAPES.items()]
    )


def strangers() -> str:
    """Return the same for data sets that the decoder was not developed on."""
    cases = dict.fromkeys((row["data"], int(row["n"]), int(row["K"])) for row in read_csv(f"{FOLDER}/strangers.csv"))
    rows = [_three("strangers", name.replace("_", " "), (name, n, K)) for name, n, K in cases]
    for row, (_, n, K) in zip(rows, cases, strict=True):
        row.insert(1, f"{n}, {K}")
    return table(["", "n, K", "the sketch alone", '`init="auto"`', "pilot"], rows)


def apart() -> str:
    """Return the same for clusters far apart, and for rows without clusters, with seconds."""
    cases = dict.fromkeys((row["data"], int(row["n"]), int(row["K"])) for row in read_csv(f"{FOLDER}/apart.csv"))
    rows = [_three("apart", f"{name.replace('_', ' ')}, n = {n}, K = {K}", (name, n, K)) for name, n, K in cases]
    for row, (name, n, K) in zip(rows, cases, strict=True):
        alone = runs("apart", data=name, n=n, K=K, init="sketch")
        row.append(f"{statistics.median(column(alone, 'seconds')):.1f}")
    return table(["", "the sketch alone", '`init="auto"`', "pilot", "seconds, alone"], rows)


def near() -> str:
    """Return how many runs with near clusters among far ones are within 1.1, and how many others are flagged."""
    cases = dict.fromkeys((row["data"], int(row["n"])) for row in read_csv(f"{FOLDER}/near.csv"))
    rows = []
    for name, n in sorted(cases, key=lambda case: (case[0] == "groups", case[1])):
        some = runs("near", data=name, n=n)
        sizes = column(some, "sse")
        wrong = [row for row in some if float(row["sse"]) > 1.1]
        flagged = sum(row["converged"] == "False" for row in wrong)
        told = [f"{len(some) - len(wrong)} of {len(some)}", f"{flagged} of {len(wrong)}" if wrong else "–"]
        sse = f"{statistics.median(sizes):.3f}, {max(sizes):.3f}"
        rows.append([f"{name.replace('_', ' ')}, n = {n}", sse, *told])
    return table(["", "SSE: median, worst", "within 1.1", "the others: flagged"], rows)


def real() -> str:
    """Return by how many per cent the SSE is above the best on real data: mean and worst, and the seconds of a fit."""
    cases = [("real", data, times, "shuffled") for data in REAL for times in (5.0, 10.0, 20.0)]
    cases += [("order", data, 5.0, "file") for data in REAL[1:]] + [("kdd", "kddcup99_10pct", 5.0, "shuffled")]
    rows = []
    for name, data, times, order in cases:
        both = [runs(name, data=data, ratio=times, order=order, init=init) for init in ("sketch", "auto")]
        if not any(both):
            continue
        title = f"{data.replace('_', ' ')}{', rows in file order' * (order == 'file')}, {times:g}nK"
        told = [f"{_above(some)} ({len(some)} runs)" if some else "–" for some in both]
        cover = [f"{coverage(some):.2f}" if some else "–" for some in both]
        rows.append([title, told[0], told[1], _above(both[0] or both[1], "pilot"), " / ".join(cover)])
    header = ["", "the sketch alone", '`init="auto"`', "pilot", "intervals of the SSE cover, alone / auto"]
    return table(header, rows)


def more() -> str:
    """Return by how many per cent the SSE is above the best with more and more measurements."""
    rows = [[data.replace("_", " "), *(_above(runs("more", data=data, ratio=m)) for m in MORE)] for data in REAL]
    return table(["m / nK", *(f"{m:g}" for m in MORE)], rows)


def heavy() -> str:
    """Return the same for rows of which a few make up the SSE, and how many failures are flagged."""
    rows = []
    for data in dict.fromkeys(row["data"] for row in read_csv(f"{FOLDER}/heavy.csv")):
        both = [runs("heavy", data=data, init=init) for init in ("sketch", "auto")]
        failed = [row for some in both for row in some if float(row["sse"]) > SUCCESS]
        told = f"{_unsure(failed)} of {len(failed)}" if failed else "–"
        rows.append([data.replace("_", " "), *(ratio(some) for some in both), told])
    return table(["", "the sketch alone", '`init="auto"`', "failures flagged"], rows)


def _above(rows: list[Row], name: str = "sse") -> str:
    values = [100 * (value - 1) for value in column(rows, name)]
    return f"{mean(values):.1f}, {max(values):.1f} %" if values else "–"


def coverage(rows: list[Row]) -> float:
    """Return how often the SSE is within 1.645 standard errors of its estimate."""
    return mean([float(abs(float(row["estimate"]) - 1) <= 1.645 * float(row["error"])) for row in rows])


def many(init: str) -> str:
    """Return mean SSE and median seconds for K = 100."""
    rows = runs("many", K=100, init=init)
    return f"{mean(column(rows, 'sse')):.3f} in {statistics.median(column(rows, 'seconds')):.0f} s"


def many_seconds(init: str) -> str:
    """Return the median seconds for K = 100."""
    return f"{statistics.median(column(runs('many', K=100, init=init), 'seconds')):.0f} s"


def many_pilot() -> str:
    """Return the mean SSE of the pilot alone for K = 100."""
    return f"{mean(column(runs('many', K=100, init='auto'), 'pilot')):.3f}"


def verdict() -> str:
    """Return, by table, without rows and with: what is flagged, what was expected, and what the limits cover."""
    rows = []
    total: dict[str, list[Row]] = {"alone": [], "with rows": []}
    for name in TABLES:
        every = read_csv(f"{FOLDER}/{name}.csv")
        for kind, inits in (("alone", ("sketch",)), ("with rows", ("auto", "pilot"))):
            some = [row for row in every if row["init"] in inits]
            total[kind] += some
            if some:
                rows.append([f"{name}, {kind}", *_judged(some)])
    rows += [[f"all, {kind}", *_judged(some)] for kind, some in total.items()]
    rows.append(["all", *_judged(total["alone"] + total["with rows"])])
    header = [
        "",
        "runs",
        "failed: flagged",
        "good: flagged",
        "excess: true, told",
        "`excess_high` covers",
        "SSE covered",
    ]
    return table(header, rows)


def _judged(rows: list[Row]) -> list[str]:
    failed = [row for row in rows if float(row["sse"]) > SUCCESS]
    good = [row for row in rows if float(row["sse"]) <= GOOD]
    # A few failures of many times the SSE would be all of the mean.
    true = 100 * mean([min(float(row["sse"]) - 1, 1.0) for row in rows])
    told = 100 * mean([min(float(row["excess"]), 1.0) for row in rows])
    high = mean([float(float(row["sse"]) - 1 <= float(row["excess_high"]) + ROUNDING) for row in rows])
    return [
        str(len(rows)),
        f"{_unsure(failed)} of {len(failed)}" if failed else "–",
        f"{_unsure(good)} of {len(good)}" if good else "–",
        f"{true:.2f}, {told:.2f} %",
        f"{high:.0%}".replace("%", " %"),
        f"{coverage(rows):.0%}".replace("%", " %"),
    ]


def flagged(kind: str) -> str:
    """Return which share of failed or of good runs is flagged, over all tables."""
    every = [row for name in TABLES for row in read_csv(f"{FOLDER}/{name}.csv")]
    some = [row for row in every if (float(row["sse"]) > SUCCESS if kind == "failed" else float(row["sse"]) <= GOOD)]
    return f"{100 * _unsure(some) / len(some):.1f} % of {len(some)}"


def numbers() -> str:
    """Return how many numbers of the sources steer results, spend effort or are arithmetic."""
    planning = {"pilot", "request"}
    counts = Counter((row["kind"], row["module"] in planning) for row in read_csv("experiments/decoder/numbers.csv"))
    kinds = {
        "steers": "steers centroids, verdict or scale",
        "effort": "effort: more only costs time or memory",
        "arithmetic": "arithmetic: when to stop, what counts as zero, a formula's own factors",
    }
    rows = [[words, str(counts[kind, False]), str(counts[kind, True])] for kind, words in kinds.items()]
    return table(["kind", "decoder and choice of K", "scale and m"], rows)


def _three(name: str, title: str, case: tuple[str, int, int]) -> list[str]:
    data, n, K = case
    alone, auto = (runs(name, data=data, n=n, K=K, init=init) for init in ("sketch", "auto"))
    return [title, ratio(alone), ratio(auto), ratio(auto or alone, "pilot")]


def _unsure(rows: list[Row]) -> int:
    return sum(row["converged"] != "True" for row in rows)


def worst_auto(name: str) -> str:
    """Return how far above the best the worst run with rows is, in per cent."""
    return f"{100 * (max(column(runs(name, init='auto'), 'sse')) - 1):.1f} %"


def behind_pilot(data: str = "") -> str:
    """Return how much worse than its own pilot a run with rows is at most: on lognormal rows, or on the others."""
    rows = [row for row in runs("strangers", init="auto") if (row["data"] == "lognormal") is (data == "lognormal")]
    return f"{max(0.0, 100 * max(float(row['sse']) / float(row['pilot']) - 1 for row in rows)):.1f} %"
