"""The figures of docs/comparison.md, of when-not.md and of README, from experiments/results/comparison.csv."""

from __future__ import annotations

from figures.results import Row, column, mean, read_csv, read_tables, span, table, where

PATH = "experiments/results/comparison.csv"
THREE = ("mnist_spectral", "skin_segmentation", "walking_accelerometer")
FOUR = (*THREE, "kddcup99_10pct")
NAMES = {"skin_segmentation": "skin", "walking_accelerometer": "walking", "kddcup99_10pct": "kddcup99"}
LARGE = {
    "**sample + sketch**, `fit`": ("sample + sketch (fit)", "any"),
    "Birch, rows shuffled": ("Birch", "shuffled"),
    "a lightweight coreset": ("lightweight coreset", "any"),
    "a sample": ("sample", "any"),
    "a merged reservoir, eight sites": ("merged reservoir", "any"),
}
SMALL = {
    "**sketch alone**, `qckm sketch` and `qckm decode`": ("sketch alone", "any"),
    "a sample": ("sample", "any"),
    "a lightweight coreset": ("lightweight coreset", "any"),
    "MiniBatchKMeans, rows shuffled": ("MiniBatchKMeans", "shuffled"),
    "Spark's StreamingKMeans, rows shuffled": ("Spark StreamingKMeans", "shuffled"),
    "river's STREAMKMeans, rows shuffled": ("river STREAMKMeans", "shuffled"),
    "pycle": ("pycle", "any"),
}
FILE_ORDER = {
    "**`partial_fit`**, sample + sketch": ("stream", "sample + sketch (partial_fit)", "file"),
    "the same, rows shuffled": ("stream", "sample + sketch (partial_fit)", "shuffled"),
    "a sample of as many bytes": ("stream", "sample", "any"),
    "Birch": ("large", "Birch", "file"),
    "MiniBatchKMeans": ("small", "MiniBatchKMeans", "file"),
    "Spark's StreamingKMeans": ("small", "Spark StreamingKMeans", "file"),
    "river's STREAMKMeans": ("small", "river STREAMKMeans", "file"),
}


def runs(budget: str, method: str, order: str, data: str) -> list[Row]:
    """Return the runs of a method."""
    return where(read_csv(PATH), budget=budget, method=method, order=order, data=data)


def large() -> str:
    """Return the table of what keeps 5000 rows and a sketch, or as many bytes."""
    rows = [[title, *(_ratio(runs("large", *how, data)) for data in FOUR)] for title, how in LARGE.items()]
    return table(["kept: 5000 rows and a sketch, or as many bytes", *(NAMES.get(data, data) for data in FOUR)], rows)


def small() -> str:
    """Return the table of what keeps the bytes that a sketch once had, or fewer."""
    rows = [[title, *(_ratio(runs("small", *how, data)) for data in THREE)] for title, how in SMALL.items()]
    header = "kept: 21 kB (skin, walking: 4.4 kB), or less"
    return table([header, *(NAMES.get(data, data) for data in THREE)], rows)


def file_order() -> str:
    """Return the table of rows in the order of the file."""
    rows = []
    for title, how in FILE_ORDER.items():
        some = [runs(*how, data) for data in THREE]
        kept = " / ".join(
            dict.fromkeys(
                f"{mean(column(one, 'bytes')) / 1000:.3g}"
                if mean(column(one, "bytes")) < 1000
                else f"{mean(column(one, 'bytes')) / 1000:.0f}"
                for one in some
            )
        )
        rows.append([title, kept, *(_ratio(one) for one in some)])
    return table(["rows in the order of the file", "kB kept", *(NAMES.get(data, data) for data in THREE)], rows)


def choice() -> str:
    """Return README's table: what to use, by what may be kept."""
    few, many = (kept("small", "sketch alone", "any", data) for data in ("skin_segmentation", "mnist_spectral"))
    rows = [
        [f"{rows_of('stream')} rows", "**a sample**, and `KMeans`", excess("stream", "sample", form="{:.2f}")],
        [
            "5000 rows, and a sketch of all rows",
            "**qckm**: the 5000 rows, reweighted by the sketch (`fit`)",
            excess("large", "sample + sketch (fit)", form="{:.2f}"),
        ],
        [
            "5000 rows alone, and a few more for the bytes of the sketch",
            "a sample, and `KMeans`",
            excess("large", "sample", form="{:.2f}"),
        ],
        [
            f"no rows; a sketch of {few.split()[0]} to {many}",
            "**qckm**: the sketch alone (`sketch`, `decode`)",
            excess("small", "sketch alone"),
        ],
        [
            f"{rows_of('small')} rows alone: 4.4 to 21 kB",
            "a sample, and `KMeans`",
            excess("small", "sample"),
        ],
    ]
    return table(["you may keep, in one place", "use", "extra SSE compared with k-means on all rows"], rows)


def excess(budget: str, method: str, order: str = "any", form: str = "{:.1f}") -> str:
    """Return how far above the best the mean SSE is on the three data sets, in per cent: "1.4 to 3.1 %"."""
    return span(*_extremes(budget, method, order, THREE), form) + " %"


def excess_of(budget: str, method: str, data: str, order: str = "any") -> str:
    """Return the same for one data set."""
    return f"{_extremes(budget, method, order, (data,))[0]:.1f} %"


def worst_of(budget: str, method: str, order: str) -> str:
    """Return how far above the best the worst run on the three data sets is, in per cent."""
    found = [value for data in THREE for value in column(runs(budget, method, order, data), "sse")]
    return f"{100 * (max(found) - 1):.1f} %"


def times(method: str) -> str:
    """Return the mean SSE over the best as a factor, on the three data sets."""
    low, high = _extremes("small", method, "any", THREE)
    return span(1 + low / 100, 1 + high / 100, "{:.1f}")


def kept(budget: str, method: str, order: str, data: str) -> str:
    """Return the kilobytes that a method keeps."""
    kilobytes = mean(column(runs(budget, method, order, data), "bytes")) / 1000
    return f"{kilobytes:.3g} kB" if kilobytes < 1000 else f"{kilobytes / 1000:.1f} MB"


def rows_of(budget: str) -> str:
    """Return how many rows a sample of a budget holds, on the three data sets."""
    columns = {"mnist_spectral": 10, "skin_segmentation": 3, "walking_accelerometer": 3}
    counts = [mean(column(runs(budget, "sample", "any", data), "bytes")) / (8 * columns[data]) for data in THREE]
    if min(counts) > 1000:
        return span(round(min(counts), -3), round(max(counts), -3), "{:,.0f}").replace(",", " ")
    return span(min(counts), max(counts), "{:.0f}")


def gain(rival: str, *names: str) -> str:
    """Return the rival's excess over that of `fit`, on the data sets named."""
    factors = [
        _extremes("large", rival, "any", (data,))[0] / _extremes("large", "sample + sketch (fit)", "any", (data,))[0]
        for data in names or FOUR
    ]
    return span(min(factors), max(factors), "{:.2g}")


def peers() -> str:
    """Return the table of one pass over a large file."""
    rows = read_tables("benchmarks/results/peers.md")
    return table(
        [("" if name == "" else name) for name in ("", *rows[""])],
        [[n, *c] for n, c in rows.items() if n and set(n) != {"-"}],
    )


def peer(name: str, column_name: str) -> str:
    """Return a cell of that table."""
    rows = read_tables("benchmarks/results/peers.md")
    return rows[name][rows[""].index(column_name)]


def peer_excess(name: str) -> str:
    """Return a peer's SSE above the best, in per cent."""
    return f"{100 * (float(peer(name, 'SSE / best')) - 1):.2f} %"


def _ratio(rows: list[Row]) -> str:
    values = column(rows, "sse")
    return f"{mean(values):.4f}, {max(values):.3f}" if values else "–"


def _extremes(budget: str, method: str, order: str, names: tuple[str, ...]) -> tuple[float, float]:
    above = [100 * (mean(column(runs(budget, method, order, data), "sse")) - 1) for data in names]
    return min(above), max(above)
