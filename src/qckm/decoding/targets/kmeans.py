"""From a sketch to centroids: `decode` checks what was asked, runs a decoder and keeps the best replicate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.clouds.calibration import as_sample
from qckm.decoding.targets.clompr import decode_by_clompr
from qckm.decoding.targets.clustering import Clustering
from qckm.decoding.targets.least_regret import decode_by_least_regret
from qckm.decoding.task import (
    Task,
    require_positive,
    require_room,
    require_rows,
    require_sketch,
    warn_of_clipping,
)
from qckm.decoding.verdict.remarks import POOR_FIT
from qckm.errors import DecodeError, PoorFitWarning, RemarkWarning, warn
from qckm.kernels.threads import one_thread
from qckm.planning.pilot import Pilot
from qckm.sketch import Sketch, SketchOperator

__all__ = ["Clustering", "decode", "decode_hinted"]


def decode(
    sketch: Sketch,
    n_clusters: int,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    decoder: str = "auto",
    n_init: int = 1,
    random_state: Any = None,
    init: npt.ArrayLike | None = None,
    spread: npt.ArrayLike | None = None,
    rows: npt.ArrayLike | None = None,
) -> Clustering:
    """Find K centroids and their weights from a sketch, alone or with some rows.

    Of a sketch at several scales (`SketchOperator.draw(..., octaves=)`), clusters are looked for in that octave whose
    clusters predict best what the others measured.

    Parameters
    ----------
    sketch : Sketch
    n_clusters : int
        K.
    bounds : pair of array-like of shape (n,), optional
        The box to look in; by default the bounds seen in the data, which the sketch knows.
    decoder : {"auto", "matched", "clompr"}, default "auto"
        "matched" models clusters with width, through all harmonics; "clompr" is the paper's algorithm to the letter;
        "auto" is "matched".
    n_init : int, default 1
        Replicates of "clompr", of which the one with the least sketch objective is kept; for "matched", which searches
        until it is satisfied, a factor on its patience.
    random_state : None, int, Generator or RandomState
    init : array-like of shape (K, n), optional
        Centroids to start from, in the first replicate.
    spread : array-like of shape (n,), optional
        Standard deviation of the data by feature around the operator's origin, where it is known: "matched" starts its
        searches there. By default a quarter of the box.
    rows : array-like of shape (rows, n), optional
        Some rows, for "matched": drawn from those that were sketched, or like them. Weighted so that they reproduce the
        sketch (`calibrate`), they are what is clustered, if they can. A few thousand are plenty.

    Returns
    -------
    Clustering
        With a `PoorFitWarning` where `converged` is False, a `RemarkWarning` with its remarks elsewhere, and a
        `SaturationWarning` where rows were clipped.

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
    require_sketch(sketch)
    sample = None if rows is None else hints_of(sketch.operator, rows)
    task = _task(sketch, n_clusters, init, sample, bounds, decoder, n_init, random_state, spread)
    warn_of_clipping(sketch)
    return _run(task)


def decode_hinted(
    sketch: Sketch,
    n_clusters: int,
    hints: Pilot | None,
    init: Literal["auto", "pilot", "sketch"] | npt.ArrayLike = "auto",
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    decoder: str = "auto",
    n_init: int = 1,
    random_state: Any = None,
) -> Clustering:
    """Decode with what a pilot tells: how far the data reach and, unless init is "sketch" or centroids, its rows.

    "auto" decodes with the pilot's rows, where they can reproduce the sketch. "pilot" looks for clusters in the sketch
    alone, and begins at the pilot's centroids; "auto" does so, too, where the rows were not kept.
    """
    sample = None
    start = None if isinstance(init, str) else init
    if hints is not None and isinstance(init, str):
        sample = hints if init == "auto" and decoder != "clompr" and len(hints.rows) else None
        if sample is None and init != "sketch":
            start = hints.centers
    spread = None if hints is None else hints.spread
    return _run(_task(sketch, n_clusters, start, sample, bounds, decoder, n_init, random_state, spread))


def _run(task: Task) -> Clustering:
    require_room(task.sketch.operator.n_features, task.sketch.operator.n_frequencies)
    operator = task.sketch.operator
    with one_thread():
        found = DECODERS[task.decoder](task)
    found = replace(found, units=operator.units, feature_names=operator.feature_names)
    if found.converged is False:
        warn(" ".join([POOR_FIT, *found.remarks]), PoorFitWarning)
    elif found.remarks:
        warn(" ".join(found.remarks), RemarkWarning)
    return found


def _task(
    sketch: Sketch,
    n_clusters: int,
    init: npt.ArrayLike | None,
    rows: Pilot | None,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None,
    decoder: str,
    n_init: int,
    random_state: Any,
    spread: npt.ArrayLike | None,
) -> Task:
    require_sketch(sketch)
    require_positive("n_clusters", n_clusters)
    require_positive("n_init", n_init)
    if decoder not in DECODERS:
        raise DecodeError(f"Expected a decoder among {', '.join(DECODERS)}, got {decoder!r}.")
    require_rows(sketch, "n_clusters", n_clusters, "cannot be decoded")
    n = sketch.operator.n_features
    return Task(
        sketch,
        n_clusters,
        *_box(sketch, bounds),
        start=None if init is None else _finite("init", init, (n_clusters, n)),
        rows=rows,
        spread=None if spread is None else _finite("spread", spread, (n,)),
        n_init=n_init,
        random_state=random_state,
        decoder=decoder,
    )


DECODERS: dict[str, Callable[[Task], Clustering]] = {
    "auto": decode_by_least_regret,
    "matched": decode_by_least_regret,
    "clompr": decode_by_clompr,
}


def _box(sketch: Sketch, bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None) -> tuple[Floats, Floats]:
    """Return the box in data units: as given or as seen, but never beyond what the operator can code."""
    n = sketch.operator.n_features
    try:
        lower, upper = (
            np.broadcast_to(np.asarray(bound, np.float64), (n,))
            for bound in (sketch.coded_bounds if bounds is None else bounds)
        )
    except (ValueError, TypeError) as error:
        raise DecodeError(
            f"Expected bounds as a pair (lower, upper) of shape ({n},) each, got {bounds!r:.80}."
        ) from error
    if not (np.isfinite(lower).all() and np.isfinite(upper).all() and (lower <= upper).all()):
        raise DecodeError("Expected finite bounds with lower <= upper: an empty sketch has none, pass bounds=.")
    least, greatest = sketch.operator.reach
    return np.clip(lower, least, greatest), np.clip(upper, least, greatest)


def hints_of(operator: SketchOperator, rows: npt.ArrayLike) -> Pilot:
    """Return what rows tell a decoder, if they are rows of what an operator measures."""
    sample = as_sample(operator, rows)
    return Pilot(sample, np.ones(len(sample)))


def _finite(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(values, np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise DecodeError(f"Expected finite {name} of shape {shape}, got shape {array.shape}.")
    return array
