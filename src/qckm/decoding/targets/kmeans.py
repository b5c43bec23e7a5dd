"""From a sketch to centroids: `decode` checks what was asked, runs a decoder and keeps the best replicate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.common.random import spawn
from qckm.decoding.clouds.calibration import as_sample
from qckm.decoding.model.first_harmonic import FirstHarmonicModel
from qckm.decoding.room import require_room
from qckm.decoding.targets.clompr import clompr
from qckm.decoding.targets.clustering import Clustering
from qckm.decoding.targets.least_regret import find, fit_at_best_scale
from qckm.decoding.task import Sample, Task
from qckm.decoding.verdict.remarks import out_of_reach, remarks_on
from qckm.decoding.watching import was_cut
from qckm.errors import DecodeError, PoorFitWarning, RemarkWarning, SaturationWarning, warn
from qckm.kernels.threads import one_thread
from qckm.planning.pilot import Hints
from qckm.sketch import Sketch, SketchOperator

__all__ = ["Clustering", "Hints", "decode", "decode_hinted"]


POOR_FIT = (
    "Several different sets of centroids fit this sketch: these may be wrong. Rows to decode with, more frequencies, "
    "another scale or another number of clusters may help."
)
# Centroids are reliable if their SSE is hardly more than by this share above the least: what experiments count as
# success, too.
TOLERANCE = 0.2

CUT_SHORT = "The search was stopped: these are the best centroids so far."


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
    sample = None
    if rows is not None:
        given = as_sample(sketch.operator, rows)
        sample = Sample(given, np.ones(len(given)), None)
    task = _task(sketch, n_clusters, init, sample, bounds, decoder, n_init, random_state, spread)
    warn_of_clipping(sketch)
    return _run(task)


def decode_hinted(
    sketch: Sketch,
    n_clusters: int,
    hints: Hints | None,
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
    sample: Sample | None = None
    start = None if isinstance(init, str) else init
    if hints is not None and isinstance(init, str):
        if init == "auto" and hints.rows is not None and hints.weights is not None and decoder != "clompr":
            sample = Sample(hints.rows, hints.weights, hints.centers)
        elif init != "sketch":
            start = hints.centers
    spread = None if hints is None else hints.deviation
    return _run(_task(sketch, n_clusters, start, sample, bounds, decoder, n_init, random_state, spread))


def require_sketch(sketch: Any) -> None:
    """Refuse what is no sketch."""
    if not isinstance(sketch, Sketch):
        raise DecodeError(
            f"Expected a Sketch, got {type(sketch).__name__}: make one with op.sketch(X), or qckm.load a file."
        )


def warn_of_clipping(sketch: Sketch) -> None:
    """Warn where rows of a sketch lie beyond what its operator can code: they count as if at the edge."""
    if sketch.saturated:
        lower, upper = (bound.tolist() for bound in sketch.operator.reach)
        warn(
            f"{sketch.saturated} of {sketch.count} rows ({sketch.saturated / sketch.count:.2%}) have a feature too far "
            f"from the origin to be coded, and were clipped to the box {lower} … {upper}. If they matter, draw the "
            "operator with an origin in the middle of the data, and their extent, or a larger scale, or transform "
            "heavy-tailed features (a logarithm, say).",
            SaturationWarning,
        )


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


def _decode_matched(task: Task) -> Clustering:
    found = find(task)
    centers, shares, widths = found.decision.centroids
    decision, count = found.decision, task.sketch.count
    sample = task.rows if found.by_rows else None  # rows that do not cover what was sketched tell little of it
    doubts = (*out_of_reach(task.sketch, centers), *([CUT_SHORT] if was_cut() else []))
    return Clustering(
        *_heaviest_first(centers, shares, np.sqrt(widths)),
        objective=decision.objective,
        explained=_share_explained(task.sketch, centers, shares, np.sqrt(widths)),
        n_iter=found.n_evaluations,
        converged=bool(decision.excess_high <= TOLERANCE),
        excess=decision.excess,
        excess_high=decision.excess_high,
        octave=found.octave,
        inertia=decision.inertia * count,
        inertia_error=decision.inertia_error * count,
        remarks=(*doubts, *remarks_on(task.sketch, centers, shares, sample)),
        units=task.sketch.operator.units,
        feature_names=task.sketch.operator.feature_names,
    )


def _task(
    sketch: Sketch,
    n_clusters: int,
    init: npt.ArrayLike | None,
    rows: Sample | None,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None,
    decoder: str,
    n_init: int,
    random_state: Any,
    spread: npt.ArrayLike | None,
) -> Task:
    require_sketch(sketch)
    _require_positive("n_clusters", n_clusters)
    _require_positive("n_init", n_init)
    if decoder not in DECODERS:
        raise DecodeError(f"Expected a decoder among {', '.join(DECODERS)}, got {decoder!r}.")
    if sketch.exact and n_clusters > sketch.count > 0:
        raise DecodeError(f"Expected n_clusters <= the {sketch.count} row(s) sketched, got {n_clusters}.")
    if not sketch.count > 0:
        raise DecodeError("A sketch of no rows cannot be decoded: sketch some rows first.")
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


def _decode_clompr(task: Task) -> Clustering:
    (rng,) = spawn(task.random_state, 1)
    octave = fit_at_best_scale(task, rng)[0] if task.sketch.operator.octaves > 1 else None
    model = FirstHarmonicModel.of(task.sketch.octave(octave or 0))
    lower, upper = model.to_points(task.lower), model.to_points(task.upper)
    start = None if task.start is None else model.to_points(task.start)
    replicates = [
        clompr(model, task.n_clusters, lower, upper, rng, start if number == 0 else None)
        for number, rng in enumerate(spawn(task.random_state, task.n_init))
    ]
    best = min(replicates, key=lambda support: support.objective)
    centers, shares, spreads = _heaviest_first(model.to_centers(best.points), best.weights, np.zeros(task.n_clusters))
    return Clustering(
        centers,
        shares,
        spreads,
        objective=best.objective,
        explained=_share(best.objective, float(model.z @ model.z)),
        n_iter=sum(support.n_evaluations for support in replicates),
        octave=octave,
        remarks=remarks_on(task.sketch, centers, shares),
    )


def _share_explained(sketch: Sketch, centers: Floats, weights: Floats, spreads: Floats) -> float:
    """Return the share of a sketch's energy that round Gaussians at centroids explain."""
    from qckm.decoding.model.mixture import Density, predict

    no_axes = np.zeros((len(centers), 0, centers.shape[1]))
    z, silence = sketch.values(), sketch.operator.signature.harmonics[0].real
    left = z - predict(sketch.operator, Density(centers, weights, spreads, no_axes))
    return _share(float(left @ left), float(((z - silence) ** 2).sum()))


DECODERS: dict[str, Callable[[Task], Clustering]] = {
    "auto": _decode_matched,
    "matched": _decode_matched,
    "clompr": _decode_clompr,
}


def _heaviest_first(centers: Floats, weights: Floats, spreads: Floats) -> tuple[Floats, Floats, Floats]:
    """Return centroids by their weights, which only now sum to 1: the choice of a replicate is that of the fit."""
    order = np.argsort(-weights, kind="stable")
    share = weights.sum()
    shares = weights[order] / share if share > 0 else np.full(len(weights), 1 / len(weights))
    return centers[order], shares, spreads[order]


def _share(misfit: float, energy: float) -> float:
    """Return which share of a sketch's energy is explained by what leaves this misfit."""
    return 1 - misfit / energy if energy > 0 else 0.0


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


def hints_of(operator: SketchOperator, rows: npt.ArrayLike) -> Hints:
    """Return what rows tell a decoder, if they are rows of what an operator measures."""
    sample = as_sample(operator, rows)
    return Hints(sample, np.ones(len(sample)))


def _finite(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(values, np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise DecodeError(f"Expected finite {name} of shape {shape}, got shape {array.shape}.")
    return array


def _require_positive(name: str, value: Any) -> None:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise DecodeError(f"Expected {name} to be a whole number >= 1, got {value!r}.")
