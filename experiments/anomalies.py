"""Anomaly scores of a mixture from a one-bit sketch: attacks among the normal connections of kddcup99 (SA).

All normal connections, and 3377 attacks drawn at random, as scikit-learn's subset "SA" has them; of the 38 columns of
numbers, logarithms of 1 + x in standard deviations, without those that hardly vary. `clean` is fitted to half of the
normal ones, `contaminated` to half of all; the other half is scored. Area under the ROC curve; IsolationForest, fitted
to the same rows, beside it.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

import qckm
from common import keep

K = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 2], metavar=("FROM", "TO"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    data = np.load(Path(os.environ["QCKM_DATA"]) / "kddcup99_10pct.npz", allow_pickle=False)
    is_normal = np.char.startswith(data["classes"], "normal")[data["y"]]
    lines = []
    for seed in range(*args.seeds):
        rng = np.random.default_rng(seed)
        chosen = np.concatenate(
            [np.flatnonzero(is_normal), rng.choice(np.flatnonzero(~is_normal), 3377, replace=False)]
        )
        X, attack = np.log1p(np.maximum(data["X"][chosen], 0)).astype(np.float64), ~is_normal[chosen]
        X = X[:, X.std(axis=0) > 0.05] / X.std(axis=0)[X.std(axis=0) > 0.05]
        half = rng.random(len(X)) < 0.5
        for name, fitted in (("clean", half & ~attack), ("contaminated", half)):
            mixture = qckm.CompressiveGaussianMixture(K, covariance_type="diag", random_state=seed).fit(X[fitted])
            forest = IsolationForest(random_state=seed).fit(X[fitted])
            scores = [
                f"{roc_auc_score(attack[~half], -found.score_samples(X[~half])):.3f}" for found in (mixture, forest)
            ]
            lines.append((name, seed, X.shape[1], K, *scores, mixture.converged_))
            print(*lines[-1], flush=True)
    keep("anomalies", ("fitted_to", "seed", "n", "K", "auc_mixture", "auc_isolation_forest", "converged"), lines)


if __name__ == "__main__":
    main()
