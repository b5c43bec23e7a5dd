"""From a sketch to centroids: `decode` checks what was asked, runs a decoder and keeps the best replicate."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.decode.clompr import Support, clompr
from qckm.decode.model import FirstHarmonicModel
from qckm.decode.result import Clustering
from qckm.errors import DecodeError
from qckm.random import spawn
from qckm.sketch import Sketch
from qckm.threads import one_thread

__all__ = ["Clustering", "decode"]

Floats = npt.NDArray[np.float64]

DECODERS = {"auto": clompr, "clompr": clompr}


def decode(
    sketch: Sketch,
    n_clusters: int,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    decoder: str = "auto",
    n_init: int = 1,
    random_state: Any = None,
    init: npt.ArrayLike | None = None,
) -> Clustering:
    """Find K centroids and their weights from a sketch alone.

    Parameters
    ----------
    sketch : Sketch
    n_clusters : int
        K.
    bounds : pair of array-like of shape (n,), optional
        The box to look in; by default the bounds seen in the data, which the sketch knows.
    decoder : {"auto", "clompr"}, default "auto"
        "clompr" is the paper's algorithm to the letter; "auto" is the best there is, now that one.
    n_init : int, default 1
        Replicates; the one with the least sketch objective is kept.
    random_state : None, int, Generator or RandomState
    init : array-like of shape (K, n), optional
        Centroids to start from, in the first replicate.

    Returns
    -------
    Clustering

    Examples
    --------
    >>> import numpy as np, qckm
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-3, 1, (500, 2)), rng.normal(3, 1, (500, 2))])
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=100, scale=2.0, random_state=0)
    >>> found = qckm.decode(op.sketch(X), n_clusters=2, random_state=0)
    >>> abs(found.centers).round().tolist(), found.weights.round(1).tolist()
    ([[3.0, 3.0], [3.0, 3.0]], [0.5, 0.5])
    """
    if not isinstance(sketch, Sketch):
        raise DecodeError(
            f"Expected a Sketch, got {type(sketch).__name__}: make one with op.sketch(X), or qckm.load a file."
        )
    _require_positive("n_clusters", n_clusters)
    _require_positive("n_init", n_init)
    if decoder not in DECODERS:
        raise DecodeError(f"Expected a decoder among {', '.join(DECODERS)}, got {decoder!r}.")
    if sketch.exact and n_clusters > sketch.count > 0:
        raise DecodeError(f"Expected n_clusters <= the {sketch.count} row(s) sketched, got {n_clusters}.")
    model = FirstHarmonicModel.of(sketch)
    lower, upper = (model.to_points(bound) for bound in _box(sketch, bounds))
    start = None if init is None else model.to_points(_centers(init, n_clusters, sketch.operator.n_features))
    with one_thread():
        replicates = [
            DECODERS[decoder](model, n_clusters, lower, upper, rng, start if number == 0 else None)
            for number, rng in enumerate(spawn(random_state, n_init))
        ]
    return _clustering(model, replicates)


def _clustering(model: FirstHarmonicModel, replicates: list[Support]) -> Clustering:
    best = min(replicates, key=lambda support: support.objective)
    order = np.argsort(-best.weights, kind="stable")
    weights = best.weights[order]
    share = weights.sum()
    return Clustering(
        centers=model.to_centers(best.points[order]),
        # Only now do weights sum to 1: the objective and the choice of the replicate are those of the fit itself.
        weights=weights / share if share > 0 else np.full(len(weights), 1 / len(weights)),
        spreads=np.zeros(len(weights)),
        objective=best.objective,
        explained=1 - best.objective / float(model.z @ model.z) if model.z.any() else 0.0,
        n_iter=sum(support.n_evaluations for support in replicates),
    )


def _box(sketch: Sketch, bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None) -> tuple[Floats, Floats]:
    """Return the box in data units: as given or as seen, but never beyond what the operator can code."""
    n = sketch.operator.n_features
    try:
        lower, upper = (
            np.broadcast_to(np.asarray(bound, np.float64), (n,))
            for bound in (sketch.bounds if bounds is None else bounds)
        )
    except (ValueError, TypeError) as error:
        raise DecodeError(
            f"Expected bounds as a pair (lower, upper) of shape ({n},) each, got {bounds!r:.80}."
        ) from error
    if not (np.isfinite(lower).all() and np.isfinite(upper).all() and (lower <= upper).all()):
        raise DecodeError("Expected finite bounds with lower <= upper: an empty sketch has none, pass bounds=.")
    least, greatest = sketch.operator.reach
    return np.clip(lower, least, greatest), np.clip(upper, least, greatest)


def _centers(init: npt.ArrayLike, n_clusters: int, n_features: int) -> Floats:
    centers = np.asarray(init, np.float64)
    if centers.shape != (n_clusters, n_features) or not np.isfinite(centers).all():
        raise DecodeError(f"Expected finite init of shape ({n_clusters}, {n_features}), got shape {centers.shape}.")
    return centers


def _require_positive(name: str, value: Any) -> None:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise DecodeError(f"Expected {name} to be a whole number >= 1, got {value!r}.")
