"""From a sketch to principal components: a Gaussian of mean, a few axes and a variance for each column.

Such a Gaussian has about (r + 2)·n unknowns, and is fitted as clusters are (gaussians.py). It begins where a round
Gaussian leaves most to explain: of a measurement whose blur b = ωᵀΣω/2 is off by δ, the axes are along ω. Data that
are clusters are not one Gaussian. Then the covariance is that of rows, weighted so that they reproduce the sketch, or
of a mixture that was fitted to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.random import spawn
from qckm.decoding.clouds.cloud import Cloud
from qckm.decoding.fit.gaussians import Fit, Gaussians, Problem, by_chance, draw, explains
from qckm.decoding.fit.starts import one_for_all, split_up
from qckm.decoding.model.gaussian_model import Measured, Shape
from qckm.decoding.task import require_rows, require_sketch
from qckm.decoding.verdict.remarks import POOR_AXES
from qckm.errors import DecodeError, PoorFitWarning, warn
from qckm.kernels.threads import one_thread
from qckm.planning.pilot import Pilot
from qckm.sketch import Sketch

# Frequencies for each number of the axes, r·n: what is usual, what is too few for a verdict, and how many at least.
_USUAL, _FEW, _LEAST_FREQUENCIES = 4, 2, 100
# The start's axes are tried at these multiples of the variance that is estimated.
_MULTIPLES = (0.3, 1.0, 3.0)
# How often the weakest axis is replaced by what is left to explain.
_REPLACEMENTS = 5
# A misfit that is not below this share of the other is no better.
_HARDLY_LESS = 0.999
# Numbers of clusters tried, where one Gaussian does not explain the sketch, while there are measurements for them.
_NUMBERS_OF_CLUSTERS = (2, 3, 5, 8, 12)
_MEASUREMENTS_AN_UNKNOWN = 3
# Points drawn to judge axes by, and the sine of an angle from which on they are doubtful.
_POINTS, _DOUBTFUL = 10_000, 0.2

# How far the greatest directions of two covariances are turned against each other.
Turned = Callable[[Floats, Floats], float]


@dataclass(frozen=True, eq=False)
class FittedAxes:
    """A mean and a covariance found in a sketch.

    Parameters
    ----------
    mean : ndarray of shape (n,)
        In data units.
    covariance : ndarray of shape (n, n)
    objective : float
        What is left of the sketch, squared.
    sine, sine_high : float
        The sine of the largest angle to the components of all rows: as expected, and an upper limit; 1 where nothing is
        known.
    source : {"gaussian", "rows", "clusters"}
        What the covariance is of.
    n_iter : int
        Evaluations of the objective.
    """

    mean: Floats
    covariance: Floats
    objective: float
    sine: float
    sine_high: float
    source: str
    n_iter: int

    @property
    def converged(self) -> bool:
        """Whether the limit of the sine is 0.2 or less."""
        return self.sine_high <= _DOUBTFUL


def choose_axes_frequencies(n_features: int, n_components: int) -> int:
    """Choose m for r components of n columns."""
    return max(_LEAST_FREQUENCIES, _USUAL * n_components * n_features)


def fit_axes(
    sketch: Sketch,
    n_components: int,
    hints: Pilot | None = None,
    random_state: Any = None,
    standardize: bool = False,
) -> FittedAxes:
    """Find mean and covariance, true in its r greatest directions, from a sketch, alone or with what a pilot tells.

    The sine is that of components of columns as they are, or standardised.
    """
    require_sketch(sketch)
    _require_measurements(sketch, n_components)
    for_starts, for_verdict = spawn(random_state, 2)
    measured = Measured.of(sketch)
    with one_thread():
        found = _fit(measured, n_components, hints, standardize, for_starts, for_verdict)
    if sketch.operator.n_frequencies < _FEW * n_components * sketch.operator.n_features:
        found = replace(found, sine_high=1.0)
    if not found.converged:
        warn(POOR_AXES, PoorFitWarning)
    return found


def _fit(
    measured: Measured,
    rank: int,
    hints: Pilot | None,
    standardize: bool,
    rng: np.random.Generator,
    for_verdict: np.random.Generator,
) -> FittedAxes:
    turned = partial(sine, rank=rank, standardize=standardize)
    fit, problem, explained = fit_low_rank(measured, rank, for_verdict)
    if explained:
        return _found(problem, fit, turned, True, "gaussian", rng)
    cloud = Cloud.of_rows(measured.sketch, hints)
    if cloud is not None:
        return _of_rows(cloud, turned, measured.count, rng)
    for clusters in _NUMBERS_OF_CLUSTERS:
        mixture = Problem(measured, Shape.diag(measured.frequencies), clusters)
        if measured.z.size < _MEASUREMENTS_AN_UNKNOWN * mixture.unknowns or clusters > measured.count:
            break
        other = mixture.fit(split_up(mixture, rng))
        if other.misfit < fit.misfit:
            problem, fit = mixture, other
            explained = explains(problem, fit, for_verdict)
        if explained:
            break
    return _found(problem, fit, turned, explained, "gaussian" if problem.n_clusters == 1 else "clusters", rng)


def fit_low_rank(measured: Measured, rank: int, rng: np.random.Generator) -> tuple[Fit, Problem, bool]:
    """Fit one Gaussian of mean, `rank` axes and a variance for each column; tell whether it explains the sketch."""
    round_one = Problem(measured, Shape.diag(measured.frequencies), 1)
    begun = one_for_all(round_one)
    problem = Problem(measured, Shape.low_rank(measured.frequencies, rank), 1)
    variances = np.diag(round_one.shape.covariances(begun.gaussians.entries)[0])

    def started(axes: Floats, variances: Floats) -> Gaussians:
        rest = np.maximum(variances - (axes**2).sum(axis=1), 0.1 * variances)
        return Gaussians(np.ones(1), begun.gaussians.means, problem.shape.low_rank_entries(axes, rest))

    axes = _unexplained_axes(round_one, begun.gaussians, rank)
    tries = [started(np.sqrt(multiple) * axes, variances) for multiple in _MULTIPLES]
    tries.sort(key=lambda one: float((problem.residual(one)[0] ** 2).sum()))
    fits = []
    for one in tries:
        fit, explained = _with_better_axes(problem, problem.fit(one), rank, rng)
        fits.append(fit)
        if explained:
            break
    return min(fits, key=lambda fit: fit.misfit), problem, explained


def _with_better_axes(problem: Problem, fit: Fit, rank: int, rng: np.random.Generator) -> tuple[Fit, bool]:
    """Replace the weakest axis by what is left to explain, while that helps; tell whether the sketch is explained."""
    n = problem.measured.n_features
    explained = explains(problem, fit, rng)
    for _ in range(_REPLACEMENTS):
        if explained:
            break
        entries = fit.gaussians.entries[0]
        left, values, _ = np.linalg.svd(entries[: n * rank].reshape(n, rank), full_matrices=False)
        fresh = _unexplained_axes(problem, fit.gaussians, 1)
        changed = np.concatenate([(left * values)[:, :-1], fresh], axis=1)
        moved = np.concatenate([changed.ravel(), entries[n * rank :]])[np.newaxis]
        other = problem.fit(fit.gaussians._replace(entries=moved))
        if other.misfit > _HARDLY_LESS * fit.misfit:
            break
        fit, explained = other, explains(problem, other, rng)
    return fit, explained


def _unexplained_axes(problem: Problem, gaussians: Gaussians, rank: int) -> Floats:
    """Return the axes (n, rank), as long as their deviations, along which the sketch has more variance.

    For directions u all over the sphere, the mean of uuᵀ·(uᵀSu) is (2S + tr S·I)/(n(n + 2)), of which S is told.
    """
    measured, n = problem.measured, problem.measured.n_features
    left, atoms, _ = problem.residual(gaussians)
    slopes = atoms.by_blur[0]
    weights = (slopes**2).sum(axis=0)
    norms = (measured.frequencies**2).sum(axis=0)
    # Each frequency tells its blur's error, δ = −left/slope, in the least squares of its measurements.
    errors = -(left * slopes).sum(axis=0) / np.maximum(weights, 1e-12 * weights.max()) * 2 / norms
    shares = weights * norms**2
    shares /= shares.sum()
    directions = measured.frequencies / np.sqrt(norms)
    middle = shares @ errors
    moment = (directions * (shares * (errors - middle))) @ directions.T
    values, vectors = np.linalg.eigh(moment * n * (n + 2) / 2 + middle * np.eye(n))
    least = 0.01 * np.diag(problem.shape.covariances(gaussians.entries)[0]).mean()
    lengths = np.sqrt(np.maximum(values[::-1][:rank], least))
    found: Floats = vectors[:, ::-1][:, :rank] * lengths
    return found


def _moments(problem: Problem, gaussians: Gaussians) -> tuple[Floats, Floats]:
    """Return the mean and covariance of clusters, in data units."""
    measured, (weights, means, entries) = problem.measured, gaussians
    mean = weights @ means
    apart = means - mean
    covariance = np.tensordot(weights, problem.shape.covariances(entries), 1) + (weights * apart.T) @ apart
    return measured.to_centers(mean), covariance * np.multiply.outer(measured.length, measured.length)


def _found(
    problem: Problem, fit: Fit, turned: Turned, explained: bool, source: str, rng: np.random.Generator
) -> FittedAxes:
    """Judge axes by how far chance turns them, and weights that give points drawn of them the sketch."""
    mean, covariance = _moments(problem, fit.gaussians)
    points = problem.measured.to_centers(draw(problem, fit.gaussians, _POINTS, rng))
    again = by_chance(problem, fit.gaussians, points, rng).fit(fit.gaussians)
    cloud = Cloud.calibrated(problem.measured.sketch, np.clip(points, *problem.measured.sketch.coded_bounds))
    turns = (
        turned(covariance, _moments(problem, again.gaussians)[1]),
        turned(np.cov(cloud.points.T, ddof=0), np.cov(cloud.points.T, ddof=0, aweights=cloud.weights)),
    )
    expected = min(float(np.hypot(*turns)), 1.0)
    known = explained or cloud.solution.matches
    high = min(2 * expected, 1.0) if known else 1.0
    return FittedAxes(mean, covariance, fit.misfit, expected, high, source, fit.n_evaluations)


def _of_rows(cloud: Cloud, turned: Turned, count: float, rng: np.random.Generator) -> FittedAxes:
    """Return the moments of rows. Those of halves are turned against each other by twice as much as of all of them."""
    halves = [
        np.cov(cloud.points[half].T, ddof=0, aweights=cloud.weights[half])
        for half in np.array_split(rng.permutation(len(cloud.points)), 2)
    ]
    expected = turned(halves[0], halves[1]) / 2 * np.sqrt(max(0.0, 1 - len(cloud.points) / count))
    covariance = np.atleast_2d(np.cov(cloud.points.T, ddof=0, aweights=cloud.weights))
    mean = cloud.weights @ cloud.points
    return FittedAxes(mean, covariance, cloud.solution.residual, expected, min(2 * expected, 1.0), "rows", 0)


def sine(one: Floats, other: Floats, rank: int, standardize: bool = False) -> float:
    """Return the sine of the largest angle between the spaces of the r greatest directions of two covariances."""
    spaces = []
    for covariance in map(np.atleast_2d, (one, other)):
        variances = np.where(np.diag(covariance) > 0, np.diag(covariance), 1.0)
        units = np.sqrt(variances) if standardize else np.ones(len(covariance))
        spaces.append(np.linalg.eigh(covariance / np.multiply.outer(units, units))[1][:, -rank:])
    across = spaces[1] - spaces[0] @ (spaces[0].T @ spaces[1])
    return min(float(np.linalg.norm(across, 2)), 1.0)


def _require_measurements(sketch: Sketch, n_components: int) -> None:
    operator, n = sketch.operator, sketch.operator.n_features
    if isinstance(n_components, bool) or not isinstance(n_components, (int, np.integer)) or not 1 <= n_components <= n:
        raise DecodeError(f"Expected n_components from 1 to the {n} column(s), got {n_components!r}.")
    require_rows(sketch, "n_samples", 0, "has no principal components")
    if not sketch.count > 1:
        raise DecodeError("A sketch of one row (n_samples = 1) has no variance: sketch more rows.")
    unknowns = n * (n_components + 2) - n_components * (n_components - 1) // 2
    if operator.n_measurements < unknowns:
        measurements_each = operator.n_measurements // operator.n_frequencies
        raise DecodeError(
            f"{n_components} principal component(s) of {n} columns have {unknowns} unknowns, and need more "
            f"measurements than the {operator.n_measurements} of this sketch. Sketch with n_frequencies >= "
            f"{max(_FEW * n_components * n, -(-unknowns // measurements_each))} "
            f"({choose_axes_frequencies(n, n_components)} is usual).",
            about="frequencies",
        )
