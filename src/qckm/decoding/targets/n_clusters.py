"""How many clusters there are: what k-means of one cloud of points, which has the sketch, says for any number.

The cloud is rows, weighted so that they have the sketch, or points drawn around the centroids of one decode, weighted
likewise. K-means cuts it into K pieces. Two of them are one group unless the density has a valley between them,
whatever shape it has elsewhere: that is what people call separate. With K the number of groups grows until each is
found, and then stays.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.clustering.centroids import Run, kmeans
from qckm.common.arrays import Floats
from qckm.common.random import spawn
from qckm.decoding.clouds.cloud import Cloud
from qckm.decoding.fit.starts import draw_around, resolution
from qckm.decoding.targets.clustering import Clustering
from qckm.decoding.targets.kmeans import decode, hints_of
from qckm.decoding.task import require_sketch, warn_of_clipping
from qckm.errors import DecodeError, PoorFitWarning, RemarkWarning, SaturationWarning, warn
from qckm.kernels.threads import one_thread
from qckm.sketch import Sketch

# Numbers that may be tried: each takes a run of k-means or more.
_MOST_TRIED = 1000
# Runs of k-means for each number.
_RUNS = 4
# Numbers beyond the largest that are tried as well, as shares of it: they show whether the groups have stopped growing.
_BEYOND = (1.15, 1.3, 1.5)
# Along the line between two centroids, which are at -1 and 1, points are counted in bins up to here. A valley is in the
# middle half, and has less than half of the points of the highest bins on either side of it, by a standard deviation.
_REACH, _BIN, _MIDDLE, _DEEP = 1.5, 0.25, 0.5, 0.5
# Centroids nearer than so many scales are one: rows that are all alike have no valleys.
_CLOSE = 0.02
# Pieces of less than this share of an even one are outliers: they are no group, and join none.
_OUTLIERS = 0.05
# Points that leave less than this of a sketch's energy have it, as far as valleys go: clusters may be very narrow.
_SLIGHT = 0.01
# The choice is clear if so many of the larger numbers agree.
_AGREE = 0.5


@dataclass(frozen=True, eq=False)
class ClusterCount:
    """How many separate groups K clusters form, for each K that was tried, and the number that is chosen.

    Parameters
    ----------
    n_clusters : int
        The number of groups, of the K that were tried the nearest.
    ks : ndarray of int
        The numbers of clusters that were tried, increasing.
    groups : ndarray of int
        How many groups the K clusters of k-means form, by K. Clusters are one group if there is no valley between them.
    variance_explained : ndarray
        The share of the variance that K centroids explain, by K.
    agreement : float
        The share of the larger numbers tried that give the same number of groups; 1 where there are none.
    doubt : str
        Why the number may be wrong; empty where it is clear.
    clustering : Clustering
        Of the chosen K, as `decode` finds it.
    """

    n_clusters: int
    ks: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]
    variance_explained: Floats
    agreement: float
    doubt: str
    clustering: Clustering

    def __repr__(self) -> str:
        tried = f"of {self.ks[0]} to {self.ks[-1]} tried" if len(self.ks) > 1 else f"{self.ks[0]} tried"
        return f"ClusterCount(n_clusters={self.n_clusters}, {tried}, {self.doubt or 'clear'})"


def choose_n_clusters(sketch: Sketch, ks: Iterable[int] = range(1, 11), **how: Any) -> ClusterCount:
    """Choose K from a sketch, alone or with some rows.

    The sketch should have 2nK frequencies or more for the largest K, and a scale fit for clusters of the size that is
    looked for: a valley much narrower than the scale is not seen.

    Parameters
    ----------
    sketch : Sketch
        Of a sketch at several scales, that octave counts which suits the largest K.
    ks : iterable of int, default 1 … 10
        The numbers of clusters to try, as far as there are rows.
    **how
        Passed on to `decode`: rows, bounds, decoder, n_init, random_state, spread.

    Returns
    -------
    ClusterCount
        With a `PoorFitWarning` where the number is not clear.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)) + 8 * rng.integers(0, 3, size=(3000, 1))
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=60, scale=1.8, random_state=0)
    >>> qckm.choose_n_clusters(op.sketch(X), ks=range(1, 6), random_state=0).n_clusters
    3
    """
    tried = _to_try(sketch, ks)
    warn_of_clipping(sketch)
    (rng,) = spawn(how.get("random_state"), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RemarkWarning)
        warnings.simplefilter("ignore", PoorFitWarning)  # more clusters than there are have no best places
        warnings.simplefilter("ignore", SaturationWarning)  # said once
        with one_thread():
            cloud = _cloud(sketch, tried[-1], how, rng)
            more = [K for K in _further(tried[-1]) if len(tried) > 1 and len(cloud.points) >= K]
            cut = [_cut(cloud, K, rng) for K in (*tried, *more)]
        groups = np.array([_count_groups(cloud, run) for run in cut])
        number, agreement = _settled(np.array([*tried, *more]), groups)
        chosen = min(tried, key=lambda K: (abs(K - number), -K))
        clustering = decode(sketch, chosen, **how)
    inertias = np.array([run.inertia for run in cut[: len(tried)]])
    whole = _cut(cloud, 1, rng).inertia
    count = ClusterCount(
        n_clusters=chosen,
        ks=np.array(tried),
        groups=groups[: len(tried)],
        variance_explained=1 - inertias / whole if whole > 0 else np.ones(len(tried)),
        agreement=agreement,
        doubt="",
        clustering=clustering,
    )
    doubt = _doubt(count, number, cloud) if len(tried) > 1 else ""
    if doubt:
        warn(doubt, PoorFitWarning)
    return replace(count, doubt=doubt)


def _to_try(sketch: Sketch, ks: Iterable[int]) -> list[int]:
    """Return the numbers of clusters, increasing, that a sketch of so many rows can have."""
    require_sketch(sketch)
    try:
        given = list(islice(ks, _MOST_TRIED + 1))
        tried = sorted({operator.index(K) for K in given})
    except TypeError as error:
        raise DecodeError(f"Expected numbers of clusters to try, such as range(1, 11), got {ks!r:.80}.") from error
    if len(given) > _MOST_TRIED or any(isinstance(K, (bool, np.bool_)) for K in given):
        raise DecodeError(f"Expected at most {_MOST_TRIED} whole numbers of clusters to try, got {ks!r:.80}.")
    if not tried or tried[0] < 1:
        raise DecodeError(f"Expected numbers of clusters >= 1 to try as n_clusters, got {tried or 'none'}.")
    possible = [K for K in tried if sketch.count >= K] if sketch.exact else tried
    return possible or tried[:1]  # which decoding then refuses, with the reason


def _further(most: int) -> list[int]:
    return sorted({int(np.ceil(share * most)) for share in _BEYOND} - {most})


def _cloud(sketch: Sketch, most: int, how: dict[str, Any], rng: np.random.Generator) -> Cloud:
    """Return rows, if these can have the sketch, or points around centroids, weighted so that they have it."""
    if how.get("rows") is not None:
        cloud = Cloud.of_rows(sketch, hints_of(sketch, how["rows"]))
        if cloud is not None:
            return cloud
    decoded = decode(sketch, most, **how)
    sketch = sketch.octave(decoded.octave or 0)
    lower, upper = sketch.coded_bounds
    return Cloud.raked(sketch, draw_around(sketch, decoded, rng), lower, upper, resolution(sketch), rng)


def _cut(cloud: Cloud, n_clusters: int, rng: np.random.Generator) -> Run:
    """Cut a cloud into K pieces, in the units that count."""
    return kmeans(cloud.points / cloud.sketch.operator.units, cloud.weights, n_clusters, _RUNS, rng)


def _count_groups(cloud: Cloud, run: Run) -> int:
    """Count the pieces, of which those without a valley between them are one."""
    from scipy.sparse.csgraph import connected_components

    K, points = len(run.centers), cloud.points / cloud.sketch.operator.units
    shares = np.bincount(run.labels, cloud.weights, minlength=K)
    counts = cloud.weights * cloud.solution.effective_size
    members = [np.flatnonzero(run.labels == k) for k in range(K)]
    (pieces,) = np.nonzero(shares >= _OUTLIERS / K)
    joined = np.eye(len(pieces), dtype=bool)
    least = float((_CLOSE * resolution(cloud.sketch) / cloud.sketch.operator.units).max() ** 2)
    for a, one in enumerate(pieces):
        for b, other in enumerate(pieces[:a]):
            both = np.concatenate([members[one], members[other]])
            axis = run.centers[other] - run.centers[one]
            length = float(axis @ axis)
            if length <= least:
                joined[a, b] = True
                continue
            along = 2 * ((points[both] - run.centers[one]) @ axis) / length - 1
            joined[a, b] = not _has_valley(along, counts[both])
    return len(np.unique(connected_components(joined, directed=False)[1]))


def _has_valley(along: Floats, counts: Floats) -> bool:
    """Tell whether points between -1 and 1, each so many, are few somewhere in the middle."""
    inside = np.abs(along) < _REACH
    bins = ((along[inside] + _REACH) / _BIN).astype(np.intp)
    heights = np.bincount(bins, counts[inside], minlength=int(2 * _REACH / _BIN))
    first, last = int((_REACH - _MIDDLE) / _BIN), int((_REACH + _MIDDLE) / _BIN)
    for at in range(first, last):
        side = min(heights[:at].max(), heights[at + 1 :].max())
        if heights[at] + np.sqrt(heights[at] + 1) < _DEEP * side:
            return True
    return False


def _settled(tried: npt.NDArray[np.int64], groups: npt.NDArray[np.int64]) -> tuple[int, float]:
    """Return the number of groups, and the share of the larger numbers tried that find as many.

    It is the largest K whose clusters are all separate; unless most of the larger numbers find the same larger one, as
    where k-means spends a centroid on outliers.
    """
    separate = tried[groups == tried]
    number = int(separate.max()) if separate.size else 1
    later = groups[tried > number]
    if later.size:
        values, times = np.unique(later, return_counts=True)
        usual = int(values[times.argmax()])
        if usual > number and times.max() > _AGREE * later.size:
            number = usual
            later = groups[tried > number]
    return number, float((later == number).mean()) if later.size else 1.0


def _doubt(count: ClusterCount, number: int, cloud: Cloud) -> str:
    """Return why the number may be wrong, or nothing."""
    energy = float((cloud.sketch.values() ** 2).sum())
    if cloud.solution.residual > max(cloud.solution.expected, _SLIGHT * energy):
        return (
            "No points were found that have this sketch: the number of clusters may be wrong. Rows, more frequencies "
            "or another scale may help."
        )
    if number > count.ks[-1]:
        return f"There seem to be more clusters than the {count.ks[-1]} tried: try larger numbers."
    if number != count.n_clusters:
        return f"There seem to be {number} separate clusters, a number that was not tried."
    if count.agreement < _AGREE:
        return (
            f"Whether there are {number} clusters is not clear: they are hardly separate, and other numbers of "
            "centroids find other numbers of groups."
        )
    return ""
