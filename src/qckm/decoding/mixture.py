"""From a sketch to a mixture of Gaussians: several starts, each fitted by least squares, the least misfit kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.blas import one_thread
from qckm.common.random import spawn
from qckm.decoding.cloud import Cloud
from qckm.decoding.decode import require_sketch
from qckm.decoding.gaussian_atoms import Measured
from qckm.decoding.gaussian_fit import Fit, Problem
from qckm.decoding.gaussian_shapes import Shape
from qckm.decoding.gaussian_starts import cluster_points, starts
from qckm.decoding.gaussian_verdict import judge
from qckm.errors import DecodeError, PoorFitWarning, warn
from qckm.planning.hints import Hints
from qckm.sketch import Sketch

CovarianceType = Literal["spherical", "diag", "full"]
COVARIANCE_TYPES = ("spherical", "diag", "full")
# Fewer measurements an unknown than this are refused: mixtures that are far from the truth explain them.
_LEAST_AN_UNKNOWN = 2
# Measurements an unknown that are taken unless other numbers are asked for; and frequencies at least.
_USUAL_AN_UNKNOWN, _LEAST_FREQUENCIES = 6, 100
# Where EM begins to look for clusters of the rows that explain the sketch, one after the other.
_TRIES_WITH_ROWS: tuple[Literal["kmeans", "k-means++"], ...] = ("kmeans", "k-means++", "k-means++")
# Of a sketch of less energy than this times its sampling noise, wrong clusters explain the rest within chance.
_AUDIBLE = 10.0
POOR_MIXTURE = (
    "The mixture does not reproduce the sketch: it may be wrong. Clusters may not be Gaussian, or there are more. More "
    "components, another covariance_type, more frequencies, another scale or a larger n_init may help."
)


@dataclass(frozen=True, eq=False)
class FittedMixture:
    """K Gaussians found in a sketch.

    Parameters
    ----------
    weights : ndarray of shape (K,)
        Shares of the rows, of sum 1, the heaviest first.
    means : ndarray of shape (K, n)
        In data units.
    covariances : ndarray of shape (K,), (K, n) or (K, n, n)
        In data units squared: of spherical, diag and full covariances.
    objective : float
        What is left of the sketch, squared.
    explained : float
        Share of the sketch's energy that the mixture explains.
    converged : bool
        Whether the mixture reproduces the sketch to its sampling noise.
    n_iter : int
        Evaluations of the objective.
    """

    weights: Floats
    means: Floats
    covariances: Floats
    objective: float
    explained: float
    converged: bool
    n_iter: int


def count_unknowns(n_features: int, n_components: int, covariance_type: str) -> int:
    """Return the numbers that a mixture has, less one: its weights sum to 1."""
    entries = {"spherical": 1, "diag": n_features, "full": n_features * (n_features + 1) // 2}[covariance_type]
    return n_components * (1 + n_features + entries) - 1


def choose_mixture_frequencies(n_features: int, n_components: int, covariance_type: str) -> int:
    """Choose m, of paired measurements: six measurements an unknown, and never so few that their randomness shows."""
    unknowns = count_unknowns(n_features, n_components, covariance_type)
    return max(_LEAST_FREQUENCIES, -(-_USUAL_AN_UNKNOWN * unknowns // 2))


def fit_mixture(
    sketch: Sketch,
    n_components: int,
    covariance_type: CovarianceType = "full",
    hints: Hints | None = None,
    n_init: int = 1,
    random_state: Any = None,
) -> FittedMixture:
    """Find the mixture of K Gaussians whose sketch is the sketch, alone or with what a pilot tells."""
    require_sketch(sketch)
    _require_measurements(sketch, n_components, covariance_type)
    import sklearn.mixture  # noqa: F401  # here: it brings threads of its own, which are to be one, too

    for_starts, for_verdict = spawn(random_state, 2)
    measured = Measured.of(sketch)
    problem = Problem(measured, _shape(measured, covariance_type), n_components)
    with one_thread():
        task = _Task(problem, covariance_type, hints, n_init, for_starts, for_verdict)
        best, explained = _fit_with_rows(task) or _fit_sketch_alone(task)
    audible = measured.energy() > _AUDIBLE * sketch.sampling_noise() * sketch.count / measured.count
    found = _in_data_units(problem, best, covariance_type, explained and audible)
    if not found.converged:
        warn(POOR_MIXTURE, PoorFitWarning)
    return found


class _Task(NamedTuple):
    """A problem, what helps with it, and dice."""

    problem: Problem
    covariance_type: str
    hints: Hints | None
    n_init: int
    for_starts: np.random.Generator
    for_verdict: np.random.Generator


def _fit_with_rows(task: _Task) -> tuple[Fit, bool] | None:
    """Fit from the clusters of rows; None where there are none, or where they cannot reproduce the sketch.

    Where K Gaussians explain the sketch, least squares know more than the rows. Where none do, it settles for clusters
    whose likelihood may be poor: then those of the rows, calibrated, are better (experiments/mixtures.py).
    """
    problem, kind, hints, n_init, rng, for_verdict = task
    if hints is None or hints.rows is None or hints.weights is None:
        return None
    cloud = Cloud.calibrated(problem.measured.sketch, hints.rows, hints.weights)
    if not cloud.solution.matches(problem.measured.count):
        return None
    of_rows, evaluations = [], 0
    for begin in _TRIES_WITH_ROWS:
        start, likelihood = cluster_points(problem, kind, cloud.points, cloud.weights, n_init, rng, begin)
        fit = problem.fit(start)
        evaluations += fit.n_evaluations
        if judge(problem, fit, for_verdict).explained:
            return fit._replace(n_evaluations=evaluations), True
        of_rows.append((likelihood, start))
    start = max(of_rows, key=lambda one: one[0])[1]
    return Fit(start, float((problem.residual(start)[0] ** 2).sum()), evaluations), False


def _fit_sketch_alone(task: _Task) -> tuple[Fit, bool]:
    """Fit from start after start, until the sketch is explained; return the fit of the least misfit."""
    problem, kind, hints, n_init, rng, for_verdict = task
    fits: list[Fit] = []
    for start in starts(problem, kind, hints, n_init, rng):
        fits.append(problem.fit(start))
        if judge(problem, fits[-1], for_verdict).explained:
            break
    best = min(fits, key=lambda fit: fit.misfit)
    evaluations = sum(fit.n_evaluations for fit in fits)
    return best._replace(n_evaluations=evaluations), judge(problem, best, for_verdict).explained


def _require_measurements(sketch: Sketch, n_components: int, covariance_type: str) -> None:
    if covariance_type not in COVARIANCE_TYPES:
        raise DecodeError(f"Expected a covariance_type among {', '.join(COVARIANCE_TYPES)}, got {covariance_type!r}.")
    if isinstance(n_components, bool) or not isinstance(n_components, (int, np.integer)) or n_components < 1:
        raise DecodeError(f"Expected n_components to be a whole number >= 1, got {n_components!r}.")
    if not sketch.count > 0:
        raise DecodeError("A sketch of no rows has no mixture: sketch some rows first.")
    if sketch.exact and n_components > sketch.count:
        raise DecodeError(f"Expected n_components <= the {sketch.count} row(s) sketched, got {n_components}.")
    operator = sketch.operator
    unknowns = count_unknowns(operator.n_features, n_components, covariance_type)
    if operator.n_measurements < _LEAST_AN_UNKNOWN * unknowns:
        measurements_each = operator.n_measurements // operator.n_frequencies
        needed = -(-_LEAST_AN_UNKNOWN * unknowns // measurements_each)
        raise DecodeError(
            f"{n_components} {covariance_type} Gaussian(s) of {operator.n_features} columns have {unknowns} unknowns, "
            f"and need at least {_LEAST_AN_UNKNOWN * unknowns} measurements: got {operator.n_measurements}. Sketch "
            f"with n_frequencies >= {needed} ({-(-_USUAL_AN_UNKNOWN * unknowns // measurements_each)} is usual), "
            "or fit fewer components or simpler covariances.",
            about="frequencies",
        )


def _shape(measured: Measured, covariance_type: str) -> Shape:
    if covariance_type == "spherical":
        # One variance in data units is another in each of the coordinates of a fit, where columns count in units.
        across = np.exp(np.log(measured.length).mean()) / measured.length
        return Shape.spherical(measured.frequencies, across)
    return Shape.full(measured.frequencies) if covariance_type == "full" else Shape.diag(measured.frequencies)


def _in_data_units(problem: Problem, fit: Fit, kind: str, converged: bool) -> FittedMixture:
    measured, gaussians = problem.measured, fit.gaussians
    order = np.argsort(-gaussians.weights, kind="stable")
    covariances = problem.shape.covariances(gaussians.entries[order]) * np.multiply.outer(
        measured.length, measured.length
    )
    if kind != "full":
        covariances = np.diagonal(covariances, axis1=1, axis2=2)
        covariances = covariances.mean(axis=1) if kind == "spherical" else covariances.copy()
    energy = measured.energy()
    return FittedMixture(
        weights=gaussians.weights[order],
        means=measured.to_centers(gaussians.means[order]),
        covariances=covariances,
        objective=fit.misfit,
        explained=1 - fit.misfit / energy if energy > 0 else 0.0,
        converged=converged,
        n_iter=fit.n_evaluations,
    )
