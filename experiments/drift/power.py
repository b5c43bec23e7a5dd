"""What is found: changes of one window, by every statistic, beside tests that keep rows. Level 5 %."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import qckm
from drift.data import CENTERS, K, draw, operator_of
from drift.peers import kolmogorov_smirnov, mmd_permutation
from drift.tables import Table

TRIALS, M, REFERENCE = 100, 1000, 2000
TRIALS_PER_REFERENCE = 10


def skin_new_cluster(rows: int, share: float) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    """Skin colours, of which a share is replaced by a new cluster of deviation 0.03 anywhere in the cube of colours."""

    def make(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        both = draw("skin", 2 * rows + REFERENCE, rng)
        after, new = both[rows : 2 * rows].copy(), int(share * rows)
        after[:new] = rng.uniform(0, 1, 3) + 0.03 * rng.normal(size=(new, 3))
        return both[:rows], after, both[2 * rows :]

    return make


def correlation(rows: int, strength: float) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    """Ten normal columns, of which two become correlated: no column by itself shows it."""

    def make(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        before, after = rng.normal(size=(2, rows, 10))
        after[:, 1] = strength * after[:, 0] + np.sqrt(1 - strength**2) * after[:, 1]
        return before, after, rng.normal(size=(REFERENCE, 10))

    return make


def lighter_cluster(rows: int, loss: float) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    """Ten Gaussian clusters in ten columns, of which one loses a share of its rows to the others."""

    def make(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        shares = np.ones(K)
        shares[rng.integers(K)] -= loss
        after = CENTERS[rng.choice(K, rows, p=shares / shares.sum())] + rng.normal(size=(rows, 10))
        return draw("gaussians", rows, rng), after, draw("gaussians", REFERENCE, rng)

    return make


CHANGES = {
    "skin, new cluster of 1 %, 20 000 rows": ("skin", skin_new_cluster(20_000, 0.01)),
    "skin, new cluster of 0.5 %, 20 000 rows": ("skin", skin_new_cluster(20_000, 0.005)),
    "correlation 0.3 of two columns of ten, 5000 rows": ("normal", correlation(5000, 0.3)),
    "gaussians, a cluster loses a fifth, 20 000 rows": ("gaussians", lighter_cluster(20_000, 0.2)),
}


def normal_operator() -> qckm.SketchOperator:
    km = qckm.CompressiveKMeans(2, n_frequencies=M, compute_labels=False, init="sketch", random_state=0)
    return km.partial_fit(np.random.default_rng(0).normal(size=(5000, 10))).operator_


def measure(trials: int = TRIALS, seed: int = 0) -> None:
    table = Table("power", ("change", "statistic"), ("trials", "found", "percent"))
    for number, (change, (data, make)) in enumerate(CHANGES.items()):
        if table.has(change):
            continue
        operators = {"": normal_operator() if data == "normal" else operator_of(data, M, "one-bit")}
        if data == "skin":
            operators[", exponential"] = operator_of(data, M, "exponential")
        rng, found = np.random.default_rng([seed, number]), {}
        references: dict[str, qckm.Reference] = {}
        for trial in range(trials):
            before, after, usual = make(rng)
            pvalues = {}
            for label, operator in operators.items():
                if trial % TRIALS_PER_REFERENCE == 0:
                    references[label] = qckm.Reference.of(operator, usual)
                a, b = operator.sketch(before), operator.sketch(after)
                for statistic in ("largest", "squares", "whitened"):
                    drift = qckm.compare(
                        a, b, None if statistic == "largest" else references[label], statistic=statistic
                    )
                    pvalues[statistic + label] = drift.pvalue
            pvalues["KS a column, all rows kept"] = kolmogorov_smirnov(before, after)
            pvalues["MMD permutation, 500 rows kept"] = mmd_permutation(before, after, rng)
            for name, pvalue in pvalues.items():
                found[name] = found.get(name, 0) + (pvalue <= 0.05)
        for name, count in found.items():
            table.add(change, name, trials, int(count), 100 * count / trials)
