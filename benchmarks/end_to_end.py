"""How long does a clustering take from rows to centroids, against scikit-learn's KMeans?"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min

import qckm
from benchmarks.timing import Row, Rows, seconds

N, n, K = 10_000_000, 10, 10


def fit_over_sketch(X: np.ndarray) -> Row:
    """Return how long `fit` without labels takes, over sketching alone, in turns."""
    model = qckm.CompressiveKMeans(K, compute_labels=False, random_state=0).fit(X)
    operator = model.operator_
    turns = [(seconds(lambda: model.fit(X)), seconds(lambda: operator.sketch(X))) for _ in range(5)]
    fit, sketch = (float(np.median(some)) for some in zip(*turns, strict=True))
    what, note = "fit of 10⁷ × 10, K = 10, without labels, over sketching alone", f"{fit:.2f} s over {sketch:.2f} s"
    return Row(what, 1.7, fit / sketch, at_most=True, note=note)


def rows() -> Rows:
    """Yield the ratio to sketching alone, those without and with labels, and that of the sums of squares."""
    rng = np.random.default_rng(0)
    centers = (1.5 * K ** (1 / n) * 4 * rng.standard_normal((K, n))).astype(np.float32)
    X = centers[rng.integers(0, K, N)]
    for start in range(0, N, 1_000_000):
        part = X[start : start + 1_000_000]
        part += rng.standard_normal(part.shape, np.float32)
    yield fit_over_sketch(X)
    kmeans = KMeans(K, n_init=5, random_state=0)
    peer = seconds(lambda: kmeans.fit(X))
    for labels, target in ((False, 20.0), (True, 12.0)):
        model = qckm.CompressiveKMeans(K, compute_labels=labels, random_state=0)
        model.fit(X[:1000])  # compiled
        ours = sorted(seconds(lambda model=model: model.fit(X)) for _ in range(3))[1]
        what = f"fit of 10⁷ × 10, K = 10, {'with' if labels else 'without'} labels, against KMeans(n_init=5)"
        yield Row(what, target, peer / ours, note=f"{peer:.1f} s against {ours:.2f} s; both use all cores")
    some = X[:: N // 200_000]
    ours, best = (
        float((pairwise_distances_argmin_min(some, fitted.cluster_centers_)[1] ** 2).sum())
        for fitted in (model, kmeans)
    )
    yield Row("its SSE over that of KMeans", 1.02, ours / best, unit="", at_most=True, note="the default decoder's")
