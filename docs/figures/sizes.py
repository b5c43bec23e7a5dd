"""How large sketches are, from the library itself."""

from __future__ import annotations

import numpy as np

import qckm
from figures.results import Row, column, mean, read_csv, table, where

K = 10
NAMES = {"skin_segmentation": "skin", "walking_accelerometer": "walking", "kddcup99_10pct": "kddcup99"}


def files(*features: str) -> str:
    """Return the sums' and the file's size for some numbers of features, at m = 20nK and 10⁵ rows."""
    rows = []
    for n in map(int, features):
        m = max(100, 20 * n * K)
        operator = qckm.SketchOperator.draw(n, m, 1.0, frequencies="dense", random_state=0)
        sketch = operator.sketch(np.random.default_rng(0).normal(size=(1000, n)), np.full(1000, 100))
        parts = qckm.files.sizes(qckm.files.dumps(sketch))
        rows.append([str(n), f"{m:,}".replace(",", " "), _size(parts["sums"]), _size(sum(parts.values()))])
    return table(["n", "m", "sums", "file"], rows)


def default_m() -> str:
    """Return what more frequencies buy and cost, from experiments/results/default_m.csv."""
    runs = where(read_csv("experiments/results/default_m.csv"), **{"operator of": "pilot"})
    rows = []
    for data in dict.fromkeys(run["data"] for run in runs):
        for ratio in dict.fromkeys(run["m / nK"] for run in runs):
            some = where(runs, data=data, **{"m / nK": float(ratio)})
            rows.append([NAMES.get(data, data), f"{ratio}nK", _excess(some), *_costs(some)])
    return table(["", "m", "SSE above the best: mean, worst", "bytes", "ns a row", "seconds to decode"], rows)


def from_ranges(ratio: str) -> str:
    """Return the mean excess of operators made from ranges, over all their runs, in per cent."""
    runs = where(read_csv("experiments/results/default_m.csv"), **{"operator of": "ranges", "m / nK": float(ratio)})
    return f"{100 * mean(column(runs, 'excess')):.1f} %"


def _excess(runs: list[Row]) -> str:
    found = [100 * value for value in column(runs, "excess")]
    flagged = ", flagged" if all(run["converged"] == "False" for run in runs) else ""
    form = "{:.2f} %, {:.2f} %" if max(found) < 20 else "{:.0f} %, {:.0f} %"
    return form.format(mean(found), max(found)) + flagged


def _costs(runs: list[Row]) -> list[str]:
    times = (mean(column(runs, name)) for name in ("ns a row", "seconds"))
    return [
        _size(round(mean(column(runs, "bytes")))),
        *(f"{time:.2g}" if time < 100 else f"{time:.0f}" for time in times),
    ]


def _size(count: int) -> str:
    kilobytes = count / 1000
    if kilobytes >= 1000:
        return f"{kilobytes / 1000:.1f} MB"
    return f"{kilobytes:.0f} kB" if kilobytes >= 10 else f"{kilobytes:.1f} kB"
