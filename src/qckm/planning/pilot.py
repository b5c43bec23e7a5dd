"""The pilot, a few thousand rows looked at before the pass: the scale, the origin and the law are chosen by it.

The rule: sketch at frequencies of a radian or somewhat less per standard deviation of a cluster, which a k-means of the
pilot estimates, or lower ones where clusters are far apart: harmonics see what is near. It is equivariant: data shifted
and rescaled give the scale and origin shifted and rescaled, up to the rounding below, and a row of weight w counts as w
equal rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.clustering.centroids import count_runs, kmeans
from qckm.common.arrays import Floats
from qckm.errors import QckmError
from qckm.kernels.reference import CODE_LIMIT, TURN
from qckm.operator.drawing import ONE_OF
from qckm.operator.signatures import Signature

# Rows of a pilot at least, where there are as many, and per cluster: what it is clustered by needs some of each.
PILOT_ROWS, ROWS_PER_CLUSTER = 5000, 50
# Beyond these, squares overflow or vanish.
_SMALLEST = 1e-150
# Fewer frequencies than so many times the unknowns are few; for so many clusters, in so many features, any number is.
_FEW, _MANY_CLUSTERS, _MANY_FEATURES = 3, 50, 5
# Frequencies: the law, and rms ‖ω‖ times the clusters' standard deviation (measured: experiments/decoder). Clusters are
# told apart with the fewest measurements where all ‖ω‖ are about equal, and high.
_OF_FEW = ("integer-concentrated", 0.9)
# With measurements to spare, lower ones see the tails of real clusters, and a spread of norms clusters of different
# widths. A signature's harmonics are frequencies, too: where it has none, norms are spread further, and reach higher.
_OF_PLENTY = ("integer-balanced", 0.65)
_OF_PURE_TONES = ("integer-gaussian", 1.0)
# The first rows of a stream may be of one kind, and their scale a few times off: wider norms forgive that.
_FIRST_ROWS = ("integer-gaussian", _OF_PLENTY[1])
# Starts of k-means: the clusters' width, which is what is wanted, hardly depends on the best of them.
_RUNS = 10
# Clusters much tighter than their distances would make a scale at which a search sees nothing: neighbours are no more
# than so many scales apart, but a half less for each feature, as there are more places to search; at least so many,
# where a kernel of one scale is 4 % of its height and still pulls.
_MOST_APART, _LEAST_APART = 5.0, 2.5
# The deviation assumed is no less than this share of what distances would be if clusters were spread evenly: groups of
# near clusters, far from each other, would otherwise be needles in a haystack.
_LEAST_SHARE_OF_SPACING = 0.15
# All but this share of the pilot should lie where an operator reaches.
_SHARE_BEYOND = 0.01
# Rows go so many times further than those of the pilot: Gaussian tails of 10⁹ rows go 6.1 deviations, of 5000 rows 3.7.
_FURTHER = 2.0


@dataclass(frozen=True, eq=False)
class Pilot:
    """Some rows, in data units, and what they tell a decoder.

    Parameters
    ----------
    rows, weights : ndarray of shape (P, n), (P,)
        Rows, and what each stands for: none where they were not kept. Those that were drawn are distinct, and sorted.
    centers : ndarray of shape (K, n), optional
        Their k-means centroids, where they are known.
    spread : ndarray of shape (n,), optional
        The standard deviation of the data by feature, where it is known.
    of_all : bool, default False
        Whether the rows were drawn from the very rows that were sketched.
    """

    rows: Floats
    weights: Floats
    centers: Floats | None = None
    spread: Floats | None = None
    of_all: bool = False

    def without_rows(self) -> Pilot:
        """Return the same without any row: what may be kept, and travel."""
        return replace(self, rows=np.empty((0, self.rows.shape[1])), weights=np.empty(0))

    @cached_property
    def mean(self) -> Floats:
        """The weighted mean, (n,)."""
        return np.average(self.rows, axis=0, weights=self.weights)

    @cached_property
    def deviations(self) -> Floats:
        """The weighted standard deviation of each feature, (n,)."""
        return np.sqrt(np.average((self.rows - self.mean) ** 2, axis=0, weights=self.weights))

    def units(self) -> Floats:
        """Return what standardised columns count in: their deviations, to a few bits; 0 of those that are constant."""
        return np.where(np.ptp(self.rows, axis=0) == 0, 0.0, _rounded(self.deviations))

    def repeated(self, size: int) -> Floats:
        """Return at most `size` rows, each about as often as its weight says: for those who take no weights."""
        edges = np.cumsum(self.weights)
        count = min(size, max(1, round(float(edges[-1]))))
        which = np.searchsorted(edges, (np.arange(count) + 0.5) * (edges[-1] / count), side="right")
        repeated: Floats = self.rows[which]
        return repeated


def pilot_of(X: npt.NDArray[Any], sample_weight: npt.NDArray[Any] | None) -> Pilot:
    """Return the pilot that finite rows X: (rows, n) and their weights are; refuse what k-means cannot add up."""
    counts = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    rows = np.asarray(X, np.float64)
    largest = np.abs(rows).max()
    if largest and not _SMALLEST <= largest <= 1 / _SMALLEST:
        raise QckmError(
            f"Expected values of a size from {_SMALLEST} to {1 / _SMALLEST}, got up to {largest:.3g} in column "
            f"{int(np.abs(rows).max(axis=0).argmax())} (the first is 0): their squares, which k-means adds up, are no "
            "float64. Rescale the data, or remove such rows if they are mistakes."
        )
    rows, which = np.unique(rows[counts > 0], axis=0, return_inverse=True)
    weights: Floats = np.bincount(which.ravel(), counts[counts > 0]).astype(np.float64)
    return Pilot(rows, weights)


@dataclass(frozen=True, eq=False)
class Settings:
    """What a pilot suggests: scale, origin and extent for an operator; its own centroids and deviation by feature."""

    scale: float  # in units; all else is in data units
    origin: Floats
    extent: Floats
    centers: Floats
    spread: Floats


def choose_settings(
    pilot: Pilot, n_clusters: int, rng: np.random.Generator, radians: float = _OF_PLENTY[1], units: Floats | float = 1.0
) -> Settings:
    """Choose for K clusters: an rms ‖ω‖ of so many radians per deviation of a cluster, unless they are far apart.

    Columns count in units (n,).
    """
    n = pilot.rows.shape[1]
    pilot = Pilot(pilot.rows / units, pilot.weights)
    centers, within = _cluster(pilot, n_clusters, rng)
    total = _deviation(pilot)
    if total == 0:  # one distinct row: any scale will do, but it should be of the data's size
        total = float(np.abs(pilot.rows).max()) or 1.0
    within = max(within, _LEAST_SHARE_OF_SPACING * total / n_clusters ** (1 / n))
    # No scale that follows distances is larger than that of all rows as one cluster: a few rows may be far away.
    of_a_cluster, of_all_rows = (deviation * np.sqrt(n) / radians for deviation in (within, total))
    apart = min(_spacing(centers) / max(_LEAST_APART, _MOST_APART - n / 2), of_all_rows)
    # Rounded, as the origin is: a k-means whose last bits depend on the processor must not give another operator.
    scale = float(_rounded(max(of_a_cluster, apart, _distance(pilot) / _scales_reached(n))))
    grid = np.ldexp(0.5, int(np.frexp(scale)[1]) - 2)
    origin = np.rint(pilot.mean / grid) * grid
    extent = _FURTHER * np.abs(pilot.rows - origin).max(axis=0)
    return Settings(scale, origin * units, extent * units, centers * units, pilot.deviations * units)


def choose_law(
    n_features: int,
    n_clusters: int,
    n_frequencies: int,
    signature: Signature,
    wanted: Any = "auto",
    of_all: bool = True,
) -> tuple[Any, float]:
    """Choose the law, unless another than "auto" is wanted, and rms ‖ω‖ times the clusters' standard deviation.

    `of_all` is whether the pilot was drawn from all rows, or is the first of them.
    """
    many = n_clusters >= _MANY_CLUSTERS and n_features >= _MANY_FEATURES
    if n_frequencies < _FEW * n_features * n_clusters or many:
        law, radians = _OF_FEW
    elif not of_all:
        law, radians = _FIRST_ROWS
    else:
        law, radians = _OF_PURE_TONES if signature.is_pure_tone else _OF_PLENTY
    return law if wanted == "auto" else wanted, radians


def _cluster(pilot: Pilot, n_clusters: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Return K centroids of the pilot and the standard deviation around them, in one direction."""
    distinct, n = pilot.rows.shape
    if distinct <= n_clusters:
        return pilot.rows[np.arange(n_clusters) % distinct], 0.0
    # Centred and of unit size: k-means' own arithmetic then loses nothing to a large offset.
    mean, size = pilot.mean, _deviation(pilot)
    rows = (pilot.rows - mean) / size
    runs = count_runs(_RUNS, distinct, n, n_clusters)
    best = kmeans(rows, pilot.weights, n_clusters, runs, rng)
    variance = best.inertia / (n * pilot.weights.sum()) * distinct / (distinct - n_clusters)
    return best.centers * size + mean, float(np.sqrt(variance)) * size


def _spacing(centers: Floats) -> float:
    """Return the distance from a typical one of the centres (K, n) to the next, the median; 0 where there is one only.

    Clusters much nearer than that are told apart by harmonics (decoding/model/loops.py), if the signature has any.
    """
    places = np.unique(centers, axis=0)
    if len(places) < 2:
        return 0.0
    distances = [np.partition(np.linalg.norm(places - place, axis=1), 1)[1] for place in places]  # the first is its own
    return float(np.quantile(distances, 0.5, method="lower"))


def _distance(pilot: Pilot) -> float:
    """Return how far from their mean, in any feature, all rows of a pilot are but the furthest few."""
    distances = np.abs(pilot.rows - pilot.mean).max(axis=1)
    order = np.argsort(distances, kind="stable")
    within = np.cumsum(pilot.weights[order])
    return float(distances[order[np.searchsorted(within, (1 - _SHARE_BEYOND) * within[-1])]])


def _scales_reached(n: int) -> float:
    """Return how many scales from its origin an operator of n features reaches at least.

    It reaches CODE_LIMIT steps, at each of which the highest frequency turns by CODE_LIMIT / TURN. Components along the
    features are normal, with a mean square of one over the scale's; the one frequency in a hundred that is too high is
    lowered (operator/drawing.py). Steps are powers of two, which may halve the reach.
    """
    highest = NormalDist().inv_cdf(1 - 1 / (2 * n * ONE_OF))
    return CODE_LIMIT**2 * (2 * np.pi / TURN) / (2 * highest)


def _deviation(pilot: Pilot) -> float:
    """Return the standard deviation in one direction, over all of them."""
    return float(np.sqrt((pilot.deviations**2).mean()))


def _rounded(values: Floats | float) -> Floats:
    """Return values to seven bits: the last ones depend on the processor."""
    fraction, exponent = np.frexp(values)
    rounded: Floats = np.ldexp(np.rint(fraction * 2**7) / 2**7, exponent)
    return rounded
