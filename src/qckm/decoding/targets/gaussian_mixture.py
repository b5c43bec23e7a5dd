"""From a sketch to a mixture of Gaussians, and how much less likely it makes the rows than the best one would.

With rows that can be weighted so that they have the sketch, the mixture is the one they are likeliest in (EM). From the
sketch alone it is fitted by least squares, from several starts, and judged by points drawn of it, weighted likewise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from qckm.common.arrays import Floats
from qckm.common.random import as_generator
from qckm.decoding.clouds.cloud import Cloud
from qckm.decoding.fit.em import Mixture, likelihoods, race, refined
from qckm.decoding.fit.gaussians import Fit, Problem, by_chance, draw, explains
from qckm.decoding.fit.starts import as_gaussians, starts
from qckm.decoding.model.gaussian_model import Measured, Shape
from qckm.decoding.task import require_positive, require_rows, require_sketch
from qckm.decoding.verdict.remarks import POOR_MIXTURE
from qckm.errors import DecodeError, PoorFitWarning, warn
from qckm.kernels.threads import one_thread
from qckm.planning.pilot import Pilot
from qckm.sketch import Sketch

CovarianceType = Literal["spherical", "diag", "full"]
COVARIANCE_TYPES = ("spherical", "diag", "full")
# Fewer measurements an unknown than this are refused: mixtures that are far from the truth explain them.
_LEAST_AN_UNKNOWN = 2
# Measurements an unknown that are taken unless other numbers are asked for; and frequencies at least.
_USUAL_AN_UNKNOWN, _LEAST_FREQUENCIES = 6, 100
# Where EM of the rows loses less than this to EM of all rows, in nats per row, the sketch has nothing to add.
_NOTHING_TO_ADD = 0.01
# Points drawn of a mixture to judge it by.
_POINTS = 10_000
# Of a sketch of less energy than this times its sampling noise, wrong clusters explain the rest within chance.
_AUDIBLE = 10.0
# Sketches drawn anew of a private one's mixture, as for centroids (redrawn.py).
_REDRAWN = 4
# Nats per row beyond which a mixture is doubtful: rows are a fifth less likely in it than they could be.
_DOUBTFUL = 0.2


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
    excess : float
        How many nats per row less likely the rows are expected to be than in what EM of all rows would find.
    excess_high : float
        An upper limit of it, which is hardly exceeded; infinite where nothing is known.
    n_iter : int
        Evaluations of the objective.
    """

    weights: Floats
    means: Floats
    covariances: Floats
    objective: float
    explained: float
    excess: float
    excess_high: float
    n_iter: int

    @property
    def converged(self) -> bool:
        """Whether the upper limit of the excess is at most 0.2 nats per row."""
        return self.excess_high <= _DOUBTFUL


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
    hints: Pilot | None = None,
    n_init: int = 1,
    random_state: Any = None,
) -> FittedMixture:
    """Find the mixture of K Gaussians whose sketch is the sketch, alone or with what a pilot tells."""
    require_sketch(sketch)
    _require_measurements(sketch, n_components, covariance_type)
    measured = Measured.of(sketch)
    problem = Problem(measured, _shape(measured, covariance_type), n_components)
    rng = as_generator(random_state)
    with one_thread():
        cloud = Cloud.of_rows(sketch, hints)
        if cloud is not None:
            found = _of_rows(problem, covariance_type, cloud, n_init, rng)
        else:
            found = _of_sketch(problem, covariance_type, hints, n_init, rng)
    if not found.converged:
        warn(POOR_MIXTURE, PoorFitWarning)
    return found


def _of_rows(problem: Problem, kind: str, cloud: Cloud, n_init: int, rng: np.random.Generator) -> FittedMixture:
    """Return the mixture that rows of these weights are likeliest in.

    Of P rows of all N, a mixture of p unknowns fits itself to chance by p/2P nats per row, and loses as much on others.
    It is measured: mixtures of two halves lose four times that on each other's rows. Where it is much, and the mixture
    reproduces the sketch as P rows at random would, least squares on the sketch of all rows may lose less.
    """
    points, weights = cloud.points, cloud.weights
    best = race(points, weights, problem.n_clusters, kind, n_init, rng)
    lost = _lost_by_halves(points, weights, best, kind, rng) * max(0.0, 1 - len(points) / problem.measured.count)
    start = as_gaussians(problem, best)
    misfit = float((problem.residual(start)[0] ** 2).sum())
    if lost > 4 * _NOTHING_TO_ADD and misfit <= cloud.solution.expected:
        fit = problem.fit(start)
        other = _mixture(problem, fit)
        ahead = float(weights @ likelihoods(points, other)) - best.likelihood + lost / 2
        if ahead > 0 and explains(problem, fit, rng):
            return _found(problem, kind, other, fit, max(lost / 4 - ahead, 0.0), lost)
    return _found(problem, kind, best, Fit(start, misfit, 1), lost / 4, lost)


def _lost_by_halves(points: Floats, weights: Floats, whole: Mixture, kind: str, rng: np.random.Generator) -> float:
    """Return what mixtures of two halves lose on each other's points to those of their own, in nats per row."""
    halves = np.array_split(rng.permutation(len(points)), 2)
    if len(halves[1]) < len(whole.weights):
        return float("inf")
    own = [refined(points[half], weights[half], whole, kind) for half in halves]
    shares = [weights[half] / weights[half].sum() for half in halves]
    lost = [own[at].likelihood - float(shares[at] @ likelihoods(points[halves[at]], own[1 - at])) for at in range(2)]
    return max(float(np.mean(lost)), 0.0)


def _of_sketch(
    problem: Problem, kind: str, hints: Pilot | None, n_init: int, rng: np.random.Generator
) -> FittedMixture:
    """Fit a mixture to the sketch.

    It is judged by points drawn of it, weighted so that they have the sketch: by how much likelier EM can make them,
    and by what is lost to chance.
    """
    best, explained = _best_fit(problem, kind, hints, n_init, rng)
    measured, found = problem.measured, _mixture(problem, best)
    audible = measured.energy > _AUDIBLE * measured.sketch.sampling_noise() * measured.sketch.count / measured.count
    points = measured.to_centers(draw(problem, best.gaussians, _POINTS, rng))
    cloud = Cloud.calibrated(measured.sketch, np.clip(points, *measured.sketch.coded_bounds))
    better = refined(cloud.points, cloud.weights, found, kind)
    lost = better.likelihood - float(cloud.weights @ likelihoods(cloud.points, found))
    lost = max(lost - problem.unknowns / (2 * _POINTS), 0.0) + _lost_by_chance(problem, best, points, rng) / 2
    if measured.sketch.private:
        lost += _lost_by_noise(problem, kind, best, points, rng)
    known = audible and (explained or cloud.solution.matches)
    return _found(problem, kind, found, best, lost, 2 * lost if known else float("inf"))


def _best_fit(
    problem: Problem, kind: str, hints: Pilot | None, n_init: int, rng: np.random.Generator
) -> tuple[Fit, bool]:
    """Fit from start after start, until the sketch is explained; return the fit of least misfit, and whether it was."""
    fits: list[Fit] = []
    for start in starts(problem, kind, hints, n_init, rng):
        fits.append(problem.fit(start))
        if explained := explains(problem, fits[-1], rng):
            break
    best = min(fits, key=lambda fit: fit.misfit)
    return best._replace(n_evaluations=sum(fit.n_evaluations for fit in fits)), explained


def _lost_by_chance(problem: Problem, fit: Fit, points: Floats, rng: np.random.Generator) -> float:
    """Return what is lost by chance, in nats per row: rows are a sample, and so is their sketch.

    The sketch of the mixture itself, with noise as that of so many rows, is fitted anew. EM of all rows gains by chance
    as well, on these rows. It is an upper limit, as the noise is these rows' own: about half of it is lost
    (experiments/mixtures.py).
    """
    again = _mixture(problem, by_chance(problem, fit.gaussians, points, rng).fit(fit.gaussians))
    by_noise = float((likelihoods(points, _mixture(problem, fit)) - likelihoods(points, again)).mean())
    return max(by_noise, 0.0) + problem.unknowns / (2 * problem.measured.count)


def _lost_by_noise(problem: Problem, kind: str, fit: Fit, points: Floats, rng: np.random.Generator) -> float:
    """Return what is lost where the noise of a private sketch is drawn anew, and the fit begins elsewhere.

    A cluster that noise has brought about, or hides, is not where it was: some starts find it again, others do not.
    """
    own, lost = likelihoods(points, _mixture(problem, fit)), []
    for _ in range(_REDRAWN):
        again = by_chance(problem, fit.gaussians, points, rng)
        found, _ = _best_fit(again, kind, None, 1, rng)
        lost.append(float((own - likelihoods(points, _mixture(again, found))).mean()))
    return max(float(np.mean(lost)), 0.0)


def _mixture(problem: Problem, fit: Fit) -> Mixture:
    """Return Gaussians that were fitted, in data units."""
    measured, gaussians = problem.measured, fit.gaussians
    covariances = problem.shape.covariances(gaussians.entries) * np.multiply.outer(measured.length, measured.length)
    return Mixture(gaussians.weights, measured.to_centers(gaussians.means), covariances, -np.inf)


def _found(problem: Problem, kind: str, mixture: Mixture, fit: Fit, excess: float, high: float) -> FittedMixture:
    order = np.argsort(-mixture.weights, kind="stable")
    covariances = mixture.covariances[order]
    if kind != "full":
        covariances = np.diagonal(covariances, axis1=1, axis2=2)
        covariances = covariances.mean(axis=1) if kind == "spherical" else covariances.copy()
    energy = problem.measured.energy
    return FittedMixture(
        weights=mixture.weights[order],
        means=mixture.means[order],
        covariances=covariances,
        objective=fit.misfit,
        explained=1 - fit.misfit / energy if energy > 0 else 0.0,
        excess=excess,
        excess_high=high,
        n_iter=fit.n_evaluations,
    )


def _require_measurements(sketch: Sketch, n_components: int, covariance_type: str) -> None:
    if covariance_type not in COVARIANCE_TYPES:
        raise DecodeError(f"Expected a covariance_type among {', '.join(COVARIANCE_TYPES)}, got {covariance_type!r}.")
    require_positive("n_components", n_components)
    require_rows(sketch, "n_components", n_components, "has no mixture")
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
