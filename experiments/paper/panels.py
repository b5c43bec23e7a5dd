"""What the figures draw on a pair of axes: a success diagram to scale, curves side by side, means as points."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh

from paper.transition import Diagram

# m/(nK) of every panel of figure 2, whatever was measured there, so that panels can be compared.
RATIO_LIMITS, RATIO_TICKS = (0.41, 18.4), (0.5, 1, 2, 4, 8, 16)
_STYLES = ("o-", "s--", "^-.", "D:", "v-", "P--", "X-.")


def draw_diagram(ax: Axes, diagram: Diagram, lines: dict[str, np.ndarray], label: str) -> QuadMesh:
    """Draw success rates over m/(nK), on a logarithmic axis that all panels share, and lines of 50 %; return the cells.

    Each cell reaches half way, in ratio, to its neighbours. What was not measured is hatched.
    """
    ratios, rates = np.asarray(diagram.ratios, float), diagram.rates()
    middles = np.sqrt(ratios[1:] * ratios[:-1])
    edges = np.array([ratios[0] ** 2 / middles[0], *middles, ratios[-1] ** 2 / middles[-1]])
    places = np.arange(len(diagram.values))
    ax.patch.set(facecolor="0.92", edgecolor="0.7", hatch="xx", linewidth=0)
    cells = ax.pcolormesh(np.arange(len(places) + 1) - 0.5, edges, rates.T, cmap="gray", vmin=0, vmax=1)
    for (name, line), (style, colour) in zip(lines.items(), (("o-", "red"), ("o:", "gold")), strict=True):
        ax.plot(places, line, style, color=colour, ms=4, lw=2, label=name)
    ax.set(xticks=places, xticklabels=[f"{value:g}" for value in diagram.values], xlabel=label)
    ax.set(yscale="log", ylim=RATIO_LIMITS, ylabel="m / nK")
    ax.set_yticks(RATIO_TICKS, [f"{tick:g}" for tick in RATIO_TICKS])
    ax.minorticks_off()
    return cells


def draw_side_by_side(ax: Axes, x: np.ndarray, curves: dict[str, np.ndarray], apart: float = 1.02) -> None:
    """Draw curves over a logarithmic axis, each a little to the right of the one before, so that none hides another."""
    first = -(len(curves) - 1) / 2
    for number, (name, y) in enumerate(curves.items()):
        ax.plot(np.asarray(x) * apart ** (first + number), y, _STYLES[number % len(_STYLES)], ms=5, lw=1.2, label=name)


def draw_means(ax: Axes, means: list[tuple[str, int, float, float]]) -> None:
    """Draw (name, replicates, mean, deviation) as points with bars of a standard deviation, a line a name."""
    names = list(dict.fromkeys(name for name, *_ in means))
    for replicates, shift, shape in ((1, -0.13, "o"), (5, 0.13, "s")):
        ours = [(names.index(name) + shift, mean, bar) for name, r, mean, bar in means if r == replicates]
        if ours:
            y, x, bars = np.array(ours).T
            label = "1 run" if replicates == 1 else f"best of {replicates} runs"
            ax.errorbar(
                x, y, xerr=bars, fmt=shape, ms=6, capsize=4, color="C0" if replicates == 1 else "C1", label=label
            )
    ax.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
