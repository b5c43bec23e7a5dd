"""Points that stand for the rows of a sketch, each with a weight and the cluster it belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.clouds.cloud import Cloud
from qckm.decoding.clouds.contributions import Singles, measure
from qckm.decoding.targets.kmeans import Clustering
from qckm.sketch import Sketch

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
