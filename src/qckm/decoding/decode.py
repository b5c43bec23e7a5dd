"""From a sketch to centroids: `decode` checks what was asked, runs a decoder and keeps the best replicate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.common.blas import one_thread
from qckm.common.random import spawn
from qckm.decoding.clompr import clompr
from qckm.decoding.points import FirstHarmonicModel
from qckm.decoding.result import Clustering
from qckm.errors import DecodeError, PoorFitWarning, SaturationWarning, warn
from qckm.planning.hints import Hints
from qckm.sketch import Sketch

if TYPE_CHECKING:
    from qckm.decoding.matched import Found
    from qckm.decoding.model import SketchModel

__all__ = ["Clustering", "Hints", "decode", "decode_hinted"]


POOR_FIT = (
    "The centroids found do not explain the sketch, or not stably: they may be wrong. "
    "More frequencies, another scale, another number of clusters or a larger n_init may help."
)


@dataclass(frozen=True, eq=False)
class Task:
    """What a decoder is asked: a sketch, K, the box and the optional start in data units, and the effort.

    `trusted` is a pilot that is known to be like all rows: the start is its centroids.
    """

    sketch: Sketch
    n_clusters: int
    lower: Floats
    upper: Floats
    start: Floats | None
    trusted: Hints | None
    spread: Floats | None
    n_init: int
    random_state: Any
    decoder: str


def decode(
    sketch: Sketch,
    n_clusters: int,
    bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    decoder: str = "auto",
    n_init: int = 1,
    random_state: Any = None,
    init: npt.ArrayLike | None = None,
    spread: npt.ArrayLike | None = None,
) -> Clustering:
    """Find K centroids and their weights from a sketch alone.

    Of a sketch at several scales (`SketchOperator.draw(..., octaves=)`) that octave is decoded whose clusters predict
    best what the others measured.

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

    Returns
    -------
    Clustering
        With a `PoorFitWarning` where `converged` is False, and a `SaturationWarning` where rows were clipped.

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
    how = (bounds, decoder, n_init, random_state, spread)
    task = _task(sketch, n_clusters, init, None, *how)
    warn_of_clipping(sketch)
    return _decode_from(task, init, how)


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
    """Decode with what a pilot tells: how far the data reach and, unless init is "sketch" or centroids, their clusters.

    "pilot" begins there. "auto" does so, too. Where K clusters then explain the sketch to its noise, that is it; where
    they do not, but the pilot is like the rows of the sketch, its own centroids are kept; and where it is not, "auto"
    begins from scratch besides, and keeps that of the two whose K clusters explain more of the sketch.
    """
    spread = None if hints is None else hints.deviation
    how = (bounds, decoder, n_init, random_state, spread)
    if not isinstance(init, str) or hints is None or init == "sketch":
        start = None if isinstance(init, str) else init
        return _decode_from(_task(sketch, n_clusters, start, None, *how), start, how)
    sketch, octave, _ = _at_one_scale(_task(sketch, n_clusters, None, None, *how))
    if octave is not None:
        hints = replace(hints, sketch=hints.sketch.octave(octave))
    trusted = hints if init == "auto" and hints.represent(sketch) else None
    found = _decode(sketch, n_clusters, hints.centers, trusted, *how)
    # What K clusters leave: the objective may be that of a density of several times as many. Of real weights, the noise
    # is not known.
    left = (1 - found.explained) * float((sketch.values() ** 2).sum())
    explained = sketch.exact and left <= sketch.sampling_noise()
    if init == "auto" and trusted is None and not explained:
        found = max(found, _decode(sketch, n_clusters, None, None, *how), key=lambda one: one.explained)
    return _with_verdict(found, octave)


def _decode_from(task: Task, start: npt.ArrayLike | None, how: tuple[Any, ...]) -> Clustering:
    """Decode from a start, or from scratch; choosing an octave has done the latter."""
    sketch, octave, found = _at_one_scale(task)
    if found is None or start is not None:
        found = _decode(sketch, task.n_clusters, start, None, *how)
    return _with_verdict(found, octave)


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


def _with_verdict(found: Clustering, octave: int | None) -> Clustering:
    if found.converged is False:
        warn(POOR_FIT, PoorFitWarning)
    return replace(found, octave=octave)


def decode_octaves(task: Task) -> tuple[int, list[Clustering]]:
    """Decode each octave of a sketch at several scales, from scratch; return which suits the data, and all of them."""
    from qckm.decoding.held_out import Density, best_octave

    parts = [task.sketch.octave(j) for j in range(task.sketch.operator.octaves)]
    densities, clusterings = [], []
    with one_thread():
        for part in parts:
            model, found = _fit_matched(replace(task, sketch=part, start=None))
            densities.append(Density.of(model, found.density))
            clusterings.append(_clustering_of(part, model, found))
        return best_octave(parts, densities), clusterings


def _at_one_scale(task: Task) -> tuple[Sketch, int | None, Clustering | None]:
    """Return the sketch to decode, which octave that is, and what choosing it has found there, where there are any."""
    if task.sketch.operator.octaves == 1:
        return task.sketch, None, None
    octave, clusterings = decode_octaves(task)
    found = clusterings[octave] if DECODERS[task.decoder] is _decode_matched else None
    return task.sketch.octave(octave), octave, found


def _decode(*what: Any) -> Clustering:
    task = _task(*what)
    with one_thread():
        return DECODERS[task.decoder](task)


def _task(
    sketch: Sketch,
    n_clusters: int,
    init: npt.ArrayLike | None,
    trusted: Hints | None,
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
        trusted=trusted,
        spread=None if spread is None else _finite("spread", spread, (n,)),
        n_init=n_init,
        random_state=random_state,
        decoder=decoder,
    )


def _decode_clompr(task: Task) -> Clustering:
    model = FirstHarmonicModel.of(task.sketch)
    lower, upper = model.to_points(task.lower), model.to_points(task.upper)
    start = None if task.start is None else model.to_points(task.start)
    replicates = [
        clompr(model, task.n_clusters, lower, upper, rng, start if number == 0 else None)
        for number, rng in enumerate(spawn(task.random_state, task.n_init))
    ]
    best = min(replicates, key=lambda support: support.objective)
    evaluations = sum(support.n_evaluations for support in replicates)
    centers, no_spreads = model.to_centers(best.points), np.zeros(task.n_clusters)
    explained = _share(best.objective, float(model.z @ model.z))
    return _clustering(centers, best.weights, no_spreads, best.objective, explained, evaluations)


def _fit_matched(task: Task) -> tuple[SketchModel, Found]:
    from qckm.decoding.centroids import Centroids
    from qckm.decoding.matched import matched  # numba takes its time to import
    from qckm.decoding.model import SketchModel

    model = SketchModel.of(task.sketch, task.spread)
    start = None if task.start is None else model.to_points(task.start)
    (rng,) = spawn(task.random_state, 1)
    lower, upper = model.to_points(task.lower), model.to_points(task.upper)
    trusted = None
    if task.trusted is not None and start is not None:
        trusted = Centroids(start, task.trusted.weights, (task.trusted.spreads / model.spread) ** 2)
    return model, matched(model, task.n_clusters, lower, upper, rng, start, trusted, task.n_init)


def _decode_matched(task: Task) -> Clustering:
    return _clustering_of(task.sketch, *_fit_matched(task))


def _clustering_of(sketch: Sketch, model: SketchModel, found: Found) -> Clustering:
    centers, spreads = model.to_centers(found.points), np.sqrt(found.widths) * model.spread
    converged = found.converged and not _out_of_reach(sketch, centers)
    explained = _share(found.of_clusters, model.energy())
    return _clustering(centers, found.weights, spreads, found.objective, explained, found.n_evaluations, converged)


def _out_of_reach(sketch: Sketch, centers: Floats) -> bool:
    """Return whether centroids are where the operator has put rows that are too far away for its scale."""
    (least, greatest), (lower, upper) = sketch.operator.reach, sketch.bounds
    margin = 0.1 * (greatest - least) / 2
    below = (lower < least) & (centers >= least) & (centers < least + margin)
    above = (upper > greatest) & (centers <= greatest) & (centers > greatest - margin)
    return bool((below | above).any())


DECODERS: dict[str, Callable[[Task], Clustering]] = {
    "auto": _decode_matched,
    "matched": _decode_matched,
    "clompr": _decode_clompr,
}


def _clustering(
    centers: Floats,
    weights: Floats,
    spreads: Floats,
    objective: float,
    explained: float,
    evaluations: int,
    converged: bool | None = None,
) -> Clustering:
    order = np.argsort(-weights, kind="stable")
    share = weights.sum()
    return Clustering(
        centers=centers[order],
        # Only now do weights sum to 1: the objective and the choice of the replicate are those of the fit itself.
        weights=weights[order] / share if share > 0 else np.full(len(weights), 1 / len(weights)),
        spreads=spreads[order],
        objective=objective,
        explained=explained,
        n_iter=evaluations,
        converged=converged,
    )


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


def _finite(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    array = np.asarray(values, np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise DecodeError(f"Expected finite {name} of shape {shape}, got shape {array.shape}.")
    return array


def _require_positive(name: str, value: Any) -> None:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise DecodeError(f"Expected {name} to be a whole number >= 1, got {value!r}.")
