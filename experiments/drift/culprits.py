"""What is said to have changed: eight known clusters in five columns, of which one is halved, moves, or is new.

Sketch alone, one bit, m = 200, 20 000 rows per window; centres and deviations of the clusters are known. A culprit is
named if the first cause is of the right kind and cluster; a new one, if it is within a deviation.
"""

from __future__ import annotations

import warnings

import numpy as np

import qckm
from drift.tables import Table

N, COLUMNS, CLUSTERS, M, TRIALS = 20_000, 5, 8, 200, 30


def trial(seed: int) -> dict[str, tuple[bool, float]]:
    """Return whether the culprit was named, for each change, and how many deviations the estimate errs."""
    rng = np.random.default_rng(seed)
    width = 2.1 * CLUSTERS ** (1 / COLUMNS)
    centers, shares = rng.normal(size=(CLUSTERS, COLUMNS)) * width, rng.dirichlet(np.full(CLUSTERS, 5))

    def sketch(centers: np.ndarray, shares: np.ndarray) -> qckm.Sketch:
        which = rng.choice(len(shares), N, p=shares / shares.sum())
        return operator.sketch(centers[which] + rng.normal(size=(N, COLUMNS)))

    km = qckm.CompressiveKMeans(CLUSTERS, n_frequencies=M, compute_labels=False, init="sketch", random_state=seed)
    which = rng.choice(CLUSTERS, 5000, p=shares)
    operator = km.partial_fit(centers[which] + rng.normal(size=(5000, COLUMNS))).operator_
    before = sketch(centers, shares)
    clusters = qckm.Clustering(centers, shares, np.ones(CLUSTERS), objective=0.0, explained=1.0, n_iter=0)
    k = named = int(rng.integers(CLUSTERS))
    step = rng.normal(size=COLUMNS)
    halved, moved = shares.copy(), centers.copy()
    halved[k] /= 2
    moved[k] += 0.5 * step / np.linalg.norm(step)
    place = rng.normal(size=COLUMNS) * width
    windows = {
        "none": (centers, shares),
        "halved": (centers, halved),
        "new of 3 %": (np.vstack([centers, place]), np.append(0.97 * shares, 0.03)),
        "moved by half a deviation": (moved, shares),
    }
    results = {}
    for change, window in windows.items():
        explanation = qckm.compare(before, sketch(*window), clusters=clusters).explanation
        first = explanation.causes[0] if explanation.causes else None
        if change == "none" or first is None:
            results[change] = (change == "none" and first is None, np.nan)
            continue
        if change == "halved":
            right = first.kind == "weight" and first.cluster == named and first.size < 0
            truth = (halved / halved.sum() - shares)[k]
            off = (explanation.weight_changes[named] - truth) / explanation.weight_errors[named]
        elif change == "new of 3 %":
            right = first.kind == "new" and np.linalg.norm(first.place - place) < 1
            off = (first.size - 0.03) / first.error
        else:
            right, off = first.kind == "move" and first.cluster == named, (first.size - 0.5) / first.error
        results[change] = (bool(right), float(off) if right else np.nan)
    return results


def measure(trials: int = TRIALS) -> None:
    warnings.simplefilter("ignore")  # of decoders that are unsure
    table = Table("culprits", ("seed", "change"), ("named", "error_in_deviations"))
    for seed in range(trials):
        if not table.has(seed):
            for change, (named, off) in trial(seed).items():
                table.add(seed, change, int(named), off)
