"""Draw every figure from the tables in results/, and write the numbers that belong to it to results/summary.md.

python -m paper.figures        # in experiments/; draws what has been measured, writes to ../docs/images/paper/
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from curves import trade_off
from paper import proposition1
from paper.mnist import table_of as mnist_table
from paper.mnist import whole
from paper.panels import draw_diagram, draw_means, draw_side_by_side
from paper.phase import SHAPES, VARIANTS
from paper.runner import RESULTS
from paper.size import table_of as size_table
from paper.transition import RESAMPLES, Cost, Diagram, cost, diagrams

IMAGES = Path(__file__).parents[2] / "docs" / "images" / "paper"
DITHERED = {"exponential": "CKM, exponential", "one-bit": "QCKM, one bit"}
PAPER = {"2a": 1.13, "2b": 1.23}


def phase_figure(figure: str, folder: Path, images: Path) -> list[str]:
    """Figure 2: a diagram of QCKM for each way to decode, with both lines; return a table of the lines."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch

    titles = {
        "paper": "CL-OMPR, the paper's law and scale",
        "radians-0.6": "CL-OMPR, the paper's law, 0.6 radians a deviation",
        "clompr": "CL-OMPR, qckm's law and scale",
        "matched": 'the default decoder, init="sketch"',
    }
    measured = {name: found for name in titles if len(found := diagrams(figure, name, folder)) == 2}
    measured = {name: found for name, found in measured.items() if name != "radians-0.6" or _is_whole(found, figure)}
    if not measured:
        return []
    n_rows = -(-len(measured) // 2)
    size = {"figsize": (10.4, 4 * n_rows), "layout": "constrained", "squeeze": False}
    canvas, axes = plt.subplots(n_rows, 2, sharey=True, **size)
    value = "n" if figure == "2a" else "K"
    lines = [
        f"Figure {figure}: one bit over full precision (the paper: {PAPER[figure]}), and m/(nK) at 50 % success",
        "",
    ]
    header = None
    for ax in axes.ravel()[len(measured) :]:
        ax.axis("off")
    for ax, (name, found) in zip(axes.ravel(), measured.items(), strict=False):
        one_bit, full = found["one-bit"], found["exponential"]
        curves = {"QCKM, 50 %": one_bit.line(), "CKM, 50 %": full.line()}
        mesh = draw_diagram(ax, one_bit, curves, value)
        price = cost(one_bit, full)
        told = f"one bit / full precision: {price.ratio:.2f} ({price.low:.2f} to {price.high:.2f})"
        without = ", ".join(str(v) for v in price.left_out)
        ax.set_title(f"{titles[name]}\n{told}{f', without {value} = {without}' if without else ''}", fontsize=9)
        if header is None:
            columns = sorted({v for found in measured.values() for v in found["one-bit"].values})
            shown = " | ".join(f"{value} = {v}" for v in columns)
            header = f"| | trials | one bit / full | 95 % | resamples clipped | left out | {shown} |"
            lines += [header, "| --- " * (header.count("|") - 1) + "|"]
        for signature, diagram in (("one-bit", one_bit), ("exponential", full)):
            line = {row.value: row.tell(row.crossing()) for row in diagram.rows}
            cells = " | ".join(line.get(v, "–") for v in columns)
            left_out = "; ".join(f"{value} = {v}: {off}" for v, off in price.left_out.items()) or "none"
            told = f"{_told(price)} | {left_out}" if signature == "one-bit" else " | | | "
            lines.append(f"| {titles[name]}, {signature} | {_trials(diagram)} | {told} | {cells} |")
    for ax in axes[:, 1]:
        ax.set_ylabel("")
    canvas.colorbar(mesh, ax=axes, label="success rate of QCKM", shrink=0.6)
    unmeasured = Patch(facecolor="0.92", edgecolor="0.7", hatch="xx", linewidth=0, label="not measured")
    handles = [*axes[0, 0].get_lines(), unmeasured]
    canvas.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9)
    _save(canvas, images / f"fig{figure}.png")
    return [*lines, ""]


def _is_whole(found: dict[str, Diagram], figure: str) -> bool:
    return all(len(diagram.values) == len(SHAPES[figure]) for diagram in found.values())


def _told(price: Cost) -> str:
    """Return a cost as three cells of a table: the ratio, its interval, the resamples that were clipped."""
    if not price.values:
        return "– | – | –"
    return f"{price.ratio:.3f} | {price.low:.3f} to {price.high:.3f} | {price.clipped} of {RESAMPLES}"


def _trials(diagram: Diagram) -> str:
    counts = [row.seeds.size for row in diagram.rows]
    return str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"


def zoo_figure(folder: Path, images: Path) -> list[str]:
    """Draw the transitions of all signatures over n; return a table of what each costs."""
    import matplotlib.pyplot as plt

    found = diagrams("2a", "zoo", folder)
    if not found:
        return []
    canvas, ax = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
    lines = [
        f"The signature zoo: m against the exponential, CL-OMPR, K = 2, {VARIANTS['zoo'].radians} radians a deviation",
        "",
        "| signature | 2\\|F₁\\| | trials | m over that of the exponential | 95 % | resamples clipped | n left out |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    import qckm

    draw_side_by_side(ax, found["exponential"].values, _lines(found))
    for name, diagram in found.items():
        amplitude, told = qckm.signatures.get(name).amplitude, "1 | | | "
        if name != "exponential":
            price = cost(diagram, found["exponential"])
            told = f"{_told(price)} | {'; '.join(f'{v}: {off}' for v, off in price.left_out.items()) or 'none'}"
        lines.append(f"| {name} | {amplitude:.3f} | {_trials(diagram)} | {told} |")
    ax.set(xlabel="n (curves drawn side by side)", ylabel="m / nK at 50 % success", xscale="log", ylim=(0, None))
    ax.set_xticks(diagram.values, [str(value) for value in diagram.values])
    ax.minorticks_off()
    ax.legend(fontsize=8)
    _save(canvas, images / "zoo.png")
    return [*lines, ""]


def _lines(found: dict[str, Diagram]) -> dict[str, np.ndarray]:
    """Return the line of each diagram over the values of the first; NaN where it has none."""
    values = found["exponential"].values
    lines = {}
    for name, diagram in found.items():
        line = dict(zip(diagram.values, diagram.line(), strict=True))
        lines[name] = np.array([line.get(value, np.nan) for value in values])
    return lines


def radians_figure(folder: Path, images: Path) -> list[str]:
    """Draw what one bit costs against the frequencies; return the table."""
    import matplotlib.pyplot as plt

    canvas, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    lines = [
        "What one bit costs, against the length of the frequencies (CL-OMPR, adapted radius)",
        "",
        "| rms ‖ω‖ × deviation | data | trials | full precision, m/(nK) | one bit, m/(nK) | ratio | 95 % "
        "| resamples clipped |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    some = False
    for figure, value, name in (("2a", 12, "(a) n = 12, K = 2"), ("2b", 6, "(b) n = 5, K = 6")):
        points = []
        for variant in [key for key in VARIANTS if key.startswith("radians-")] + ["paper"]:
            found = {key: _only(diagram, value) for key, diagram in diagrams(figure, variant, folder).items()}
            if len(found) < 2 or any(diagram is None for diagram in found.values()):
                continue
            radians = VARIANTS[variant].radians or (1.52 if figure == "2a" else 1.15)  # the toolbox's, on these data
            price = cost(found["one-bit"], found["exponential"])
            rows = [found[key].rows[0] for key in ("exponential", "one-bit")]
            shown = " | ".join(row.tell(row.crossing()) for row in rows)
            lines.append(f"| {radians} | {name} | {_trials(found['one-bit'])} | {shown} | {_told(price)} |")
            if price.values:
                points.append((radians, price.ratio, price.low, price.high))
        if points:
            some = True
            x, y, low, high = np.array(sorted(points)).T
            ax.errorbar(x, y, np.stack([y - low, high - y]), fmt="o-", ms=4, capsize=3, label=name)
    if not some:
        return []
    for figure, ratio in PAPER.items():
        ax.axhline(ratio, ls=":", lw=1, color="0.5")
        ax.annotate(f"the paper, {figure}: {ratio}", (1.52, ratio), fontsize=8, ha="right", va="bottom", color="0.4")
    ax.axhline(1, lw=0.8, color="0.6")
    ax.set(xlabel="rms ‖ω‖ × standard deviation of the clusters", ylabel="measurements: one bit / full precision")
    ax.legend(fontsize=8)
    _save(canvas, images / "radians.png")
    return [*lines, ""]


def _only(diagram: Diagram, value: int) -> Diagram | None:
    rows = [row for row in diagram.rows if row.value == value]
    return Diagram(diagram.signature, rows) if rows else None


def mnist_figure(folder: Path, images: Path) -> list[str]:
    """Figure 3: SSE/N and ARI, mean and standard deviation of all experiments; return the table."""
    import matplotlib.pyplot as plt

    names = {
        ("kmeans", "none"): "k-means",
        ("tuned", "exponential"): "CKM, CL-OMPR",
        ("tuned", "one-bit"): "QCKM, CL-OMPR",
        ("matched", "exponential"): "full precision, default decoder",
        ("matched", "one-bit"): "one bit, default decoder",
        ("paper", "exponential"): "CKM, CL-OMPR, the toolbox's scale",
        ("paper", "one-bit"): "QCKM, CL-OMPR, the toolbox's scale",
    }
    lines = [
        "Figure 3: MNIST spectral features, m = 1000, mean ± standard deviation of all experiments, none left out",
        "",
        "| | replicates | experiments | SSE/N | ARI | dropped by the rule | SSE/N without them | ARI without them |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    means = []
    for (method, signature), name in names.items():
        runs = _experiments(folder, method, signature)
        for replicates in (1, 5):
            if not runs or any(len(run) < replicates for run in runs):
                continue
            best = np.array([min(run[:replicates], key=lambda one: one[2])[:2] for run in runs])
            high, low = outliers(best[:, 0])
            far = high | low
            mean, deviation = best.mean(axis=0), best.std(axis=0)
            kept_mean, kept_deviation = best[~far].mean(axis=0), best[~far].std(axis=0)
            numbers = [f"{a:.3f} ± {b:.3f}" for a, b in zip(mean, deviation, strict=True)]
            kept = [f"{a:.3f} ± {b:.3f}" for a, b in zip(kept_mean, kept_deviation, strict=True)]
            lines.append(
                f"| {name} | {replicates} | {len(best)} | {' | '.join(numbers)} | {high.sum()} high, {low.sum()} low "
                f"| {' | '.join(kept)} |"
            )
            if method != "paper":
                means.append((name, replicates, mean, deviation))
    if not means:
        return []
    canvas, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained", sharey=True)
    for column, (ax, title) in enumerate(zip(axes, ("SSE/N (less is better)", "ARI (more is better)"), strict=True)):
        draw_means(ax, [(name, replicates, mean[column], bar[column]) for name, replicates, mean, bar in means])
        ax.set_xlabel(f"{title}: mean and standard deviation")
    axes[0].legend(fontsize=8)
    _save(canvas, images / "fig3.png")
    return [*lines, ""]


def _experiments(folder: Path, method: str, signature: str) -> list[list[tuple[float, float, float]]]:
    runs: dict[int, list] = {}
    for row in whole(method, mnist_table(method, folder).read()):
        if row["signature"] == signature:
            numbers = (float(row["sse_over_N"]), float(row["ari"]), float(row["objective"]))
            runs.setdefault(int(row["experiment"]), []).append(numbers)
    return [runs[key] for key in sorted(runs)]


def outliers(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which values are "clear outliers", high and low: Tukey's rule, for the paper does not say its own."""
    low, high = np.quantile(values, [0.25, 0.75])
    return values > high + 1.5 * (high - low), values < low - 1.5 * (high - low)


def size_figure(folder: Path, images: Path) -> list[str]:
    """Draw SSE against bytes kept and bits acquired; return the table."""
    import matplotlib.pyplot as plt

    rows = size_table(folder).read()
    if not rows:
        return []
    data = list(dict.fromkeys(row["data"] for row in rows))
    canvas, axes = plt.subplots(2, len(data), figsize=(5.5 * len(data), 7), layout="constrained", squeeze=False)
    names = {
        "one-bit": "sketch, one bit",
        "exponential": "sketch, full precision",
        "subsample": "k-means of a subsample",
        "coreset": "k-means of a coreset",
    }
    lines = [
        "Bytes kept against the SSE over that of k-means on all rows: median (worst) of the seeds all methods have",
        "",
    ]
    for column, which in enumerate(data):
        by_bytes, by_bits, table = {}, {}, {}
        ours = [row for row in rows if row["data"] == which]
        seeds, of_any = shared_seeds(ours), len({row["seed"] for row in ours})
        sizes = sorted({int(row["m"]) for row in ours})
        for method, name in names.items():
            mine = [row for row in ours if row["method"] == method]
            if not mine or not seeds:
                continue
            bits = {int(row["m"]): int(row["bits_a_sample"]) for row in mine}
            cells = {(row["seed"], int(row["m"])): float(row["sse_over_kmeans"]) for row in mine}
            ratios = {m: np.array([cells[seed, m] for seed in seeds]) for m in sorted(bits)}
            stacked = np.array(list(ratios.values())).T
            by_bytes[name] = ([16 * m for m in ratios], stacked)
            if len(set(bits.values())) > 1:  # those who keep rows acquire whole rows, whatever they keep
                by_bits[name] = ([bits[m] for m in ratios], stacked)
            table[name] = [f"{np.median(ratios[m]):.3f} ({ratios[m].max():.2f})" if m in ratios else "–" for m in sizes]
        header = f"| {which}, {len(seeds)} of {of_any} seeds | {' | '.join(f'{16 * m} bytes' for m in sizes)} |"
        lines += [header, "| --- " * (header.count("|") - 1) + "|"]
        lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in table.items()]
        lines.append("")
        title = {"blobs": "K = n = 10 Gaussian clusters, N = 100 000", "mnist": "MNIST spectral features"}[which]
        trade_off(axes[0, column], by_bytes)
        axes[0, column].set(title=title, ylim=(0.97, 1.8))
        ax = axes[1, column]
        trade_off(ax, by_bits, xlabel="bits acquired a sample")
        ax.axvline(320, color="0.4", ls=":", lw=1)
        ax.annotate(" a float32 row: 320", (320, 1.6), fontsize=8, color="0.4")
        ax.set(ylim=(0.97, 1.8))
    _save(canvas, images / "size.png")
    return lines


def shared_seeds(rows: list[dict[str, str]]) -> list[str]:
    """Return the seeds of which every method that was tried has all of its sizes."""
    wanted = {(row["method"], row["m"]) for row in rows}
    found: dict[str, set[tuple[str, str]]] = {}
    for row in rows:
        found.setdefault(row["seed"], set()).add((row["method"], row["m"]))
    return sorted((seed for seed, cells in found.items() if cells == wanted), key=int)


def _save(canvas, path: Path) -> None:
    import matplotlib.pyplot as plt

    canvas.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(canvas)
    print(f"drawn: {path.name}")


def draw(folder: Path = RESULTS, images: Path = IMAGES) -> Path:
    """Draw all figures that have been measured; return the file of the numbers."""
    import matplotlib

    matplotlib.use("Agg")
    images.mkdir(parents=True, exist_ok=True)
    parts = [phase_figure("2a", folder, images), phase_figure("2b", folder, images)]
    proposition1.plot(folder, images)
    parts += [part(folder, images) for part in (radians_figure, zoo_figure, mnist_figure, size_figure)]
    summary = folder / "summary.md"
    summary.write_text("\n".join(line for part in parts for line in part).rstrip() + "\n")
    return summary


if __name__ == "__main__":
    draw()
