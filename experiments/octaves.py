"""Choosing the scale after the pass, from a sketch at five scales, against choosing it before, from a pilot.

For each data set the pilot's scale is put at every place of the ladder in turn, the coarsest first. Printed, as SSE
over the best of five k-means: the octave that decoding chose; that of the pilot's scale in the same sketch; the best
and the worst of the five; and `CompressiveKMeans(init="sketch")`, to which the pilot also tells the data's mean and
spread, with as many frequencies as one octave. Nothing else is known of the data to the octaves than their bounds:
phases count from 0. K = 10, m = 5nK, one bit. How octaves are judged was chosen among ten ways on seed 0, so that what
counts is any other.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from multiprocessing import get_context

import numpy as np
from sklearn.cluster import KMeans

import qckm
from common import gaussian_clusters, keep, sse
from decoder.datasets import real

K, OCTAVES, N_JUDGES = 10, 5, 20_000
DATA = ("gaussians", "walking_accelerometer", "skin_segmentation", "mnist_spectral")
HEADER = (
    "data",
    "seed",
    "place",
    "chosen",
    "sse_chosen",
    "sse_at_place",
    "sse_best",
    "sse_worst",
    "sse_pilot",
    "clipped",
)


def rows_of(name: str, seed: int) -> np.ndarray:
    """Return rows (N, n)."""
    return gaussian_clusters(K, 10, 20_000, seed) if name == "gaussians" else real(name)[0]


def trial(job: tuple[str, int]) -> list[tuple[object, ...]]:
    """Return a line for each place of the ladder."""
    warnings.simplefilter("ignore")  # poor octaves are meant to be among them
    name, seed = job
    X = rows_of(name, seed)
    n, rng = X.shape[1], np.random.default_rng(seed)
    judges = X[rng.choice(len(X), min(len(X), N_JUDGES), replace=False)]
    best = KMeans(K, n_init=5, random_state=seed).fit(judges).inertia_
    km = qckm.CompressiveKMeans(K, init="sketch", compute_labels=False, random_state=seed).fit(X)
    pilots, by_pilot = km.operator_, sse(judges, km.cluster_centers_) / best
    lines: list[tuple[object, ...]] = []
    for place in range(OCTAVES):
        op = qckm.SketchOperator.draw(
            n, pilots.n_frequencies, pilots.scale * 2.0 ** (place - OCTAVES + 1), pilots.law,
            octaves=OCTAVES, random_state=seed,
        )  # fmt: skip
        sketch = op.sketch(X)
        found = qckm.decode(sketch, K, random_state=seed)
        alone = [qckm.decode(sketch.octave(j), K, random_state=seed) for j in range(OCTAVES)]
        together, ratios = sse(judges, found.centers) / best, [sse(judges, one.centers) / best for one in alone]
        sizes = (together, ratios[place], min(ratios), max(ratios), by_pilot, sketch.saturated / sketch.count)
        lines.append((name, seed, place, found.octave, *(f"{size:.4f}" for size in sizes)))
        print(
            "".join(f"{field!s:>{max(12, len(title) + 2)}}" for field, title in zip(lines[-1], HEADER, strict=True)),
            flush=True,
        )
    return lines


def trials(names: list[str], seeds: list[int], jobs: int) -> Iterator[list[tuple[object, ...]]]:
    """Yield the lines of each data set and seed, in order."""
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(trial, [(name, seed) for name in names for seed in seeds])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", nargs="+", default=DATA)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    print("".join(f"{title:>{max(12, len(title) + 2)}}" for title in HEADER))
    lines = [line for some in trials(list(args.names), args.seeds, args.jobs) for line in some]
    for name in args.names:
        mine = np.array([line[4:9] for line in lines if line[0] == name], float)
        middle, worst = np.median(mine, axis=0), mine.max(axis=0)
        print(
            f"{name}: chosen {middle[0]:.3f} (worst {worst[0]:.3f}), the pilot's octave {middle[1]:.3f} "
            f"({worst[1]:.3f}), with a pilot {middle[4]:.3f} ({worst[4]:.3f})"
        )
    keep("octaves", HEADER, lines)


if __name__ == "__main__":
    main()
