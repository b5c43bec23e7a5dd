"""The experiments: which trials each makes, and the table it prints of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from decoder.datasets import HEAVY, STRANGERS
from decoder.trials import MISLEADING, RESULTS, SUCCESS, Outcome, Trial, read

Done = list[tuple[Trial, Outcome]]
# A run is good up to here. k-means of all rows is the best of ten runs, whose SSE is uncertain by this share.
GOOD, ROUNDING = 1.05, 1e-3
IMAGES = Path(__file__).parents[2] / "docs" / "images"


@dataclass(frozen=True)
class Experiment:
    """A name's trials for so many seeds, and how to print them."""

    trials: Callable[[int], Iterator[Trial]]
    show: Callable[[Done], None]


# Seeds from 0 are reported; development has its own (python -m decoder --first-seed 1000).
FIRST_SEED = 0


def _seeded(trials: list[Trial], count: int) -> Iterator[Trial]:
    for seed, trial in product(range(FIRST_SEED, FIRST_SEED + count), trials):
        yield replace(trial, seed=seed)


def _by_cell(done: Done) -> dict[Trial, list[Outcome]]:
    cells: dict[Trial, list[Outcome]] = {}
    for trial, outcome in done:
        cells.setdefault(replace(trial, seed=0), []).append(outcome)
    return cells


def _rate(outcomes: list[Outcome], pilot: bool = False) -> float:
    return float(np.mean([(outcome.pilot if pilot else outcome.sse) <= SUCCESS for outcome in outcomes]))


def _crossing(ratios: list[float], rates: list[float], level: float) -> str:
    """Where the rate first reaches a level, between the measured points by straight lines."""
    if rates[0] >= level:
        return f"<{ratios[0]:g}"
    for i in range(1, len(ratios)):
        if rates[i] >= level:
            share = (level - rates[i - 1]) / (rates[i] - rates[i - 1])
            return f"{ratios[i - 1] + share * (ratios[i] - ratios[i - 1]):.2f}"
    return f">{ratios[-1]:g}"


# How many measurements -----------------------------------------------------------------------------------------------
RATIOS = [0.65, 0.75, 0.9, 1.0, 1.25]
# Not tried: of the first two none of 12 succeeded at 0.75, at half a minute each; at 0.65 all three take as long.
HOPELESS = {("corners", 5, 20, 0.75), ("gaussians", 10, 10, 0.75)}
HOPELESS |= {("corners", 5, 20, 0.65), ("gaussians", 10, 10, 0.65), ("corners", 5, 10, 0.65)}
SHAPES = [("two_clusters", n, 2) for n in (5, 10, 20)] + [("corners", 5, K) for K in (4, 10, 20)]
SHAPES += [("gaussians", 10, 10)]


def phase_trials(count: int) -> Iterator[Trial]:
    grid = [cell for cell in product(SHAPES, ("one-bit", "exponential"), RATIOS) if (*cell[0], cell[2]) not in HOPELESS]
    yield from _seeded([Trial(*shape, ratio, signature) for shape, signature, ratio in grid], count)
    yield from _seeded([Trial(*shape, 1.0, init="auto") for shape in SHAPES], count)


def show_phase(done: Done) -> None:
    cells = _by_cell(done)
    print(f"success at m/(nK) = {'  '.join(f'{ratio:4g}' for ratio in RATIOS)}    50 %   95 %  seconds  pilot")
    for shape, signature in product(SHAPES, ("one-bit", "exponential")):
        ratios = [ratio for ratio in RATIOS if (*shape, ratio) not in HOPELESS]
        mine = [cells[Trial(*shape, ratio, signature)] for ratio in ratios]
        rates = [_rate(outcomes) for outcomes in mine]
        half, most = (_crossing(ratios, rates, level) for level in (0.5, 0.95))
        seconds = np.median([outcome.seconds for outcomes in mine for outcome in outcomes])
        print(
            f"{shape[0]:13} n={shape[1]:<3} K={shape[2]:<3} {signature:12} "
            + "   –  " * (len(RATIOS) - len(ratios))
            + "  ".join(f"{rate:4.2f}" for rate in rates)
            + f"   {half:>5}  {most:>5}  {seconds:6.2f}  {_rate(mine[0], pilot=True):.2f}"
        )
    print('init="auto", one bit, m = nK: SSE over the best of 5 k-means: mean, worst; of the pilot alone: mean, worst')
    for shape in SHAPES:
        sse, pilot = np.array([[o.sse, o.pilot] for o in cells[Trial(*shape, 1.0, init="auto")]]).T
        print(
            f"{shape[0]:13} n={shape[1]:<3} K={shape[2]:<3} {sse.mean():.4f} {sse.max():.3f}  "
            f"{pilot.mean():.4f} {pilot.max():.3f}"
        )


# Shapes, and real data -----------------------------------------------------------------------------------------------
def shapes_trials(count: int) -> Iterator[Trial]:
    cases = [("unequal_weights", 10, 10), ("unequal_widths", 10, 10), ("elongated", 10, 10), ("gaussians", 2, 20)]
    cases += [("gaussians", 50, 5), ("gaussians", 10, 10)]
    return _seeded([Trial(*case, 5.0, init=init) for case, init in product(cases, ("sketch", "auto"))], count)


REAL = [("mnist_spectral", 10, 10), ("skin_segmentation", 3, 10), ("walking_accelerometer", 3, 10)]


def real_trials(count: int) -> Iterator[Trial]:
    grid = list(product(REAL, (5.0, 20.0)))
    yield from _seeded([Trial(*case, ratio) for case, ratio in grid], count)
    yield from _seeded([Trial(*case, ratio, init="auto") for case, ratio in product(REAL, (5.0, 10.0))], count)
    yield from _seeded([Trial(*case, 5.0, "exponential") for case in REAL], count // 4)  # beside it


def more_trials(count: int) -> Iterator[Trial]:
    """More measurements, which must not make it worse."""
    yield from _seeded([Trial(*case, ratio) for case, ratio in product(REAL, (3.0, 5.0, 10.0, 20.0, 40.0))], count)


def heavy_trials(count: int) -> Iterator[Trial]:
    cases = [(function.__name__, 5, 10) for function in HEAVY]
    return _seeded([Trial(*case, 5.0, init=init) for case, init in product(cases, ("auto", "sketch"))], count)


def misleading_trials(count: int) -> Iterator[Trial]:
    cases = [*REAL[1:], ("gaussians", 5, 5), ("skewed", 3, 6), ("iris", 4, 5)]
    return _seeded([Trial(*case, 5.0, init="auto", order=order) for case, order in product(cases, MISLEADING)], count)


WRONG = [1 / 30, 1 / 10, 1 / 3, 3.0, 10.0, 30.0]


def wrong_trials(count: int) -> Iterator[Trial]:
    """Scales that are wrong by a factor, without rows and with."""
    cases = [("gaussians", 5, 5), ("iris", 4, 5), ("swiss_roll", 3, 10), ("unequal_weights", 6, 12)]
    grid = product(cases, WRONG, ("sketch", "auto"))
    return _seeded([Trial(*case, 5.0, init=init, scale=scale) for case, scale, init in grid], count)


def strangers_trials(count: int) -> Iterator[Trial]:
    cases = [(function.__name__, *sizes) for function, sizes in STRANGERS.items()]
    return _seeded([Trial(*case, 5.0, init=init) for case, init in product(cases, ("auto", "sketch"))], count)


def kdd_trials(count: int) -> Iterator[Trial]:
    return _seeded([Trial("kddcup99_10pct", 36, 10, 5.0, init=init) for init in ("auto",)], count)


def order_trials(count: int) -> Iterator[Trial]:
    cases = product(("skin_segmentation", "walking_accelerometer"), ("sketch", "auto"))
    return _seeded([Trial(name, 3, 10, 5.0, init=init, order="file") for name, init in cases], count)


def many_trials(count: int) -> Iterator[Trial]:
    yield from _seeded([Trial("many_gaussians", 10, 400, 0.5, init="auto")], count)
    yield from _seeded(
        [Trial("many_gaussians", 10, 100, 3.0, init=init) for init in ("pilot", "sketch", "auto")], count
    )


def apart_trials(count: int) -> Iterator[Trial]:
    cases = [("far_apart", n, K) for n, K in ((1, 20), (2, 20), (2, 100), (3, 20), (5, 50), (10, 10), (20, 10))]
    cases += [("no_clusters", n, K) for n, K in ((2, 20), (2, 50), (5, 50))]
    how = [("one-bit", "sketch"), ("exponential", "sketch"), ("one-bit", "auto")]
    return _seeded([Trial(*case, 5.0, *some) for case, some in product(cases, how)], count)


def near_trials(count: int) -> Iterator[Trial]:
    cases = [("near_and_far", n, 8) for n in (2, 3, 5, 10)] + [("groups", n, 9) for n in (2, 5, 10)]
    return _seeded([Trial(*case, 5.0) for case in cases], count)


def show_ratios(done: Done) -> None:
    print("SSE over the best of 5 k-means: mean, worst; of the pilot's k-means alone; SSE/N; ARI: mean ± std; seconds")
    for trial, outcomes in _by_cell(done).items():
        values = np.array([[o.sse, o.pilot, o.sse_per_row, o.ari, o.seconds] for o in outcomes])
        mean = values.mean(axis=0)
        print(
            f"{trial.data:22} n={trial.n:<3} K={trial.K:<3} m={trial.ratio:g}nK {trial.signature:12} {trial.init:7} "
            f"{mean[0]:.3f} {values[:, 0].max():.3f}  pilot {mean[1]:.3f} {values[:, 1].max():.3f}  {mean[2]:8.4g}  "
            f"{mean[3]:.3f} ± {values[:, 3].std():.3f}  {np.median(values[:, 4]):6.2f} s  "
            f"success {_rate(outcomes):.2f}  covered {_coverage(outcomes):.2f}  ({len(outcomes)} runs)"
        )


def _coverage(outcomes: list[Outcome]) -> float:
    """How often the SSE is within 1.645 standard errors of its estimate: 90 % of the time, if all is well."""
    return float(np.mean([abs(outcome.estimate - 1) <= 1.645 * outcome.error for outcome in outcomes]))


# How well the scale must be chosen -----------------------------------------------------------------------------------
RADIANS = [0.15, 0.2, 0.3, 0.45, 0.65, 0.9, 1.2, 1.6, 2.0, 2.5]


def scale_trials(count: int) -> Iterator[Trial]:
    cases = [("gaussians", 10, 10), ("mnist_spectral", 10, 10)]
    return _seeded([Trial(*case, 5.0, radians=radians) for case, radians in product(cases, RADIANS)], count)


def show_scale(done: Done) -> None:
    cells = _by_cell(done)
    print(
        f"success at rms radians per deviation = {'  '.join(f'{r:4g}' for r in RADIANS)}   largest / smallest with 90 %"
    )
    for case in [("gaussians", 10, 10), ("mnist_spectral", 10, 10)]:
        rates = [_rate(cells[Trial(*case, 5.0, radians=radians)]) for radians in RADIANS]
        good = [radians for radians, rate in zip(RADIANS, rates, strict=True) if rate >= 0.9]
        print(f"{case[0]:35} " + "  ".join(f"{r:4.2f}" for r in rates) + f"   {max(good) / min(good):.1f}" * bool(good))


# What it costs -------------------------------------------------------------------------------------------------------
COSTS = {
    "K": [("gaussians", 10, K, 5.0) for K in (2, 5, 10, 20, 50)],
    "n": [("gaussians", n, 10, 5.0) for n in (2, 5, 10, 20, 50)],
    "m/(nK)": [("gaussians", 10, 10, ratio) for ratio in (1.0, 1.25, 2.0, 3.0, 5.0, 10.0)],
}


def cost_trials(count: int) -> Iterator[Trial]:
    cases = dict.fromkeys(case for cases in COSTS.values() for case in cases)
    grid = [Trial(*case, signature) for case, signature in product(cases, ("one-bit", "exponential"))]
    return _seeded(grid, min(count, 5))


def show_cost(done: Done) -> None:
    """Seconds a decode on one thread, at K = n = 10 and m = 5nK but for what varies; and the same as a picture."""
    import matplotlib.pyplot as plt

    cells = _by_cell(done)
    canvas, axes = plt.subplots(1, len(COSTS), figsize=(10, 3.2), sharey=True, layout="constrained")
    print("median seconds a decode, and the longest; K = n = 10, m = 5nK but for what varies")
    for ax, (name, cases) in zip(axes, COSTS.items(), strict=True):
        for signature in ("one-bit", "exponential"):
            seconds = [[o.seconds for o in cells[Trial(*case, signature)]] for case in cases]
            varied = [{"K": case[2], "n": case[1], "m/(nK)": case[3]}[name] for case in cases]
            middle = [float(np.median(some)) for some in seconds]
            ax.plot(varied, middle, "o-", label=signature)
            ax.fill_between(varied, [min(some) for some in seconds], [max(some) for some in seconds], alpha=0.15)
            told = "  ".join(f"{v:g}: {t:.2f} ({max(s):.2f})" for v, t, s in zip(varied, middle, seconds, strict=True))
            print(f"{name:7} {signature:12} {told}")
        ax.set(xscale="log", yscale="log", xlabel=name, xticks=varied, xticklabels=[f"{v:g}" for v in varied])
        ax.minorticks_off()
    axes[0].set_ylabel("seconds a decode")
    axes[0].legend(frameon=False)
    canvas.savefig(IMAGES / "decoder-cost.png", dpi=120)


# Whether a failure is known for one ----------------------------------------------------------------------------------
def no_trials(count: int) -> Iterator[Trial]:
    return iter(())


def show_verdict(done: Done) -> None:
    """Over all runs that the other experiments have kept, whatever they tried, by table, without rows and with."""
    print("SSE above the least by more than 20 % (failed) and 5 % or less (good), flagged: `converged` is False")
    print("covered: the excess is at most excess_high; the SSE is within 1.645 errors of its estimate")
    print("table      rows       failed flagged     good flagged  excess true, told   covered  SSE covered")
    everything: dict[str, list[Outcome]] = {"alone": [], "rows": []}
    for path in sorted(RESULTS.glob("*.csv")):
        if path.name.startswith("kmeans-"):
            continue
        for kind, inits in (("alone", ("sketch",)), ("rows", ("auto", "pilot"))):
            runs = [o for t, o in read(path) if (t.init in inits) and t.order not in MISLEADING]
            runs += [o for t, o in read(path) if kind == "rows" and t.order in MISLEADING]
            everything[kind] += runs
            if runs:
                _verdict_row(path.stem, kind, runs)
    for kind, runs in everything.items():
        _verdict_row("all", kind, runs)
    _verdict_row("all", "both", everything["alone"] + everything["rows"])


def _verdict_row(table: str, kind: str, runs: list[Outcome]) -> None:
    failed, good = [o for o in runs if o.sse > SUCCESS], [o for o in runs if o.sse <= GOOD]
    flagged = [sum(not o.converged for o in some) for some in (failed, good)]
    true = np.mean([min(o.sse - 1, 1.0) for o in runs])  # a few failures of many times the SSE would be all of the mean
    told = np.mean([min(o.excess, 1.0) for o in runs])
    covered = np.mean([o.sse - 1 <= o.excess_high + ROUNDING for o in runs])
    print(
        f"{table:10} {kind:6} {len(failed):8} {flagged[0] / max(len(failed), 1):8.1%} {len(good):8} "
        f"{flagged[1] / max(len(good), 1):7.1%}  {true:8.2%} {told:8.2%} {covered:12.0%} {_coverage(runs):10.0%}"
    )


EXPERIMENTS = {
    "phase": Experiment(phase_trials, show_phase),
    "shapes": Experiment(shapes_trials, show_ratios),
    "real": Experiment(real_trials, show_ratios),
    "strangers": Experiment(strangers_trials, show_ratios),
    "kdd": Experiment(kdd_trials, show_ratios),
    "order": Experiment(order_trials, show_ratios),
    "more": Experiment(more_trials, show_ratios),
    "heavy": Experiment(heavy_trials, show_ratios),
    "misleading": Experiment(misleading_trials, show_ratios),
    "wrong": Experiment(wrong_trials, show_ratios),
    "many": Experiment(many_trials, show_ratios),
    "apart": Experiment(apart_trials, show_ratios),
    "near": Experiment(near_trials, show_ratios),
    "scale": Experiment(scale_trials, show_scale),
    "cost": Experiment(cost_trials, show_cost),
    "verdict": Experiment(no_trials, show_verdict),
}
