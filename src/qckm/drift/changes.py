"""Changes of clusters as columns of a regression: how much of the difference of two sketches they explain.

The columns are read off points that stand for the rows of the first sketch, each with a weight and a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.clouds.cloud import Cloud
from qckm.decoding.clouds.totals import Singles, measure
from qckm.decoding.targets.clustering import Clustering
from qckm.drift.reference_rows import Whitening
from qckm.operator.signatures import Signature
from qckm.sketch import Sketch, SketchOperator

# Slopes of the signature are taken over this part of a turn, in radians either way: bits have no derivative.
_HALF_STEP = 0.5
# Directions whose variance is below this share of the greatest are not told from none.
_FLAT = 1e-8
# Half of them weigh measurements, half tell errors.
_POINTS = 3000
# A quarter of drawn points are so many times as far from their centre.
_WIDER = 2.0


@dataclass(frozen=True, eq=False)
class LabelledCloud:
    """Points (P, n) that reproduce a sketch, their weights, labels and contributions; the clusters they belong to."""

    points: Floats
    weights: Floats  # (P,), of sum 1
    labels: npt.NDArray[np.intp]
    contributions: Singles  # (P, M)
    centers: Floats  # (K, n)
    shares: Floats  # (K,): the weights of their points
    spreads: Floats  # (K,): standard deviations in a direction, in units
    units: Floats  # (n,)

    def nearest(self, point: Floats) -> tuple[int, float]:
        """Return the cluster whose centre is nearest to a point, and the distance, both in its own deviations."""
        squares = (((point - self.centers) / self.units) ** 2).sum(axis=1) / self.spreads**2
        return int(squares.argmin()), float(np.sqrt(squares.min()))


def labelled_cloud(
    sketch: Sketch, clusters: Clustering, rows: Floats | None, rng: np.random.Generator
) -> LabelledCloud:
    """Return rows, or points drawn from clusters where there are none, weighted so that they reproduce a sketch."""
    points = _drawn(sketch, clusters, rng) if rows is None else rows[rng.permutation(len(rows))[:_POINTS]]
    cloud = Cloud.calibrated(sketch, points)
    labels, squares = cloud.nearest(clusters.centers)
    K = len(clusters.centers)
    shares: Floats = np.bincount(labels, cloud.weights, minlength=K).astype(np.float64)
    variances = np.bincount(labels, cloud.weights * squares, minlength=K) / np.maximum(shares, 1e-300)
    spreads = np.sqrt(variances / points.shape[1])
    typical = float(np.median(spreads[spreads > 0])) if (spreads > 0).any() else 1.0
    return LabelledCloud(
        points,
        cloud.weights,
        labels,
        measure(sketch.operator, points),
        clusters.centers,
        shares,
        np.where(spreads > 0, spreads, typical),
        sketch.operator.units,
    )


def _drawn(sketch: Sketch, clusters: Clustering, rng: np.random.Generator) -> Floats:
    """Draw points of clusters, as many of light ones as half of what is their due is of heavy ones."""
    even = np.full(len(clusters.weights), 1 / len(clusters.weights))
    shares = (clusters.weights / max(float(clusters.weights.sum()), 1e-300) + even) / 2
    which = rng.choice(len(shares), _POINTS, p=shares / shares.sum())
    spreads = clusters.spreads[which] * np.where(rng.random(_POINTS) < 0.25, _WIDER, 1.0)
    around = spreads[:, np.newaxis] * sketch.operator.units * rng.standard_normal((_POINTS, clusters.centers.shape[1]))
    return np.clip(clusters.centers[which] + around, *sketch.coded_bounds)


@dataclass(frozen=True, eq=False)
class Option:
    """A change that may be added: its columns, what it would be alone, and how likely by chance."""

    kind: Literal["weight", "move", "new"]
    cluster: int | None
    columns: Floats  # (M, p)
    size: float  # of the first column
    pvalue: float
    rank: float  # the same as a normal deviation, which does not vanish
    place: Floats | None = None  # of new rows
    offset: Floats | None = None  # (n,): how far a cluster was moved before slopes were taken …
    explained: Floats | None = None  # … and what that explains, (M,)


@dataclass(eq=False)
class Changes:
    """The difference of two sketches, and the columns that were chosen to explain it."""

    difference: Floats  # (M,)
    factor: float  # 1/N + 1/N′
    whitening: Whitening
    judges: Floats  # (P, M): centred contributions times the roots of their weights
    atoms: Floats  # (K, M): mean contributions less those of all
    present: npt.NDArray[np.bool_]  # (K,): which clusters have points
    cloud: LabelledCloud
    operator: SketchOperator
    chosen: list[Option] = field(default_factory=list)
    extra: list[Floats] = field(default_factory=list)  # judges of rows that the cloud does not stand for

    @classmethod
    def of(cls, cloud: LabelledCloud, before: Sketch, after: Sketch) -> Changes:
        """Prepare the columns of all clusters."""
        operator, K = before.operator, len(cloud.centers)
        mean = cloud.weights @ cloud.contributions.astype(np.float64)
        half = len(cloud.points) // 2
        rooted = (np.sqrt(cloud.weights)[:, np.newaxis] * (cloud.contributions - mean)).astype(np.float32)
        shaping, judging = (
            part / np.float32(np.sqrt(max(weights.sum(), 1e-12)))
            for part, weights in ((rooted[:half], cloud.weights[:half]), (rooted[half:], cloud.weights[half:]))
        )
        members = np.zeros((K, len(cloud.points)))
        members[cloud.labels, np.arange(len(cloud.points))] = cloud.weights
        shares = np.maximum(cloud.shares, 1e-300)[:, np.newaxis]
        return cls(
            after.values() - before.values(),
            1 / before.count + 1 / after.count,
            Whitening.of(shaping),
            judging.astype(np.float64),
            members @ cloud.contributions / shares - mean,
            cloud.shares > 0,
            cloud,
            operator,
        )

    @property
    def _columns(self) -> Floats:
        return np.concatenate([np.zeros((self.difference.size, 0)), *(option.columns for option in self.chosen)], 1)

    @property
    def _target(self) -> Floats:
        """What columns are to explain: the difference, less what the offsets of moved clusters do."""
        known = [option.explained for option in self.chosen if option.explained is not None]
        return self.difference - sum(known, np.zeros(self.difference.size))

    def _moved(self, k: int, offset: Floats) -> tuple[Floats, Floats]:
        """Return what moving a cluster explains, (M,), and how that rises with each feature from there on, (M, n)."""
        operator, mine = self.operator, self.cloud.labels == k
        weights, points = self.cloud.weights[mine], self.cloud.points[mine] + offset
        explained = np.zeros(self.difference.size)
        if offset.any():
            explained = weights @ (measure(operator, points) - self.cloud.contributions[mine])
        phases = (points - operator.origin) @ operator.frequencies + operator.phases
        slopes = [
            weights @ _slopes(operator.signature, phases + half * np.pi / 2) for half in range(1 + operator.paired)
        ]
        columns = [(operator.frequencies * slope).T for slope in slopes]
        return explained, np.concatenate(columns)

    def follow(self, option: Option, step: Floats) -> Option:
        """Return a move whose slopes are taken where the cluster has moved to."""
        offset = step if option.offset is None else option.offset + step
        explained, columns = self._moved(option.cluster or 0, offset)
        return replace(option, offset=offset, explained=explained, columns=columns)

    def left_over(self) -> Floats:
        """Return (C + ρI)⁻¹(d − what the chosen columns explain)."""
        columns = self._columns
        return self.whitening.apply(self._target - columns @ self._solve(columns)[0])

    def candidates(self) -> list[Option]:
        """Return all changes of clusters that could be added."""
        taken = {(option.kind, option.cluster) for option in self.chosen}
        options = []
        for k in np.flatnonzero(self.present).tolist():
            if ("weight", k) not in taken and len(self.atoms) > 1:
                options.append(self.rate("weight", k, self.atoms[k][:, np.newaxis], 1))
            if ("move", k) not in taken:
                columns = self._moved(k, np.zeros(self.cloud.points.shape[1]))[1]
                options.append(self.rate("move", k, columns, columns.shape[1]))
        return options

    def rate(
        self, kind: Literal["weight", "move", "new"], cluster: int | None, columns: Floats, freedom: int
    ) -> Option:
        """Return how much columns would explain of what is left, and how likely chance would let them."""
        from scipy.special import chdtrc

        before = self._columns
        weighed = self.whitening.apply(columns)
        if before.shape[1]:
            columns_left = columns - before @ self._solve(before, columns)[0]
            weighed = self.whitening.apply(columns_left)
        scores = weighed.T @ self._target
        covariance = self._covariance(weighed)
        gain = float(scores @ _pseudo_inverse(covariance) @ scores)
        information = columns.T @ weighed
        size = float((_pseudo_inverse(information) @ scores)[0])
        # Wilson and Hilferty: the cube root of chi-square is nearly normal.
        rank = ((max(gain, 0.0) / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / np.sqrt(2 / (9 * freedom))
        return Option(kind, cluster, columns, size, float(chdtrc(freedom, max(gain, 0.0))), rank)

    def estimates(self) -> list[tuple[Floats, Floats]]:
        """Return the size of each chosen change, fitted together, and its covariance."""
        values, covariance = self._solve(self._columns)
        ends = np.cumsum([0, *(option.columns.shape[1] for option in self.chosen)])
        parts = [slice(begin, end) for begin, end in pairwise(ends)]
        return [(values[part], covariance[part, part]) for part in parts]

    def significances(self) -> list[float]:
        """Return how likely each chosen change would be as large by chance, the others being there.

        New rows of a share below 0 are none.
        """
        from scipy.special import chdtrc

        found = []
        for option, (values, covariance) in zip(self.chosen, self.estimates(), strict=True):
            moved = values if option.offset is None else values + option.offset
            likely = float(chdtrc(len(moved), moved @ _pseudo_inverse(covariance) @ moved))
            found.append(1.0 if option.kind == "new" and values[0] <= 0 else likely)
        return found

    def weights(self) -> tuple[Floats, Floats]:
        """Return how much the share of each cluster has changed, moves and new rows apart, and the errors."""
        others = [option for option in self.chosen if option.kind != "weight"]
        which = np.flatnonzero(self.present)
        K = len(which)
        # Shares change by what sums up to 0: K − 1 directions, those of the cosine transform but the constant.
        basis = np.cos(np.pi * np.outer(np.arange(K) + 0.5, np.arange(1, K)) / max(K, 1))
        columns = np.concatenate([self.atoms[which].T @ basis, *(option.columns for option in others)], axis=1)
        changes, errors = np.full(len(self.atoms), np.nan), np.full(len(self.atoms), np.nan)
        if not K or not columns.shape[1]:
            changes[which], errors[which] = 0.0, 0.0
            return changes, errors
        # New rows dilute all others.
        new = [option.kind == "new" for option in others for _ in range(option.columns.shape[1])]
        share = np.concatenate([basis, -np.outer(self.cloud.shares[which], new)], axis=1)
        values, covariance = self._solve(columns)
        changes[which] = share @ values
        errors[which] = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", share, covariance, share), 0))
        return changes, errors

    def _solve(self, columns: Floats, target: Floats | None = None) -> tuple[Floats, Floats]:
        """Regress a target (M, …), the difference unless given, on columns; return coefficients and covariance."""
        weighed = self.whitening.apply(columns)
        inverse = _pseudo_inverse(columns.T @ weighed)
        values = inverse @ (weighed.T @ (self._target if target is None else target))
        return values, self._covariance(weighed @ inverse)

    def _covariance(self, directions: Floats) -> Floats:
        """Return the covariance of the difference along directions (M, p), if rows are independent."""
        covariance = np.zeros((directions.shape[1], directions.shape[1]))
        for rows in (self.judges, *self.extra):
            along = rows @ directions
            covariance += along.T @ along * self.factor
        return covariance


def _slopes(signature: Signature, phases: Floats) -> Floats:
    """Return how a signature rises with the phase, averaged over a part of a turn."""
    slopes: Floats = (signature(phases + _HALF_STEP) - signature(phases - _HALF_STEP)) / (2 * _HALF_STEP)
    return slopes


def _pseudo_inverse(matrix: Floats) -> Floats:
    """Return the inverse of a covariance in the directions in which it is not flat."""
    return np.asarray(np.linalg.pinv(matrix, rcond=_FLAT, hermitian=True), np.float64)
