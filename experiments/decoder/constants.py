"""The numbers that steer the decoder, each halved and doubled, over development problems that nothing is reported on.

`python -m decoder.constants` prints, for each, by how much the mean excess of the SSE over the best of k-means changes,
in hundredths of a per cent, decoding with rows and from the sketch alone. A number that changes nothing should go.
`decoder.numbers` lists all there are.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import qckm
from decoder import datasets
from decoder.trials import RESULTS, sse

# Seeds that no table of docs/decoder.md has: those begin at 0.
FIRST_SEED = 1000
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
NUMBERS = {
    "attempts": ["EFFORT", "MOST_AXES"],
    "calibration": ["RIDGE", "_TOLERANCE"],
    "cloud": ["_POINTS", "_RUNS_ON_ROWS", "_RUNS_ON_POINTS", "_ROUNDS", "_STEP"],
    "density": ["DENSITIES", "MORE_THAN_K", "EVENNESS", "WORTH"],
    "expectation": ["_BY_CHANCE", "_LEFT_OUT"],
    "matched": ["WIDER"],
    "search": ["STARTS", "STAGES", "STEPS", "STRIDE", "SHARE", "BRIEF", "IDLE", "GAIN"],
    "sketch_model": ["_SHARE_AT_ZERO"],
    "scale": [
        "_FEW",
        "_OF_FEW",
        "_OF_PLENTY",
        "_MOST_APART",
        "_LEAST_APART",
        "_LEAST_SHARE_OF_SPACING",
        "_SHARE_BEYOND",
        "_FURTHER",
    ],
    "frequency_count": ["_USUAL"],
}
# Modules of these are in qckm.decoding, except for:
PLACES = {"scale": "qckm.planning.scale", "frequency_count": "qckm.operator.frequency_count"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--modules", nargs="+", default=list(NUMBERS), help="whose numbers to change")
    args = parser.parse_args()
    numbers = [(module, name) for module in args.modules for name in NUMBERS[module]]
    changes = [("", "", 1.0)] + [(*number, by) for number in numbers for by in (0.5, 2.0)]
    seeds = range(FIRST_SEED, FIRST_SEED + args.trials)
    jobs = [(change, problem, seed) for change, problem, seed in product(changes, PROBLEMS, seeds)]
    with ProcessPoolExecutor(args.jobs, max_tasks_per_child=None) as pool:
        excess = list(pool.map(_excess, jobs, chunksize=4))
    means = {}
    for change in changes:
        means[change] = np.mean([e for (c, _, _), e in zip(jobs, excess, strict=True) if c == change], axis=0)
    usual = means.pop(("", "", 1.0))
    print(f"excess of the SSE, all numbers as they are: with rows {usual[0]:.4f}, from the sketch alone {usual[1]:.4f}")
    which = "" if args.modules == list(NUMBERS) else "-" + "-".join(args.modules)
    with (RESULTS.parent / f"constants{which}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["module", "number", "times", "with_rows", "sketch_alone"])
        writer.writerow(["", "as it is", 1, *(f"{value:.4f}" for value in usual)])
        for (module, name, by), value in means.items():
            writer.writerow([module, name, by, *(f"{v:.4f}" for v in value)])
            change = 1e4 * (value - usual)
            print(f"{module:12} {name:18} × {by:<4g} {change[0]:+8.1f} {change[1]:+8.1f}")


def _excess(job: tuple[tuple[str, str, float], tuple[str, int, int], int]) -> tuple[float, float]:
    (module, name, by), (data, n, K), seed = job
    rows = datasets.SYNTHETIC[data](n, K, np.random.default_rng(seed))
    found = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = KMeans(K, n_init=5, random_state=seed).fit(rows).inertia_
        if module:
            place = importlib.import_module(PLACES.get(module, f"qckm.decoding.{module}"))
            usual = getattr(place, name)
            setattr(place, name, _times(by, usual))
        try:
            for init in ("auto", "sketch"):
                km = qckm.CompressiveKMeans(K, init=init, compute_labels=False, random_state=seed).fit(rows)
                found.append(sse(rows, km.cluster_centers_) / best - 1)
        finally:
            if module:
                setattr(place, name, usual)
    return found[0], found[1]


def _times(by: float, usual: object) -> object:
    """Return a number changed, or a law and its radians."""
    if isinstance(usual, tuple):
        law, radians = usual
        return law, by * radians
    return type(usual)(by * usual) or type(usual)(1)


if __name__ == "__main__":
    main()
