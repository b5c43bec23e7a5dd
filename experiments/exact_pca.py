"""Principal components from merged sketches beside those of all rows: the sine of the largest angle between them.

The covariances of a sketch are exact for rows as they were coded: rounded to the operator's steps, and clipped where
they are out of its reach. So there are two columns: against the rows as they are coded, and against the rows as they
are, which tells what rounding and clipping cost. Components whose variances are nearly equal are hardly determined by
the rows themselves: "gap" is the difference of the variances at which the components end, over the greatest. Seven
sketches are merged, one is subtracted again.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from common import keep
from decoder.datasets import FOLDER
from qckm.kernels.reference import code_rows
from qckm.planning.plan import Plan, draw_operator
from qckm.sources.opening import open_source

HEADER = ("data", "standardized", "rows", "n", "clipped", "r", "gap", "sine_as_coded", "sine_as_they_are")
RANKS = (1, 2, 3, 5)


def data_sets() -> dict[str, np.ndarray]:
    """Return rows by name, without columns that are constant."""
    found = {
        "mnist_spectral": np.load(FOLDER / "mnist_spectral.npz")["features"],
        "kddcup99": np.load(FOLDER / "kddcup99_10pct.npz")["X"],
        "digits": load_digits().data,
    }
    return {name: X[:, X.std(axis=0) > 0].astype(np.float64) for name, X in found.items()}


def trial(name: str, X: np.ndarray, standardized: bool) -> list[tuple[object, ...]]:
    """Return a line for each number of components."""
    plan = Plan(n_clusters=10, n_frequencies=100, seed=0, standardize=standardized)
    operator = draw_operator(open_source(X), plan, False).operator
    withdrawn = operator.sketch(X[:100] + operator.steps)
    merged = sum((operator.sketch(part) for part in np.array_split(X, 7)), withdrawn) - withdrawn
    units = operator.units
    coded = (code_rows(X, operator.steps, operator.origin)[0] * operator.steps + operator.origin) / units
    found = np.linalg.eigh(merged.column_covariances / np.multiply.outer(units, units))[1]
    lines = []
    for r in RANKS:
        exact = {what: PCA(r + 1).fit(rows) for what, rows in (("coded", coded), ("as they are", X / units))}
        variances = exact["as they are"].explained_variance_
        sines = [np.sin(subspace_angles(found[:, -r:], one.components_[:r].T).max()) for one in exact.values()]
        gap = (variances[r - 1] - variances[r]) / variances[0]
        lines.append(
            (
                name,
                standardized,
                len(X),
                X.shape[1],
                merged.saturated,
                r,
                f"{gap:.2g}",
                *(f"{sine:.2g}" for sine in sines),
            )
        )
    return lines


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    lines = []
    for name, X in data_sets().items():
        for standardized in (False, True):
            for line in trial(name, X, standardized):
                lines.append(line)
                print(*line, flush=True)
    keep("exact_pca", HEADER, lines)


if __name__ == "__main__":
    main()
