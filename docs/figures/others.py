"""Figures of smaller experiments, from experiments/results/: mixtures, components, the choice of K, the demo."""

from __future__ import annotations

import statistics

from figures.results import ROOT, Row, column, read_csv, span, table, where

FOLDER = "experiments/results"
KINDS = ("spherical", "diag", "full")
RATIOS = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0)


def pca() -> str:
    """Return the median sine of the largest angle to the components of all rows."""
    results = read_csv(f"{FOLDER}/pca.csv")
    rows = []
    for title, n in (("n = 20, r = 3", 20), ("n = 50, r = 5", 50)):
        for name, signature, what in (
            ("one bit", "one-bit", "sine"),
            ("full precision", "exponential", "sine"),
            ("PCA on rows of as many bytes", "one-bit", "sine_of_rows"),
        ):
            found = [where(results, n=n, m_over_rn=times, signature=signature) for times in RATIOS]
            cells = [_sine(statistics.median(column(some, what))) if some else "" for some in found]
            rows.append([title if name == "one bit" else "", name, *cells])
    return table(["", "m / (r·n)", *(f"{times:g}" for times in RATIOS)], rows)


def exact_pca() -> str:
    """Return the sine of the largest angle to the components of all rows, where covariances are known."""
    rows = []
    for one in read_csv(f"{FOLDER}/exact_pca.csv"):
        if one["r"] in ("1", "3"):
            how = "standardised" if one["standardized"] == "True" else "as it is"
            clipped = f"{int(one['clipped'])} of {int(one['rows']):,}".replace(",", " ")
            rows.append([f"{one['data']}, {how}", one["n"], clipped, *(one[name] for name in HEAD)])
    return table(["", "n", "clipped rows", "r", "gap of variances", "rows as coded", "rows as they are"], rows)


HEAD = ("r", "gap", "sine_as_coded", "sine_as_they_are")


def _sine(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def pca_once() -> str:
    """Return the sine of the one run of n = 100."""
    return f"{column(where(read_csv(f'{FOLDER}/pca.csv'), n=100), 'sine')[0]:.3f}"


def mixtures(what: str, init: str = "rows") -> str:
    """Return the loss against EM on all rows, in nats per row: "median", "worst", or how many "runs" there are."""
    losses = column(where(read_csv(f"{FOLDER}/mixtures.csv"), init=init), "loss_to_em")
    shown = {"median": f"{statistics.median(losses):.4f}", "worst": f"{max(losses):.4f}"}
    return {**shown, "runs": str(len(losses))}[what]


def mixtures_real() -> str:
    """Return the losses on real data, in nats per row, from the least to the worst."""
    results = read_csv(f"{FOLDER}/mixtures_real.csv")
    rows = []
    for name in ("mnist", "skin", "walking"):
        losses = [column(where(results, data=name, covariance=kind), "loss_to_em") for kind in KINDS]
        rows.append([name, *(f"{min(some):.3f} to {max(some):.3f}" for some in losses)])
    return table(["", *KINDS], rows)


def anomalies() -> str:
    """Return the areas under the ROC curve."""
    results = read_csv(f"{FOLDER}/anomalies.csv")
    titles = {"clean": "normal connections", "contaminated": "normal ones with 3 % of attacks"}
    rows = []
    for name, title in titles.items():
        mine = where(results, fitted_to=name)
        rows.append([title, *(", ".join(row[key] for row in mine) for key in ("auc_mixture", "auc_isolation_forest"))])
    return table(["fitted to", "mixture from a sketch", "IsolationForest on the rows"], rows)


def choosing_k(init: str = "sketch", of: str = "many", chosen: str = "chosen") -> str:
    """Return how often the number of clusters was right, of sets of "many" clusters or of "one"."""
    rows = [row for row in read_csv(f"{FOLDER}/choosing_k.csv") if row["init"] == init]
    rows = [row for row in rows if (row["K"] == "1") == (of == "one")]
    return f"{sum(row['K'] == row[chosen] for row in rows)} of {len(rows)}"


def choosing_k_seconds(init: str) -> str:
    """Return the median time, in seconds of CPU, and the longest."""
    times = column(where(read_csv(f"{FOLDER}/choosing_k.csv"), init=init), "cpu_seconds")
    return f"{statistics.median(times):.1f} s (at most {max(times):.1f} s)"


def medians(path: str, name: str, *wanted: str) -> str:
    """Return the median of a column, with three decimals, where other columns have values such as "n=64"."""
    return f"{statistics.median(column(_chosen(path, wanted), name)):.3f}"


def worst(path: str, name: str, *wanted: str) -> str:
    """Return its greatest value."""
    return f"{max(column(_chosen(path, wanted), name)):.3f}"


def extent(path: str, name: str, form: str, *wanted: str) -> str:
    """Return its least and its greatest value."""
    values = column(_chosen(path, wanted), name)
    return span(min(values), max(values), form)


def _chosen(path: str, wanted: tuple[str, ...]) -> list[Row]:
    pairs = dict(pair.split("=", 1) for pair in wanted)
    return where(read_csv(f"{FOLDER}/{path}.csv"), **{key: _number(value) for key, value in pairs.items()})


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def law(name: str) -> str:
    """Return median and worst SSE of a law at 0.9 radians per deviation, K = n = 10."""
    row = _chosen("defaults", ("data=K = n = 10", f"law={name}", "radians_a_deviation=0.9", "init=auto"))[0]
    return f"{float(row['median_sse_ratio']):.3f}, worst {float(row['worst_sse_ratio']):.3f}"


def octaves(data: str) -> str:
    """Return the median (worst) SSE of the octave chosen, and of a pilot."""
    rows = where(read_csv(f"{FOLDER}/octaves.csv"), data=data)
    found = [column(rows, name) for name in ("sse_chosen", "sse_pilot")]
    mine, pilot = (f"{statistics.median(values):.3f} ({max(values):.3f})" for values in found)
    return f"{mine}, pilot {pilot}"


def recipe(law: str) -> str:
    """Return the mean excess of a law on mnist, skin and walking, in per cent."""
    values = [f"{100 * value:.1f}" for value in column(_chosen("recipe", (f"law={law}",)), "mean")]
    return f"{', '.join(values)} %"


def demo() -> str:
    """Return the table of `make demo`, from experiments/results/demo.txt, which is what it printed."""
    lines = (ROOT / FOLDER / "demo.txt").read_text().splitlines()
    header = ["", "SSE / KMeans", "ARI", "bytes kept", "data / kept", "seconds"]
    rows = [[line[:34].strip(), *(cell.replace(",", " ") for cell in line[34:].split())] for line in lines[2:5]]
    return table(header, rows)


def heavy_tails() -> str:
    """Return the SSE over the best, on average and at worst, with a uniform sample and with `fit`'s."""
    results, rows = read_csv(f"{FOLDER}/heavy_tails.csv"), []
    for data in dict.fromkeys(row["data"] for row in results):
        found = [column(where(results, data=data, sample=name), "sse") for name in ("uniform", "leverage")]
        rows.append([data, *(f"{value:.3f}" for some in found for value in (statistics.mean(some), max(some)))])
    return table(["", "uniform: mean", "worst", "`fit`: mean", "worst"], rows)
