"""Draw the pictures of how-it-works.md and of drift.md: `make pictures`, which writes docs/images/."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

import qckm
from qckm import plots

matplotlib.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).parent / "images"
CHOSEN = (0, 3, 10)
CENTERS = np.array([[-3.0, -1.0], [0.5, 2.5], [3.0, -2.0]])


def rows(count: int = 20_000) -> np.ndarray:
    rng = np.random.default_rng(0)
    return CENTERS[rng.choice(3, count, p=[0.5, 0.3, 0.2])] + 0.7 * rng.normal(size=(count, 2))


def a_sum() -> None:
    """Three of the frequencies as stripes over the rows, and the sums of all of them."""
    X = rows()
    operator = qckm.SketchOperator.draw(2, 20, 1.1, "concentrated-radius", random_state=5)
    z = operator.sketch(X).values()
    figure, axes = plt.subplots(1, 4, figsize=(14, 3.4), layout="constrained", width_ratios=[1, 1, 1, 1.3])
    side = np.linspace(-6, 6, 300)
    grid = np.stack(np.meshgrid(side, side), axis=-1)
    colours = ["tab:red", "tab:blue", "tab:green"]
    for ax, j, colour in zip(axes, CHOSEN, colours, strict=False):
        phase = (grid - operator.origin) @ operator.frequencies[:, j] + operator.phases[j]
        ax.imshow(operator.signature(phase), extent=(-6, 6, -6, 6), origin="lower", cmap="gray", vmin=-2.5, vmax=1.4)
        ax.plot(*X[:600].T, ".", ms=2, color=colour)
        ax.set(title=f"measurement {j}: mean {z[j]:+.2f}", xticks=[], yticks=[], xlabel="first column")
    axes[0].set_ylabel("second column")
    bars = axes[3].bar(np.arange(z.size), z, color="0.7")
    for j, colour in zip(CHOSEN, colours, strict=True):
        bars[j].set_color(colour)
    axes[3].axhline(0, color="black", lw=0.8)
    axes[3].set(title="the sketch: 40 means", xlabel="measurement", ylabel="mean", ylim=(-1, 1))
    figure.savefig(IMAGES / "a-sum.png", dpi=90)


def the_scale() -> None:
    """The same rows, seen at three scales."""
    X = rows()
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    for ax, scale, title in zip(axes, (4.4, 1.1, 0.3), ("too large", "right", "too small"), strict=True):
        operator = qckm.SketchOperator.draw(2, 150, scale, "concentrated-radius", random_state=0)
        plots.clustering(operator.sketch(X), rows=X[:400], ax=ax)
        ax.set(title=f"scale {scale}: {title}", xlabel="first column", ylabel="second column")
    figure.savefig(IMAGES / "the-scale.png", dpi=90)


def decoding() -> None:
    """What is left to explain of a sketch after none, one, two and three clusters."""
    X = rows()
    sketch = qckm.SketchOperator.draw(2, 150, 1.1, "concentrated-radius", random_state=0).sketch(X)
    figure, axes = plt.subplots(1, 4, figsize=(15, 4.2), layout="constrained", sharex=True, sharey=True)
    for found, ax in enumerate(axes):
        model = qckm.decode(sketch, found, random_state=0) if found else None
        plots.density(sketch if model is None else _less(sketch, model), ax, colorbar=False)
        ax.images[0].set_clim(-0.25, 0.25)  # one scale of colours for all four, so that what is explained fades
        if model is not None:
            ax.plot(*model.centers.T, "kx", ms=9, mew=2, ls="none", label="centroid")
        ax.set(title=f"{found} clusters" if found != 1 else "1 cluster", xlabel="first column", ylabel="")
    axes[0].set_ylabel("second column")
    axes[-1].legend(loc="upper right")
    figure.colorbar(axes[0].images[0], ax=axes, label="density left to explain", shrink=0.9, pad=0.01)
    figure.savefig(IMAGES / "decoding.png", dpi=90)


def drift() -> None:
    """Where rows came and went between two windows, and the weights of the clusters then and now."""
    rng = np.random.default_rng(0)
    usual = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])
    later = np.array([[0.0, 0.0], [6.7, 0.0], [0.0, 6.0], [6.0, 6.0], [11.0, 3.0]])
    operator = qckm.SketchOperator.draw(2, 200, 1.2, random_state=0)

    def window(centers: np.ndarray, shares: list[float]) -> qckm.Sketch:
        return operator.sketch(centers[rng.choice(len(shares), 20_000, p=shares)] + rng.normal(size=(20_000, 2)))

    before, after = window(usual, [0.4, 0.3, 0.2, 0.1]), window(later, [0.34, 0.3, 0.23, 0.1, 0.03])
    found = qckm.compare(before, after, clusters=4)
    why = found.explanation
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained", width_ratios=[1.5, 1])
    plots.witness(found, ax=axes[0])
    places = np.arange(4)
    axes[1].barh(places - 0.2, why.weights, 0.36, color="0.75", label="before")
    axes[1].barh(
        places + 0.2, why.weights + why.weight_changes, 0.36, xerr=2 * why.weight_errors, color="tab:red", label="after"
    )
    axes[1].set(yticks=places, ylabel="cluster", xlabel="share of the rows", title="weights then and now")
    axes[1].invert_yaxis()
    axes[1].legend(fontsize=8)
    figure.suptitle("\n".join(why.lines()), fontsize=9, x=0.01, ha="left")
    figure.savefig(IMAGES / "drift.png", dpi=90)


def _less(sketch: qckm.Sketch, model: qckm.Clustering) -> qckm.Sketch:
    """Take from a sketch what clusters of these centres, weights and spreads contribute, by drawing rows from them."""
    rng, count = np.random.default_rng(1), sketch.count
    which = rng.choice(len(model.centers), 50_000, p=model.weights)
    drawn = model.centers[which] + model.spreads[which, np.newaxis] * rng.normal(size=(50_000, 2))
    total = sketch.total - sketch.operator.sketch(drawn).values() * count
    return qckm.Sketch(sketch.operator, total, count, 0, tuple(bound.copy() for bound in sketch.bounds))


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    a_sum()
    the_scale()
    decoding()
    drift()
