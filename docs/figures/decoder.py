"""The tables of docs/decoder.md, from experiments/decoder/results/."""

from __future__ import annotations

import statistics
from collections import Counter

from figures.results import ROOT, Row, column, mean, read_csv, table, where

FOLDER = "experiments/decoder/results"
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
REAL = {
    "mnist_spectral": ("real", "mnist_spectral", 10.0, "shuffled"),
    "the same, fewer frequencies": ("real", "mnist_spectral", 5.0, "shuffled"),
    "the same, fewer still": ("real", "mnist_spectral", 3.0, "shuffled"),
    "skin / 255": ("real", "skin_segmentation", 10.0, "shuffled"),
    "the same, half the frequencies": ("real", "skin_segmentation", 5.0, "shuffled"),
    "walking_accelerometer": ("real", "walking_accelerometer", 10.0, "shuffled"),
    "the same, half of them": ("real", "walking_accelerometer", 5.0, "shuffled"),
    "skin, rows in file order": ("order", "skin_segmentation", 10.0, "file"),
    "walking, rows in file order": ("order", "walking_accelerometer", 10.0, "file"),
    "kddcup99 (log1p, standardised)": ("kdd", "kddcup99_10pct", 10.0, "shuffled"),
}


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
    """Return the SSE for clusters of several shapes: the sketch alone, with the pilot's rows, the pilot alone."""
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
    """Return the SSE, the seconds and the coverage of intervals on real data."""
    rows = []
    for title, (name, data, times, order) in REAL.items():
        both = [runs(name, data=data, ratio=times, order=order, init=init) for init in ("sketch", "auto")]
        counted = [f"{ratio(some)} ({len(some)} runs)" if some else "–" for some in both]
        seconds = [f"{statistics.median(column(some, 'seconds')):.1f}" if some else "–" for some in both]
        cover = f"{coverage(both[1]):.2f}" if both[1] else "–"
        any_of = both[0] or both[1]
        rows.append([title, any_of[0]["m"], counted[0], ratio(any_of, "pilot"), counted[1], " / ".join(seconds), cover])
    header = ["", "m", "the sketch alone", "pilot", '`init="auto"`', "seconds, alone / auto", "intervals cover, auto"]
    return table(header, rows)


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
    """Return how many failed and good runs from the sketch alone were flagged, by experiment."""
    rows, total = [], [0] * 4
    for name in ("phase", "shapes", "real", "strangers", "apart", "order", "kdd", "many", "scale"):
        alone = where(read_csv(f"{FOLDER}/{name}.csv"), init="sketch")
        counts = _flagged(alone)
        total = [one + more for one, more in zip(total, counts, strict=True)]
        rows.append([name, *_shares(counts)])
    rows.append(["all", *_shares(total)])
    header = ["runs from the sketch alone", "failed", "of these flagged", "good", "of these flagged"]
    return table(header, rows)


def verdict_missed() -> str:
    """Return how many failures of the sketch alone no verdict flags."""
    every = [row for path in _experiments() for row in where(read_csv(path), init="sketch")]
    failed, flagged, _, _ = _flagged(every)
    return str(failed - flagged)


def covered(init: str) -> str:
    """Return how often nominal 90 % intervals for the SSE hold it, over all runs of an init."""
    every = [row for path in _experiments() for row in where(read_csv(path), init=init)]
    return f"{coverage(every):.0%} of {len(every)} runs".replace("%", " %")


def numbers() -> str:
    """Return how many numbers of the sources steer results, spend effort or are arithmetic."""
    planning = {"scale", "frequency_count"}
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


def _experiments() -> list[str]:
    paths = sorted((ROOT / FOLDER).glob("*.csv"))
    return [f"{FOLDER}/{path.name}" for path in paths if not path.name.startswith("kmeans-")]


def _flagged(rows: list[Row]) -> list[int]:
    failed = [row for row in rows if float(row["sse"]) > SUCCESS]
    good = [row for row in rows if float(row["sse"]) <= SUCCESS]
    return [len(failed), _unsure(failed), len(good), _unsure(good)]


def _unsure(rows: list[Row]) -> int:
    return sum(row["converged"] != "True" for row in rows)


def _shares(counts: list[int]) -> list[str]:
    failed, flagged, good, doubted = counts
    return [
        str(failed),
        f"{flagged} ({flagged / failed:.0%})" if failed else "0",
        str(good),
        f"{doubted} ({doubted / good:.1%})" if good else "0",
    ]


def worst_auto(name: str) -> str:
    """Return how far above the best the worst run with the pilot's rows is, in per cent."""
    return f"{100 * (max(column(runs(name, init='auto'), 'sse')) - 1):.1f} %"


def behind_pilot(data: str = "") -> str:
    """Return how much worse than its own pilot a run with rows is at most: on lognormal rows, or on the others."""
    rows = [row for row in runs("strangers", init="auto") if (row["data"] == "lognormal") is (data == "lognormal")]
    return f"{max(0.0, 100 * max(float(row['sse']) / float(row['pilot']) - 1 for row in rows)):.1f} %"
