"""From a sketch to centroids: `decode` checks what was asked, and runs a decoder.

The default one goes from clouds that have the sketch to the centroids that one regrets least over them. Rows that have
it, with weights that reproduce it (calibration.py), are the one cloud that counts. Where there are none, or they lack
what was sketched, K Gaussians are fitted to the sketch, and densities of more clusters where these do not explain it
(scales.py). Clouds begin at them and go where the sketch says (cloud.py). K-means of all of them gives the centroids,
and how much these cost if one of the clouds is the truth is what is reported: the regret (regret.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from qckm.common.random import spawn
from qckm.decoding.clouds.calibration import as_sample
from qckm.decoding.clouds.cloud import Cloud, clouds_of
from qckm.decoding.search.scales import fit_at_best_scale
from qckm.decoding.targets.clompr import decode_by_clompr
from qckm.decoding.targets.clustering import Clustering
from qckm.decoding.task import Task, require_sketch, warn_of_clipping
from qckm.decoding.verdict.redrawn import redrawn_regret
from qckm.decoding.verdict.regret import decide, decide_by_rows
from qckm.decoding.verdict.remarks import POOR_FIT
from qckm.decoding.watching import tell
from qckm.errors import DecodeError, PoorFitWarning, RemarkWarning, warn
from qckm.kernels.threads import one_thread
from qckm.planning.pilot import Pilot
from qckm.sketch import Sketch

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
    sample = None if rows is None else hints_of(sketch, rows)
    task = Task.of(sketch, n_clusters, init, sample, bounds, n_init, random_state, spread)
    warn_of_clipping(sketch)
    return _run(task, decoder)


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
    task = Task.of(sketch, n_clusters, start, sample, bounds, n_init, random_state, spread)
    return _run(task, decoder)


def _run(task: Task, decoder: str) -> Clustering:
    if decoder not in DECODERS:
        raise DecodeError(f"Expected a decoder among {', '.join(DECODERS)}, got {decoder!r}.")
    with one_thread():
        found = DECODERS[decoder](task)
    if found.converged is False:
        warn(" ".join([POOR_FIT, *found.remarks]), PoorFitWarning)
    elif found.remarks:
        warn(" ".join(found.remarks), RemarkWarning)
    return found


def hints_of(sketch: Sketch, rows: npt.ArrayLike) -> Pilot:
    """Return what rows tell a decoder, if they are rows of what was sketched."""
    require_sketch(sketch)
    sample = as_sample(sketch.operator, rows)
    return Pilot(sample, np.ones(len(sample)))


def decode_by_least_regret(task: Task) -> Clustering:
    """Find the centroids of least regret over clouds that have the sketch."""
    for_rows, for_fit, for_clouds = spawn(task.random_state, 3)
    if task.rows is not None:
        tell("weighing rows")
        cloud = Cloud.of_rows(task.sketch, task.rows)
        if cloud is not None:
            starts = [start for start in (task.start, task.rows.centers) if start is not None]
            return decide_by_rows(task, cloud, starts, for_rows)
    fitted = fit_at_best_scale(task, for_fit)
    gaussians = fitted.attempt.own_widths.points
    starts = [fitted.model.to_centers(gaussians)] if len(gaussians) == task.n_clusters else []
    starts += [start for start in (task.start,) if start is not None]
    # Noise limits where K Gaussians explain the sketch. Elsewhere clouds go as far as those of an ordinary sketch: one
    # that stops where noise might explain the rest stays near a density that does not.
    limited = task.sketch.private and fitted.attempt.explained
    plain = task if limited else replace(task, sketch=replace(task.sketch, ledger=None))
    clouds = clouds_of(plain, fitted, for_clouds)
    by_noise = redrawn_regret(task, fitted, clouds[0], for_fit) if limited else 0.0
    found = decide(task, clouds, starts, for_clouds, by_noise)
    return replace(found, octave=fitted.octave, n_iter=fitted.n_evaluations)


DECODERS: dict[str, Callable[[Task], Clustering]] = {
    "auto": decode_by_least_regret,
    "matched": decode_by_least_regret,
    "clompr": decode_by_clompr,
}
