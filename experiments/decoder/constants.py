"""The numbers that steer the decoder, each halved and doubled, over development problems that nothing is reported on.

`python -m decoder.constants` prints, for each, by how much the mean excess of the SSE over the best of k-means changes,
in hundredths of a per cent, decoding with rows and from the sketch alone; and which share of verdicts is wrong, from
the sketch alone and, of few measurements, from a sketch without the sums of its columns. An excess counts as 1 at most.
A number that changes nothing should go.
`decoder.numbers` lists all there are.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from types import ModuleType

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import qckm
from decoder import datasets
from decoder.trials import RESULTS, SUCCESS, sse

# Seeds that no table of docs/decoder.md has: those begin at 0.
FIRST_SEED = 1000
# Name, n, K; the last of FEW is m/(nK), which is "auto" elsewhere, 5 or so.
PROBLEMS = [
    ("skewed", 3, 6),
    ("swiss_roll", 3, 10),
    ("digits", 10, 10),
    ("heavy_tails", 10, 10),
    ("no_clusters", 2, 20),
]
PROBLEMS += [("gaussians", 10, 10), ("breast_cancer", 6, 8), ("groups", 2, 9)]
# The last two problems are those that the numbers of the scale are for.
PROBLEMS += [("near_and_far", 5, 8), ("far_apart", 2, 20)]
PROBLEMS = [(*problem, 0.0) for problem in PROBLEMS]
FEW = [("two_clusters", 5, 2, 0.65), ("two_clusters", 10, 2, 0.65), ("corners", 5, 4, 0.65), ("corners", 5, 4, 0.9)]
NUMBERS = {
    "attempts": [
        "EFFORT",
        "LONGER",
        "OFTEN",
        "ENOUGH_MEASUREMENTS",
    ],
    "calibration": ["RIDGE", "_TOLERANCE"],
    "cloud": ["_POINTS", "_ROUNDS", "_STEP", "WIDER", "WIDEST", "MIXED"],
    "expectation": ["BY_CHANCE", "LEFT_OUT"],
    "regret": ["CONCENTRATION", "MOST_REGRET", "UPPER_LIMIT", "EXCHANGED", "_RUNS_ON_ROWS", "_RUNS_ON_POINTS"],
    "search": [
        "MOST_AXES",
        "STARTS",
        "STAGES",
        "STEPS",
        "STRIDE",
        "SHARE",
        "BRIEF",
        "IDLE",
        "GAIN",
        "DENSITIES",
        "MORE_THAN_K",
        "EVENNESS",
        "WORTH",
    ],
    "sketch_model": ["_SHARE_AT_ZERO"],
    "totals": ["HEAVIER", "_MISSED"],
    "pilot": [
        "_FEW",
        "_OF_FEW",
        "_OF_PLENTY",
        "_MOST_APART",
        "_LEAST_APART",
        "_LEAST_SHARE_OF_SPACING",
        "_SHARE_BEYOND",
        "_FURTHER",
    ],
    "request": ["_WITH_ROWS", "_ALONE"],
}
# Where these modules are.
PLACES = {
    "attempts": "decoding.search",
    "calibration": "decoding.clouds",
    "cloud": "decoding.clouds",
    "expectation": "decoding.search",
    "regret": "decoding.verdict",
    "search": "decoding.search",
    "sketch_model": "decoding.model",
    "totals": "decoding.clouds",
    "pilot": "planning",
    "request": "operator",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--modules", nargs="+", default=list(NUMBERS), help="whose numbers to change")
    args = parser.parse_args()
    numbers = [(module, name) for module in args.modules for name in NUMBERS[module]]
    changes = [("", "", 1.0)] + [(*number, by) for number in numbers for by in (0.5, 2.0)]
    seeds = range(FIRST_SEED, FIRST_SEED + args.trials)
    jobs = [(change, problem, seed) for change, problem, seed in product(changes, PROBLEMS + FEW, seeds)]
    with ProcessPoolExecutor(args.jobs, max_tasks_per_child=None) as pool:
        excess = list(pool.map(_excess, jobs, chunksize=4))
    means = {}
    for change in changes:
        means[change] = np.nanmean([e for (c, _, _), e in zip(jobs, excess, strict=True) if c == change], axis=0)
    usual = means.pop(("", "", 1.0))
    print(f"excess of the SSE, all numbers as they are: with rows {usual[0]:.4f}, from the sketch alone {usual[1]:.4f}")
    print(f"wrong verdicts: from the sketch alone {usual[2]:.3f}, of few measurements without columns {usual[3]:.3f}")
    which = "" if args.modules == list(NUMBERS) else "-" + "-".join(args.modules)
    with (RESULTS.parent / f"constants{which}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["module", "number", "times", "with_rows", "sketch_alone", "wrong_verdicts", "without_columns"])
        writer.writerow(["", "as it is", 1, *(f"{value:.4f}" for value in usual)])
        for (module, name, by), value in means.items():
            writer.writerow([module, name, by, *(f"{v:.4f}" for v in value)])
            change = 1e4 * (value - usual)
            print(f"{module:12} {name:19} × {by:<4g} " + " ".join(f"{some:+8.1f}" for some in change))


def _excess(job: tuple[tuple[str, str, float], tuple[str, int, int, float], int]) -> tuple[float, ...]:
    (module, name, by), (data, n, K, ratio), seed = job
    rows = datasets.SYNTHETIC[data](n, K, np.random.default_rng(seed))
    found, m = [], int(np.ceil(ratio * rows.shape[1] * K)) or "auto"
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = KMeans(K, n_init=5, random_state=seed).fit(rows).inertia_
        if module:
            place = _place(module)
            usual = getattr(place, name)
            _set(name, usual, _times(by, usual))
        try:
            for init in ("auto", "sketch"):
                km = qckm.CompressiveKMeans(K, n_frequencies=m, init=init, compute_labels=False, random_state=seed).fit(
                    rows
                )
                found.append(sse(rows, km.cluster_centers_) / best - 1)
            found.append(float(km.converged_ == (found[1] > SUCCESS - 1)))
            found.append(np.nan)
            if (data, n, K, ratio) in FEW:
                alone = qckm.decode(km.sketch_.without_column_sums(), K, random_state=seed)
                found[3] = float(alone.converged == (sse(rows, alone.centers) / best > SUCCESS))
        finally:
            if module:
                _set(name, getattr(place, name), usual)
    return min(found[0], 1.0), min(found[1], 1.0), found[2], found[3]


def _place(module: str) -> ModuleType:
    return importlib.import_module(f"qckm.{PLACES[module]}.{module}")


def _set(name: str, old: object, new: object) -> None:
    """Give a number another value, wherever it was imported."""
    for module in NUMBERS:
        place = _place(module)
        if getattr(place, name, None) is old:
            setattr(place, name, new)


def _times(by: float, usual: object) -> object:
    """Return a number changed, or a law and its radians."""
    if isinstance(usual, tuple):
        law, radians = usual
        return law, by * radians
    return type(usual)(by * usual) or type(usual)(1)


if __name__ == "__main__":
    main()
