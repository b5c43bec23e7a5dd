"""The centroids that one regrets least over all densities that have the sketch, and that regret.

Were cloud i the truth, centroids c would cost a regret of SSE_i(c) / min SSE_i − 1. Chosen are the centroids of k-means
of all clouds together. Each cloud counts by the inverse of its own least SSE, and by exp(−CONCENTRATION · surprise):
how likely a density as far from where the cloud began is, were densities drawn around that by a Dirichlet process.

The regret that is reported counts all clouds alike, for none of them is the truth: where clouds that began elsewhere
disagree, the sketch leaves something open. Only where the K Gaussians need fewer nats than another cloud does that one
count less, by the square of the ratio: what is simple and explains the sketch needs no second opinion.

The fit has followed the sketch with as many numbers as K clusters have: as in any regression, what is left to chance
is M/(M − unknowns) times what is seen. Rows owe nothing to the fit. They say how certain they are by their halves, as
far as they stand for others: a row that stands for itself alone is certain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qckm.clustering.centroids import count_runs
from qckm.common.arrays import Floats
from qckm.decoding.clouds.calibration import unexplained
from qckm.decoding.clouds.cloud import Centroids, Cloud
from qckm.decoding.clouds.totals import missing_variance
from qckm.decoding.model.mixture import Density, predict
from qckm.decoding.targets.clustering import Clustering
from qckm.decoding.task import Task, count_rows
from qckm.decoding.verdict.remarks import CUT_SHORT, out_of_reach, remarks_on
from qckm.decoding.watching import was_cut
from qckm.planning.pilot import Pilot

# How much the surprise of a cloud counts against it, a nat: half or twice as much changes little (constants.csv).
CONCENTRATION = 8.0
# A regret above all of the SSE says no more than that the clouds have nothing in common.
MOST_REGRET = 1.0
# The upper 90 % limit of the excess, over its expectation. Found in 138 development runs: 91 % are below.
UPPER_LIMIT = 5.0
# Centroids are reliable if their SSE is hardly more than by this share above the least: what experiments count as
# success, too.
TOLERANCE = 0.2
# Starts of k-means on rows: half or twice as many change the excess by a hundredth of a per cent (constants.csv).
_RUNS_ON_ROWS = 30
# Runs on points that were drawn, which begin at Gaussians: a few will do.
_RUNS_ON_POINTS = 3
# Sizes of frequencies that are told apart when their energy is averaged.
_SIZES = 10
# Centroids that a cloud tries to improve on: the best for it of all clouds' own.
EXCHANGED = 3


def decide(
    task: Task, clouds: Sequence[Cloud], starts: Sequence[Floats], rng: np.random.Generator, by_noise: float = 0.0
) -> Clustering:
    """Choose the centroids of least regret over clouds that have the sketch, the first of which is the simplest.

    `by_noise` is what the noise of a private sketch makes one regret, whichever cloud is the truth.
    """
    runs = task.n_init * count_runs(_RUNS_ON_POINTS, len(clouds[0].points), task.lower.size, task.n_clusters)
    own = [cloud.cluster(task.n_clusters, starts, runs, rng).points for cloud in clouds]
    own = [_improved(cloud, task.n_clusters, own, rng).points for cloud in clouds]
    least = np.array([cloud.inertia(points) for cloud, points in zip(clouds, own, strict=True)])
    surprise = np.array([cloud.surprise for cloud in clouds])
    likely = np.exp(-CONCENTRATION * (surprise - surprise.min()))
    pooled = Cloud.together(clouds, likely * _over(least.min(), least))
    centroids = _improved(pooled, task.n_clusters, own, rng)
    found = np.array([cloud.inertia(centroids.points) for cloud in clouds])
    regrets = np.clip(_over(found, least) - 1, 0, MOST_REGRET)
    chance = task.sketch.operator.n_measurements / (2 * len(clouds[0].points))  # nats that P points owe to chance
    counted = np.minimum(1, (surprise[0] + chance) / (surprise + chance)) ** 2
    open_to_chance = float(counted @ regrets / counted.sum()) * _inflation(task) + by_noise
    inertia = float(likely @ found / likely.sum())
    scatter = inertia * float(np.sqrt(counted @ (_over(found, inertia) - 1) ** 2 / counted.sum()))
    truly_pooled = Cloud.together(clouds, likely)
    return _clustering(
        task,
        truly_pooled,
        truly_pooled.weights / truly_pooled.solution.effective_size,
        centroids._replace(shares=_shares(truly_pooled, centroids.points)),
        inertia,
        float(np.hypot(scatter, open_to_chance * inertia)),
        open_to_chance,
        float(likely @ [cloud.solution.residual for cloud in clouds] / likely.sum()),
    )


def decide_by_rows(task: Task, cloud: Cloud, starts: Sequence[Floats], rng: np.random.Generator) -> Clustering:
    """Choose the centroids of rows that have the sketch, with the weights that do.

    Each half of the rows has centroids of its own. Those of the other half are worse for it by what both halves owe to
    chance: of all rows, centroids owe a quarter of that, and look better than they are by half of it. Weights that
    reproduce the sketch take back what it explains of the distances.
    """
    runs = task.n_init * count_runs(_RUNS_ON_ROWS, len(cloud.points), task.lower.size, task.n_clusters)
    centroids = cloud.cluster(task.n_clusters, starts, runs, rng)
    squares = cloud.nearest(centroids.points)[1]
    inertia = float(cloud.weights @ squares)
    chance = cloud.chance
    apart = _apart(cloud, centroids.points, rng)
    relative = squares / inertia if inertia > 0 else squares  # squares of squares may be no float64
    left = unexplained(task.sketch, cloud.points, cloud.weights, relative, chance) if chance.any() else 0.0
    variance = float(chance @ (relative - cloud.weights @ relative) ** 2)
    left = min(left, variance)
    regret = apart / 4 * float(_over(left, variance)) if left else 0.0
    return _clustering(
        task,
        cloud,
        chance,
        centroids,
        inertia + apart / 2,
        float(np.hypot(inertia * np.sqrt(left), apart / 4)),
        float(_over(inertia + regret, inertia)) - 1,
        cloud.solution.residual,
        task.rows,
    )


def _clustering(
    task: Task,
    cloud: Cloud,
    chance: Floats,
    centroids: Centroids,
    inertia: float,
    error: float,
    regret: float,
    objective: float,
    sample: Pilot | None = None,
) -> Clustering:
    """Count what no cloud has seen: variance that the columns have and the points lack is SSE of rows far away.

    Means over all rows become sums. `chance` (P,) is what each point adds to the variance of a mean. Rows that do not
    cover what was sketched, and tell little of it, are no sample.
    """
    sketch, (centers, shares, widths) = task.sketch, centroids
    spreads = np.sqrt(widths)
    no_axes = np.zeros((len(centers), 0, centers.shape[1]))
    z, silence = sketch.values(), sketch.operator.signature.harmonics[0].real
    left = z - predict(sketch.operator, Density(centers, shares, spreads, no_axes))
    unseen = missing_variance(sketch, cloud.points, cloud.weights, cloud.prior, chance)
    excess = regret + float(_over(inertia + unseen, inertia)) - 1
    doubts = (*out_of_reach(sketch, centers), *([CUT_SHORT] if was_cut() else []))
    return Clustering.of(
        sketch,
        centers,
        shares,
        spreads,
        left=float(left @ left),
        energy=float(((z - silence) ** 2).sum()),
        objective=objective,
        n_iter=0,
        converged=bool(UPPER_LIMIT * excess <= TOLERANCE),
        excess=excess,
        excess_high=UPPER_LIMIT * excess,
        # Rows far away may belong to any centroid: of their variance, all or nothing is SSE.
        inertia=(inertia + unseen / 2) * sketch.count,
        inertia_error=float(np.hypot(error, unseen / 2)) * sketch.count,
        remarks=(*doubts, *remarks_on(sketch, centers, shares, sample)),
    )


def _improved(cloud: Cloud, n_clusters: int, candidates: Sequence[Floats], rng: np.random.Generator) -> Centroids:
    """Return the best centroids of a cloud that k-means reaches from the best of the candidates."""
    costs = np.array([cloud.inertia(points) for points in candidates])
    best = np.argsort(costs, kind="stable")[:EXCHANGED]
    return cloud.cluster(n_clusters, [candidates[which] for which in best], 0, rng)


def _inflation(task: Task) -> float:
    """Return M/(M − unknowns) for K clusters of one width; one measurement is left to chance at least.

    Of the M measurements, those count that tell: the share of their energy that is above the noise, by the size of
    their frequencies, as high ones may be nothing but noise.
    """
    sketch = task.sketch
    operator, z = sketch.operator, sketch.values() - sketch.operator.signature.harmonics[0].real
    order = np.argsort(((operator.frequencies * operator.units[:, np.newaxis]) ** 2).sum(axis=0), kind="stable")
    energies = (z.reshape(-1, operator.n_frequencies)[:, order] ** 2).mean(axis=0)
    noise = sketch.sampling_noise() / z.size * sketch.count / count_rows(sketch)
    telling = 0.0
    for part in np.array_split(energies, min(_SIZES, energies.size)):
        telling += part.size * max(0.0, 1 - noise / max(float(part.mean()), 1e-300))
    telling *= z.size / operator.n_frequencies
    unknowns = task.n_clusters * (operator.n_features + 1) + 1
    return float(telling / max(telling - unknowns, 1))


def _apart(cloud: Cloud, centers: Floats, rng: np.random.Generator) -> float:
    """Return by how much the centroids of each half of the rows are worse for the other half than its own.

    Rows that are no more than a share of those they stand for are in one half; as many as are certain are in both.
    """
    sides = np.where(rng.permutation(len(cloud.points)) % 2 == 0, 1, -1) * (rng.random(len(cloud.points)) < cloud.open)
    halves = [cloud.weighing(1 + sides), cloud.weighing(1 - sides)]
    if not sides.any() or min(len(half.points) for half in halves) < len(centers):
        return 0.0
    own = [half.cluster(len(centers), [centers], 1, rng).points for half in halves]
    return sum(half.inertia(own[1 - i]) - half.inertia(own[i]) for i, half in enumerate(halves)) / 2


def _shares(cloud: Cloud, centers: Floats) -> Floats:
    return np.bincount(cloud.nearest(centers)[0], cloud.weights, minlength=len(centers)).astype(np.float64)


def _over(numerator: Floats | float, denominator: Floats | float) -> Floats:
    """Divide; nothing over nothing is 1, and anything else over nothing is as much more as matters."""
    above, below = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    above, below = np.broadcast_arrays(above, below)
    ratio: Floats = np.where(above > 0, 1 + MOST_REGRET, 1.0)
    np.divide(above, below, out=ratio, where=below > 0)
    return ratio
