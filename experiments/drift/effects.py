"""How large a drift is said to be, beside how large it is: six Gaussian clusters in five columns, one bit, m = 150.

Rows are exchanged for new ones far away (the least share that must have changed is that of the new rows), or all are
moved by a tenth of a deviation (the share is 2Φ(0.05) − 1, about 4 %). Forty pairs of windows for each line.
"""

from __future__ import annotations

import numpy as np

import qckm
from drift.tables import Table

COLUMNS, CLUSTERS, M, TRIALS = 5, 6, 150, 40
CHANGES = {"none": 0.0, "new of 1 %": 0.01, "new of 5 %": 0.05, "all moved by a tenth of a deviation": 0.0399}


def trial(change: str, rows: int, seed: int) -> tuple[float, float]:
    """Return the effect and its error."""
    rng = np.random.default_rng([rows, seed])
    centers = 3 * rng.normal(size=(CLUSTERS, COLUMNS))

    def window(count: int) -> np.ndarray:
        drawn: np.ndarray = centers[rng.integers(CLUSTERS, size=count)] + rng.normal(size=(count, COLUMNS))
        return drawn

    operator = qckm.SketchOperator.from_pilot(window(5000), CLUSTERS, n_frequencies=M, random_state=seed)
    before, after = window(rows), window(rows)
    if change.startswith("new"):
        many = int(CHANGES[change] * rows)
        after[:many] = 8 + rng.normal(size=(many, COLUMNS))
    elif change != "none":
        after += 0.1 / np.sqrt(COLUMNS)
    found = qckm.compare(operator.sketch(before), operator.sketch(after))
    return found.effect, found.effect_error


def measure(trials: int = TRIALS) -> None:
    table = Table("effects", ("change", "rows"), ("share", "median_effect", "median_error", "above_by_two_errors"))
    for change, share in CHANGES.items():
        for rows in (2000, 20_000, 200_000):
            if not table.has(change, rows):
                sizes, errors = np.array([trial(change, rows, seed) for seed in range(trials)]).T
                beyond = int((sizes > share + 2 * errors).sum())
                table.add(
                    change, rows, share, float(np.median(sizes)), float(np.median(errors)), f"{beyond} of {trials}"
                )
