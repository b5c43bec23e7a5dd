"""Expectation maximisation of points with weights, as a cloud has them: the best of many starts, raced.

What scikit-learn's Mixture does, which knows no weights. Where EM ends depends on where it began. A quarter of
the starts are clusters of k-means. The others are the points nearest to each of K points at random: of clusters that
are long, or one in another, these are often better. All run for some steps on some points, the best to the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qckm.clustering.centroids import kmeans, nearest
from qckm.common.arrays import Floats

# Starts of EM; the steps that all of them take, on so many points; and how many of them go on.
_STARTS, _HEATS, _POINTS, _FINALISTS = 32, 25, 5000, 6
# Steps at most, and what a step must bring, in nats per row; scikit-learn's own are 100 and 1e-3.
_MOST_STEPS, _TOLERANCE = 200, 1e-4
# Added to every variance, as a share of that of all points: no component becomes a point.
_FLOOR = 1e-6


class Mixture(NamedTuple):
    """Gaussians in data units: weights (K,), means (K, n), covariances (K, n, n); likelihood in nats per row."""

    weights: Floats
    means: Floats
    covariances: Floats
    likelihood: float


def race(points: Floats, weights: Floats, n_clusters: int, kind: str, n_init: int, rng: np.random.Generator) -> Mixture:
    """Return the likeliest mixture of K Gaussians, spherical, diag or full, of points (P, n) with these weights."""
    cloud = _Scaled.of(points, weights)
    some = rng.permutation(len(points))[: max(_POINTS, 50 * n_clusters)]
    fewer = cloud._replace(points=cloud.points[some], weights=cloud.weights[some] / cloud.weights[some].sum())
    begun = [fewer.begin(n_clusters, kind, at % 4 == 0, rng) for at in range(_STARTS * n_init if n_clusters > 1 else 1)]
    heats = sorted((fewer.climb(one, kind, _HEATS) for one in begun), key=lambda one: -one.likelihood)
    finals = (cloud.climb(one, kind, _MOST_STEPS) for one in heats[: _FINALISTS * n_init])
    return cloud.in_data_units(max(finals, key=lambda one: one.likelihood))


def refined(points: Floats, weights: Floats, start: Mixture, kind: str) -> Mixture:
    """Return where EM of these points ends from a mixture on."""
    cloud = _Scaled.of(points, weights)
    return cloud.in_data_units(cloud.climb(cloud.scaled(start), kind, _MOST_STEPS))


def likelihoods(points: Floats, mixture: Mixture) -> Floats:
    """Return the logarithm of the density at each of some points, (P,)."""
    cloud = _Scaled.of(points, np.full(len(points), 1 / len(points)))
    nats: Floats = _log_sum(_joint(cloud.points, cloud.scaled(mixture))) - points.shape[1] * np.log(cloud.size)
    return nats


class _Scaled(NamedTuple):
    """Points of mean 0 and mean variance 1, so that arithmetic and the floor suit all units."""

    points: Floats
    weights: Floats
    mean: Floats
    size: float

    @classmethod
    def of(cls, points: Floats, weights: Floats) -> _Scaled:
        shares = weights / weights.sum()
        mean = shares @ points
        apart = points - mean
        size = float(np.sqrt(shares @ (apart**2).mean(axis=1))) or 1.0
        return cls(apart / size, shares, mean, size)

    def scaled(self, one: Mixture) -> Mixture:
        return Mixture(one.weights, (one.means - self.mean) / self.size, one.covariances / self.size**2, -np.inf)

    def in_data_units(self, one: Mixture) -> Mixture:
        nats = one.likelihood - self.points.shape[1] * np.log(self.size)
        return Mixture(one.weights, one.means * self.size + self.mean, one.covariances * self.size**2, nats)

    def begin(self, n_clusters: int, kind: str, by_kmeans: bool, rng: np.random.Generator) -> Mixture:
        if by_kmeans:
            labels = kmeans(self.points, self.weights, n_clusters, 1, rng).labels
        else:
            drawn = rng.choice(len(self.points), n_clusters, p=self.weights)
            labels = nearest(self.points, self.points[drawn], n_jobs=1)[0]
        return self._maximised((labels[:, np.newaxis] == np.arange(n_clusters)).astype(np.float64), kind, -np.inf)

    def climb(self, one: Mixture, kind: str, steps: int) -> Mixture:
        """Take so many steps of EM at most."""
        before = -np.inf
        for _ in range(steps):
            joint = _joint(self.points, one)
            logarithms = _log_sum(joint)
            likelihood = float(self.weights @ logarithms)
            one = one._replace(likelihood=likelihood)
            if likelihood - before < _TOLERANCE:
                break
            before = likelihood
            one = self._maximised(np.exp(joint - logarithms[:, np.newaxis]), kind, likelihood)
        return one

    def _maximised(self, memberships: Floats, kind: str, likelihood: float) -> Mixture:
        """Return the Gaussians whose points have these memberships (P, K)."""
        n = self.points.shape[1]
        shares = memberships * self.weights[:, np.newaxis]
        totals = shares.sum(axis=0) + 1e-15
        means = shares.T @ self.points / totals[:, np.newaxis]
        if kind == "full":
            covariances = np.empty((len(totals), n, n))
            for k, total in enumerate(totals):
                apart = self.points - means[k]
                covariances[k] = (shares[:, k] / total * apart.T) @ apart
        else:
            variances = np.maximum(shares.T @ self.points**2 / totals[:, np.newaxis] - means**2, 0.0)
            if kind == "spherical":
                variances = np.repeat(variances.mean(axis=1, keepdims=True), n, axis=1)
            covariances = variances[:, np.newaxis] * np.eye(n)
        return Mixture(totals / totals.sum(), means, covariances + _FLOOR * np.eye(n), likelihood)


def _joint(points: Floats, one: Mixture) -> Floats:
    """Return log(weight · density) of each point in each Gaussian, (P, K)."""
    n, diagonal = points.shape[1], np.diagonal(one.covariances, axis1=1, axis2=2)
    out = np.empty((len(points), len(one.weights)))
    with np.errstate(divide="ignore"):
        logarithms = np.log(one.weights) - n / 2 * np.log(2 * np.pi)
    if (one.covariances == diagonal[:, np.newaxis] * np.eye(n)).all():
        for k, variances in enumerate(diagonal):
            out[:, k] = logarithms[k] - (np.log(variances).sum() + (points - one.means[k]) ** 2 @ (1 / variances)) / 2
        return out
    for k, factor in enumerate(np.linalg.cholesky(one.covariances)):
        inverse = np.linalg.inv(factor)  # n is small beside P: a product with it is the quickest
        away = (points - one.means[k]) @ inverse.T
        out[:, k] = logarithms[k] - np.log(np.diag(factor)).sum() - np.einsum("pn,pn->p", away, away) / 2
    return out


def _log_sum(joint: Floats) -> Floats:
    greatest = joint.max(axis=1)
    total: Floats = greatest + np.log(np.exp(joint - greatest[:, np.newaxis]).sum(axis=1))
    return total
