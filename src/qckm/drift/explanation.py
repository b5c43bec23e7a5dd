"""What has changed, cluster by cluster.

Clusters explain the difference d of two sketches. If cluster k gains a share ε of the rows, d = ε(A_k − z), where A_k
is the mean contribution of its rows and z that of all; if it moves by δ, d = α_k·ω·δ times the mean slope of the
signature over its rows; rows of a new cluster add ε(A(c) − z) at some place c. All this is read off a cloud of points
that reproduces the first sketch: rows of the reference, or points drawn from the clusters (decoding/clouds/cloud.py).

Changes are added one at a time, the one that is least likely by chance first, until the next could be chance. What is
least likely is measured with the covariance of the contributions: from half of the cloud to weigh measurements, from
the other half to tell how far estimates err. Errors take rows to be independent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.targets.clustering import Clustering
from qckm.decoding.targets.kmeans import decode
from qckm.drift.changes import Changes, LabelledCloud, Option, labelled_cloud
from qckm.drift.reference_rows import Reference
from qckm.drift.witness import Witness
from qckm.errors import DecodeError
from qckm.kernels.threads import one_thread
from qckm.models import Model
from qckm.operator.request import as_count
from qckm.sketch import Sketch

ClustersLike: TypeAlias = int | Clustering | Model | npt.ArrayLike

# Changes that are told at most: beyond, everything has changed.
_MOST_CAUSES = 6
# A place of rows, moved or new, that stands out less than this share of the change that does most, in deviations, may
# be what clusters that are no Gaussians leave over: of real rows of which 8 % were exchanged, such came up to half.
_STANDS_OUT = 0.6
# Steps of Newton's method to where a cluster has moved: the first is nearly there.
_STEPS = 2
# Rows around a place nearer to a centre than so many deviations are rows of that cluster, not of a new one.
_APART = 2.0
# A place nearer to a side of the box than this share of its length is at that side.
_AT_THE_EDGE = 1e-3
# Columns of a place that are named.
_MOST_NAMED = 6
# New rows nearer to each other than so many deviations are the same, whose place was not yet right.
_APART_FROM_NEW = 3.0


_DOUBT = "the clusters may be wrong (their verdict is doubtful), and with them what is said to explain the change"

_MORE = "too much has changed to be explained by a few clusters: look at the columns, or decode both windows"


@dataclass(frozen=True, eq=False)
class Cause:
    """One change that explains a part of a drift.

    Parameters
    ----------
    kind : {"weight", "move", "new"}
    cluster : int or None
        Which one has another weight or place; of a new one, the nearest.
    size : float
        The change of the cluster's share of the rows; how far it moved, in its own standard deviations; the share of a
        new one.
    error : float
        Standard error of the size.
    place : ndarray of shape (n,) or None
        Where the cluster is now: one that moved, or a new one.
    pvalue : float
        How likely so much would be explained by chance; that it was looked for among many changes is not counted in.
    center : ndarray of shape (n,) or None
        Where the cluster was.
    names : tuple of str
        The names of the columns, or none.
    """

    kind: Literal["weight", "move", "new"]
    cluster: int | None
    size: float
    error: float
    place: Floats | None
    pvalue: float
    center: Floats | None = None
    names: tuple[str, ...] = ()

    def words(self) -> str:
        """Return the change as a sentence without an end."""
        cluster = f"cluster {self.cluster}"
        if self.kind == "weight":
            verb = "gained" if self.size > 0 else "lost"
            return (
                f"{cluster}, at {self._named(self.center)}, {verb} {abs(self.size):.2%} ± {self.error:.2%} of all rows"
            )
        if self.kind == "move":
            way = f"from {self._named(self.center)} to {self._named(self.place)}"
            return f"{cluster} moved by {self.size:.2f} ± {self.error:.2f} of its deviations, {way}"
        return f"{self.size:.2%} ± {self.error:.2%} of all rows are new, near {self._named(self.place)}"

    def _named(self, point: Floats | None) -> str:
        """Return a point in words: values with the names of their columns."""
        if point is None:
            return "an unknown place"
        if self.names:
            values = [f"{name} {value:.4g}" for name, value in zip(self.names, point, strict=True)]
        else:
            values = [f"{value:.4g}" for value in point]
        return f"({', '.join(values[:_MOST_NAMED])}{', …' if len(values) > _MOST_NAMED else ''})"

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        place, center = (None if point is None else point.tolist() for point in (self.place, self.center))
        return {**self.__dict__, "place": place, "center": center, "words": self.words()}


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What has changed between two sketches, in terms of clusters that stay where they are.

    Parameters
    ----------
    centers : ndarray of shape (K, n)
        The clusters before.
    weights : ndarray of shape (K,)
        Their shares of the rows before.
    weight_changes, weight_errors : ndarray of shape (K,)
        How much their shares have changed, with centres fixed, and the standard errors; NaN for clusters that no point
        of the cloud is near to.
    causes : tuple of Cause
        The changes that chance does not explain, the least likely first; none where there is no drift.
    doubts : tuple of str
        Why the clusters themselves may be wrong, and with them what they explain; that too much has changed for a list.
    """

    centers: Floats
    weights: Floats
    weight_changes: Floats
    weight_errors: Floats
    causes: tuple[Cause, ...]
    doubts: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Explanation(n_clusters={len(self.weights)}, causes={[cause.words() for cause in self.causes]})"

    def lines(self) -> list[str]:
        """Return what has changed, a line each."""
        causes = [f"{number}. {cause.words()}" for number, cause in enumerate(self.causes, 1)]
        return causes or ([] if _MORE in self.doubts else ["no change of a cluster is beyond chance"])

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        return {
            "centers": self.centers.tolist(),
            "weights": self.weights.tolist(),
            "weight_changes": [float(x) if np.isfinite(x) else None for x in self.weight_changes],
            "weight_errors": [float(x) if np.isfinite(x) else None for x in self.weight_errors],
            "causes": [cause.to_dict() for cause in self.causes],
        }


def explain(
    before: Sketch,
    after: Sketch,
    clusters: Any,
    reference: Reference | None,
    level: float,
    drifted: bool,
    random_state: int,
) -> Explanation:
    """Explain the difference of two sketches by changes of clusters; where there is no drift, by chance."""
    found, doubts = _as_clusters(clusters, before, reference, random_state)
    rng = np.random.default_rng(random_state)
    cloud = labelled_cloud(before, found, None if reference is None else reference.rows, rng)
    with one_thread():
        changes = Changes.of(cloud, before, after)
        witness = Witness.of(before, after, cloud)
        if drifted and not _select(changes, witness, after, level, rng):
            changes.chosen, changes.extra, doubts = [], [], (*doubts, _MORE)
        weight_changes, weight_errors = changes.weights()
        names = before.operator.feature_names or ()
        causes = _causes(changes, cloud, weight_changes, weight_errors, names)
    return Explanation(found.centers, cloud.shares, weight_changes, weight_errors, causes, doubts)


def _select(changes: Changes, witness: Witness, after: Sketch, level: float, rng: np.random.Generator) -> bool:
    """Add the least likely change until the next could be chance; return whether that came before there were many."""
    complete = False
    n = after.operator.n_features
    for _ in range(_MOST_CAUSES):
        options = changes.candidates()
        peak = witness.peak(changes, rng)
        if changes.cloud.nearest(peak)[1] > _APART and witness.is_apart(peak, changes, _APART_FROM_NEW):
            new = changes.rate("new", None, witness.column(peak), n + 1)
            options += [new] if _can_be(peak, new.size, after) else []
        least = _STANDS_OUT * max((option.rank for option in changes.chosen), default=0.0)
        options = [option for option in options if option.kind == "weight" or option.rank >= least]
        best = max(options, key=lambda option: option.rank, default=None)
        if best is None or best.pvalue * len(options) > level or (best.kind == "new" and best.size <= 0):
            complete = True
            break
        changes.chosen.append(replace(best, place=peak if best.kind == "new" else None))
        _settle(changes, witness, rng)
    # What was taken for one change may have become another's.
    while changes.chosen:
        fitted = zip(changes.chosen, changes.estimates(), changes.significances(), strict=True)
        unlikely = [
            chance if _is_tenable(option, values, changes.cloud, after) else np.inf
            for option, (values, _), chance in fitted
        ]
        if max(unlikely) <= level:
            break
        del changes.chosen[int(np.argmax(unlikely))]
        _settle(changes, witness, rng)
    return complete


def _is_tenable(option: Option, values: Floats, cloud: LabelledCloud, after: Sketch) -> bool:
    """Return whether rows can be where a change puts them: new ones, or those of a cluster that moved."""
    if option.place is not None:
        return _can_be(option.place, float(values[0]), after)
    if option.kind == "move" and option.cluster is not None:
        place = cloud.centers[option.cluster] + (values if option.offset is None else values + option.offset)
        lower, upper = after.coded_bounds
        inside = bool(((place >= lower) & (place <= upper)).all())
        return inside and _can_be(place, float(cloud.shares[option.cluster]), after)
    return True


def _can_be(place: Floats, share: float, after: Sketch) -> bool:
    """Return whether a share of new rows can be at a place, as far as the exact facts of a sketch tell.

    At a corner of the box the search has run into the walls: what it follows there is no peak. And a share ε of the
    rows at c makes up ε(c − mean)² of a column's variance, which is known.
    """
    lower, upper = after.coded_bounds
    margin = _AT_THE_EDGE * (upper - lower)
    if np.count_nonzero((place <= lower + margin) | (place >= upper - margin)) > place.size / 2:
        return False
    means, variances = after.column_means, after.column_variances
    if means is None or variances is None:
        return True
    return bool((share * (place - means) ** 2 <= variances).all())


def _causes(
    changes: Changes, cloud: LabelledCloud, weight_changes: Floats, weight_errors: Floats, names: tuple[str, ...]
) -> tuple[Cause, ...]:
    """Return the chosen changes as they are when all are fitted together."""
    causes = []
    for option, (values, covariance) in zip(changes.chosen, changes.estimates(), strict=True):
        kind, cluster, place = option.kind, option.cluster, option.place
        if kind == "weight" and cluster is not None:
            size, error = float(weight_changes[cluster]), float(weight_errors[cluster])
        elif kind == "move" and cluster is not None:
            spread = cloud.spreads[cluster] * cloud.units
            moved = values if option.offset is None else values + option.offset
            size = float(np.sqrt(((moved / spread) ** 2).sum()))
            way = moved / spread / max(size, 1e-300) / spread
            error, place = float(np.sqrt(max(way @ covariance @ way, 0.0))), cloud.centers[cluster] + moved
        else:
            size, error = float(values[0]), float(np.sqrt(covariance[0, 0]))
            cluster = None if place is None else cloud.nearest(place)[0]
        center = None if cluster is None else cloud.centers[cluster]
        causes.append(Cause(kind, cluster, size, error, place, option.pvalue, center, names))
    return tuple(causes)


def _settle(changes: Changes, witness: Witness, rng: np.random.Generator) -> None:
    """Look again where clusters have moved to and new rows are, now that all chosen changes explain their part."""
    for _ in range(_STEPS):
        fitted = zip(changes.chosen, changes.estimates(), strict=True)
        changes.chosen = [
            changes.follow(option, values) if option.kind == "move" else option for option, (values, _) in fitted
        ]
    for option in [option for option in changes.chosen if option.place is not None]:
        number = changes.chosen.index(option)
        del changes.chosen[number]
        place = option.place if option.place is None else witness.polish(option.place, changes)
        if place is not None and witness.is_apart(place, changes, _APART_FROM_NEW):
            changes.chosen.insert(number, replace(option, place=place, columns=witness.column(place)))
    changes.extra = [
        witness.judges(option.place, float(values[0]), rng)
        for option, (values, _) in zip(changes.chosen, changes.estimates(), strict=True)
        if option.place is not None
    ]


def _as_clusters(
    clusters: Any, before: Sketch, reference: Reference | None, random_state: int
) -> tuple[Clustering, tuple[str, ...]]:
    """Return clusters with centres, weights and spreads, and doubts; decode them where only their number is known."""
    n = before.operator.n_features
    if isinstance(clusters, (int, np.integer)) and not isinstance(clusters, bool):
        rows = None if reference is None else reference.rows
        found = decode(before, as_count("clusters", clusters), rows=rows, random_state=random_state)
        return found, (_DOUBT,) if found.converged is False else ()
    said = clusters.facts.get("converged") if isinstance(clusters, Model) else getattr(clusters, "converged", None)
    doubts = (_DOUBT,) if said is False else ()
    if isinstance(clusters, (Clustering, Model)):
        centers, weights, spreads = clusters.centers, clusters.weights, clusters.spreads
    else:
        centers = np.asarray(clusters, np.float64)
        if centers.ndim != 2 or not len(centers) or not np.isfinite(centers).all():
            raise DecodeError(f"Expected a number of clusters, a Clustering, a Model or centres (K, {n}).")
        weights, spreads = np.full(len(centers), 1 / len(centers)), np.zeros(len(centers))
    if centers.shape[1] != n:
        raise DecodeError(f"Expected clusters of {n} columns, as the sketch has, got {centers.shape[1]}.")
    if reference is None and not (spreads > 0).any():
        raise DecodeError(
            "Expected clusters that have a spread, or a reference: points alone do not say what rows of a cluster "
            "contribute. Decode with the default decoder, or give a reference."
        )
    return Clustering(centers, weights, spreads, objective=np.nan, explained=np.nan, n_iter=0), doubts
