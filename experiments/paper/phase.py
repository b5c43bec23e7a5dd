"""Figures 2a and 2b: how often clusters are found, over m/(nK) and n, or over m/(nK) and K.

    python -m paper.phase 2a paper            # in experiments/; N = 10 000, 100 trials, paired dithers
    python -m paper.phase 2b matched --trials 20 --jobs 2

Each trial draws data, runs the best of five k-means and decodes sketches of every size with every signature; the SSE
over that of k-means is kept, a row for each, in results/fig2a-paper.csv and so on.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import qckm
from paper.arguments import positive
from paper.published_scale import published_scale
from paper.runner import RESULTS, Table, run
from paper.settings import CLUSTERS, FEATURES, best_of_five, corners, sse, two_clusters

HEADER = ["seed", "n", "K", "m", "signature", "sse_over_kmeans"]
SHAPES = {"2a": [(n, 2) for n in FEATURES], "2b": [(5, n_clusters) for n_clusters in CLUSTERS]}
BOTH = ("exponential", "one-bit")
ZOO = ("exponential", "triangle", "modulo", "4-bit", "3-bit", "2-bit", "one-bit")
_LATE = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0)
_EARLY = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)


@dataclass(frozen=True)
class Variant:
    """A way to sketch and decode, the values of m/(nK) among which its transition lies, and the signatures compared."""

    decoder: str
    law: str
    radians: float | None  # rms ‖ω‖ times the clusters' deviation; None: estimated from the rows
    ratios: tuple[float, ...]
    signatures: tuple[str, ...] = BOTH


VARIANTS = {
    # The paper's: CL-OMPR, the law and the scale of the toolbox it builds on.
    "paper": Variant("clompr", "adapted-radius", None, _LATE),
    # CL-OMPR where it does best: frequencies of about one length, below one radian a deviation.
    "clompr": Variant("clompr", "concentrated-radius", 0.9, _EARLY),
    # CompressiveKMeans as it is, from the sketch alone.
    "matched": Variant("matched", "auto", None, (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0)),
    # Every signature, by CL-OMPR at frequencies low enough that higher harmonics matter.
    "zoo": Variant("clompr", "concentrated-radius", 0.6, _EARLY, ZOO),
} | {
    # The price of one bit against the frequencies: the paper's law, at lower frequencies than its toolbox chooses. With
    # full precision, n = 2, 3, 4 succeed half of the time at m = nK already: their transitions are below it.
    f"radians-{radians}": Variant("clompr", "adapted-radius", radians, (0.5, 0.75, *_LATE))
    for radians in (0.3, 0.45, 0.6, 0.75)
}


def measure(job: tuple[str, str, int, int, int, list[tuple[int, str]]]) -> list[tuple]:
    """Do one trial: data of one shape and seed, and all the sketches of them that are wanted."""
    figure, name, n, n_clusters, seed, cells = job
    variant = VARIANTS[name]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # searches that miss a cluster are what is counted here
        X = two_clusters(n, seed) if figure == "2a" else corners(n_clusters, seed)
        best = best_of_five(X, n_clusters, seed)
        scale = _scale(variant, X, seed)
        return [
            (
                seed,
                n,
                n_clusters,
                m,
                signature,
                f"{sse(X, _centers(variant, X, n_clusters, m, scale, signature, seed)) / best:.4f}",
            )
            for m, signature in cells
        ]


def _scale(variant: Variant, X: np.ndarray, seed: int) -> float:
    n = X.shape[1]
    if variant.radians is None:
        return published_scale(X, np.random.default_rng([seed, n]))
    return np.sqrt(n) * np.sqrt(n / 20) / variant.radians


def _centers(
    variant: Variant, X: np.ndarray, n_clusters: int, m: int, scale: float, signature: str, seed: int
) -> np.ndarray:
    if variant.law == "auto":
        how = {"n_frequencies": m, "signature": signature, "init": "sketch", "random_state": seed}
        return qckm.CompressiveKMeans(n_clusters, compute_labels=False, **how).fit(X).cluster_centers_
    op = qckm.SketchOperator.draw(X.shape[1], m, scale, variant.law, signature, random_state=seed)
    return qckm.decode(op.sketch(X, n_jobs=1), n_clusters, decoder=variant.decoder, random_state=seed).centers


def shapes_of(figure: str, only: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Return (n, K) at all n (2a) or K (2b) of a figure, or only at some."""
    shapes = {shape[figure == "2b"]: shape for shape in SHAPES[figure]}
    if unknown := sorted(set(only) - set(shapes)):
        raise ValueError(f"Expected some of {[*shapes]}, the values of figure {figure}, got {unknown}.")
    return [shape for value, shape in shapes.items() if not only or value in only]


def frequencies_of(ratio: float, unknowns: int) -> int:
    """Return m for a nominal m/(nK), given nK."""
    return int(np.ceil(ratio * unknowns))


def jobs_of(figure: str, name: str, shapes: list[tuple[int, int]], trials: int, done: set) -> list[tuple]:
    """Return what is left to do, seed by seed, so that all cells fill evenly."""
    variant, jobs = VARIANTS[name], []
    for seed in range(trials):
        for n, n_clusters in shapes:
            sizes = [frequencies_of(ratio, n * n_clusters) for ratio in variant.ratios]
            cells = [
                (m, signature)
                for m in sizes
                for signature in variant.signatures
                if (str(seed), str(n), str(n_clusters), str(m), signature) not in done
            ]
            if cells:
                jobs.append((figure, name, n, n_clusters, seed, cells))
    return jobs


def table_of(figure: str, name: str, folder: Path = RESULTS) -> Table:
    """Return the table of a figure's variant."""
    return Table(f"fig{figure}-{name}", HEADER, n_keys=5, folder=folder)


def measure_figure(
    figure: str, name: str, trials: int, processes: int = 1, only: Sequence[int] = (), folder: Path = RESULTS
) -> None:
    """Measure what is missing of a figure's variant, at all of its n (2a) or K (2b), or only at some."""
    shapes = shapes_of(figure, only)
    table = table_of(figure, name, folder)
    with table.alone():
        run(table, jobs_of(figure, name, shapes, trials, table.done()), measure, processes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=SHAPES)
    parser.add_argument("variant", choices=VARIANTS)
    parser.add_argument("--trials", type=positive, default=100)
    parser.add_argument("--jobs", type=positive, default=1, help="processes")
    parser.add_argument("--only", type=int, nargs="+", default=(), help="of the figure's n (2a) or K (2b), these")
    args = parser.parse_args()
    try:
        shapes_of(args.figure, args.only)
    except ValueError as error:
        parser.error(str(error))
    measure_figure(args.figure, args.variant, args.trials, args.jobs, args.only)


if __name__ == "__main__":
    main()
