"""The figures of docs/paper.md, from experiments/paper/results/ (summary.md is written by `make paper`)."""

from __future__ import annotations

import math
from functools import cache

from figures.results import ROOT, column, read_csv, span, where

SETTINGS = {
    "toolbox": "CL-OMPR, the paper's law and scale",
    "radians": "CL-OMPR, the paper's law, 0.6 radians a deviation",
    "ours": "CL-OMPR, qckm's law and scale",
    "default": 'the default decoder, init="sketch"',
}


@cache
def sections() -> dict[str, list[list[str]]]:
    """Return the rows of the summary's tables, by the paragraph or the first cell that they stand under."""
    found: dict[str, list[list[str]]] = {}
    title, previous = "", ""
    for line in (ROOT / "experiments/paper/results/summary.md").read_text().splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.replace(r"\|", "¦").strip("|").split("|")]
            if not previous.startswith("|"):
                found[title if cells[0] in ("", "signature", "rms ‖ω‖ × deviation") else cells[0]] = rows = []
            rows.append(cells)
        elif line:
            title = line
        previous = line
    return found


def _section(start: str) -> list[list[str]]:
    return next(rows for title, rows in sections().items() if title.startswith(start))


def _row(start: str, *names: str) -> dict[str, str]:
    rows = _section(start)
    cells = next(row for row in rows[1:] if row[: len(names)] == list(names))
    return dict(zip(rows[0], cells, strict=True))


def ratio(panel: str, setting: str) -> str:
    """Return what one bit costs over full precision in figure 2a or 2b."""
    return _row(f"Figure 2{panel}", f"{SETTINGS[setting]}, one-bit")["one bit / full"]


def interval(panel: str, setting: str) -> str:
    """Return its interval."""
    return _row(f"Figure 2{panel}", f"{SETTINGS[setting]}, one-bit")["95 %"]


def crossing(panel: str, setting: str, place: str, signature: str = "one-bit", form: str = "{:.2f}") -> str:
    """Return m/(nK) at 50 % success for one n or K ("n = 2"), or for a span of them ("n = 3 … n = 32")."""
    row = _row(f"Figure 2{panel}", f"{SETTINGS[setting]}, {signature}")
    names = list(row)
    first, _, last = place.partition(" … ")
    values = [float(row[name]) for name in names[names.index(first) : names.index(last or first) + 1]]
    return span(min(values), max(values), form)


def ratio_at(panel: str, setting: str, place: str) -> str:
    """Return what one bit costs at one n or K, or the least and greatest over a span."""
    rows = [_row(f"Figure 2{panel}", f"{SETTINGS[setting]}, {name}") for name in ("one-bit", "exponential")]
    names = list(rows[0])
    first, _, last = place.partition(" … ")
    chosen = names[names.index(first) : names.index(last or first) + 1]
    values = [float(rows[0][name]) / float(rows[1][name]) for name in chosen]
    return span(min(values), max(values), "{:.2f}")


def radians(length: str, data: str, what: str = "ratio") -> str:
    """Return what one bit costs at a length of the frequencies."""
    return _row("What one bit costs", length, data)[what]


def zoo(signature: str) -> str:
    """Return the measurements that a signature needs over those of the exponential."""
    return _row("The signature zoo", signature)["m over that of the exponential"]


def fig3(method: str, replicates: str, what: str) -> str:
    """Return a cell of figure 3: "SSE/N", "ARI" or "dropped by the rule"."""
    return _row("Figure 3", method, replicates)[what]


def fig3_mean(method: str, replicates: str, what: str) -> str:
    """Return the mean only."""
    return fig3(method, replicates, what).partition(" ")[0]


def fig3_deviation(method: str, replicates: str) -> str:
    """Return the standard deviation of SSE/N."""
    return f"{float(fig3(method, replicates, 'SSE/N').rpartition(' ')[2]):.2f}"


def outliers(method: str, replicates: str) -> str:
    """Return how many of the experiments Tukey's rule would drop."""
    words = fig3(method, replicates, "dropped by the rule").replace(",", "").split()
    return str(int(words[0]) + int(words[2]))


def size(data: str, method: str, kept: str) -> str:
    """Return how far the median SSE is above k-means on all rows with so many bytes kept, in per cent."""
    value = float(_row(data, method)[f"{kept} bytes"].partition(" ")[0])
    return f"{100 * (value - 1):.0f} %" if value > 1.01 else f"{100 * (value - 1):.1f} %"


def slopes() -> str:
    """Return the slopes of the error against m, least squares on logarithms, over the signatures."""
    rows = read_csv("experiments/paper/results/proposition1.csv")
    found = []
    for name in dict.fromkeys(row["signature"] for row in rows):
        mine = where(rows, signature=name)
        x, y = ([math.log(value) for value in column(mine, key)] for key in ("m", "rms_error"))
        middle, height = sum(x) / len(x), sum(y) / len(y)
        found.append(
            sum((a - middle) * (b - height) for a, b in zip(x, y, strict=True)) / sum((a - middle) ** 2 for a in x)
        )
    return span(max(found), min(found), "{:.2f}").replace("-", "−")


def bounds() -> str:
    """Return how many times the proposition's bound is what was seen."""
    rows = read_csv("experiments/paper/results/proposition1.csv")
    found = [float(row["bound_95"]) / float(row["rms_error"]) for row in rows]
    return span(min(found), max(found), "{:.0f}")


def integers() -> str:
    """Return the greatest change of an SSE, over the best, that integer phases made."""
    rows = read_csv("experiments/results/quantisation.csv")
    largest = max(abs(float(row["sse_integers"]) - float(row["sse_float64"])) for row in rows)
    return f"{math.ceil(largest * 1e5) / 1e5:.5f}"
