"""CompressiveGaussianMixture: a mixture of Gaussians from a sketch, with the surface of scikit-learn's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import DensityMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from qckm.common.arrays import Floats
from qckm.common.random import as_generator
from qckm.decoding.mixture import COVARIANCE_TYPES, FittedMixture, choose_mixture_frequencies, fit_mixture
from qckm.errors import RowsError
from qckm.estimators.sketched import SketchedEstimator
from qckm.estimators.validation import Count
from qckm.models import Model
from qckm.models.gaussian_density import GaussianDensity
from qckm.planning.hints import Hints
from qckm.sketch import Sketch
from qckm.sources.engine_rows import engine_of, open_held

if TYPE_CHECKING:
    from sklearn.mixture import GaussianMixture


class CompressiveGaussianMixture(DensityMixin, SketchedEstimator):
    """A mixture of Gaussians from a sketch: one pass over the rows, none of them kept.

    Weights, means and covariances are those whose sketch is the sketch. A pilot of at most 5000 rows is drawn before
    the pass, for the scale, and to start from.

    Parameters
    ----------
    n_components : int, default 1
        K.
    covariance_type : {"full", "diag", "spherical"}, default "full"
        Any covariance, a variance for each column, or one variance.
    signature : str, Signature or callable, default "one-bit"
    n_frequencies : int or "auto", default "auto"
        m; "auto" takes six measurements an unknown, at least 100 frequencies. Fewer than two an unknown are refused.
    scale : float or "auto", default "auto"
        The kernel's length in data units; "auto" takes it from the pilot. Clusters are given a standard deviation of
        0.02 scales at least, in any direction: what is finer cannot be seen.
    law : str or Law, default "auto"
    init : {"auto", "sketch"}, default "auto"
        "auto" starts from the clusters of the pilot's rows, weighted so that they reproduce the sketch. Where K
        Gaussians do not explain the sketch, but the rows do, the mixture is theirs. "sketch" uses no row.
    n_init : int, default 1
        A factor on the number of starts.
    random_state : None, int or RandomState

    Attributes
    ----------
    weights_ : ndarray of shape (K,)
        Shares of the rows, the heaviest first.
    means_ : ndarray of shape (K, n)
    covariances_ : ndarray of shape (K, n, n), (K, n) or (K,)
        By covariance_type, as scikit-learn has them.
    converged_ : bool
        Whether the mixture reproduces the sketch to its sampling noise.
    objective_ : float
        What is left of the sketch, squared.
    explained_ : float
        Share of the sketch's energy that the mixture explains.
    n_iter_ : int
        Evaluations of the objective.
    sketch_ : Sketch
    operator_ : SketchOperator
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n,)
        Where the rows had column names.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (6000, 2)), rng.normal(6, 2, (2000, 2))])
    >>> mixture = qckm.CompressiveGaussianMixture(2, random_state=0).fit(X)
    >>> mixture.weights_.round(2).tolist(), mixture.converged_
    ([0.75, 0.25], True)
    >>> bool(abs(np.sqrt(mixture.covariances_[1, 0, 0]) - 2) < 0.1)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012, scikit-learn's own convention
        **SketchedEstimator._parameter_constraints,
        "covariance_type": [StrOptions(set(COVARIANCE_TYPES))],
        "n_init": [Count()],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: Any = "full",
        signature: Any = "one-bit",
        n_frequencies: Any = "auto",
        scale: Any = "auto",
        law: Any = "auto",
        init: str = "auto",
        n_init: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.signature = signature
        self.n_frequencies = n_frequencies
        self.scale = scale
        self.law = law
        self.init = init
        self.n_init = n_init
        self.random_state = random_state

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> npt.NDArray[np.int32]:
        """Fit, and return the most probable component of each row."""
        labels: npt.NDArray[np.int32] = self.fit(X, sample_weight=sample_weight).predict(X)
        return labels

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the most probable component of each row, (rows,): of a Dask collection as a Dask array."""
        check_is_fitted(self)
        if engine_of(X):
            held = open_held(X)
            held.require_columns(self.operator_)
            return held.nearest(self.to_model())  # type: ignore[no-any-return]
        return self._density().predict(self._finite_rows(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each component, given a row, (rows, K)."""
        check_is_fitted(self)
        return self._density().predict_proba(self._finite_rows(X))

    def score_samples(self, X: Any) -> Floats:
        """Return the logarithm of the density at each row, (rows,): rows where it is low are anomalies."""
        check_is_fitted(self)
        return self._density().score_samples(self._finite_rows(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean logarithm of the density, in nats a row."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1) -> tuple[Floats, npt.NDArray[np.int32]]:
        """Draw rows (n_samples, n) from the mixture, and the component that each is of."""
        check_is_fitted(self)
        if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)) or n_samples < 1:
            raise RowsError(f"Expected n_samples to be a whole number >= 1, got {n_samples!r}.")
        return self._density().sample(int(n_samples), as_generator(self.random_state))

    def to_model(self) -> Model:
        """Return the mixture as a `qckm.Model`, to be saved as JSON, Parquet or .npz."""
        check_is_fitted(self)
        return Model.of_mixture(self._fitted(), self.operator_)

    def to_sklearn(self) -> GaussianMixture:
        """Return a fitted scikit-learn `GaussianMixture` with these weights, means and covariances."""
        return self.to_model().to_sklearn()

    @property
    def weights_(self) -> Floats:
        """The components' shares of the rows, (K,)."""
        return self._mixture().weights

    @property
    def means_(self) -> Floats:
        """The components' means, (K, n)."""
        return self._mixture().means

    @property
    def covariances_(self) -> Floats:
        """The components' covariances."""
        return self._mixture().covariances

    @property
    def converged_(self) -> bool:
        """Whether the mixture reproduces the sketch to its sampling noise."""
        return self._mixture().converged

    @property
    def objective_(self) -> float:
        """What is left of the sketch, squared."""
        return self._mixture().objective

    @property
    def explained_(self) -> float:
        """The share of the sketch's energy that the mixture explains."""
        return self._mixture().explained

    @property
    def n_iter_(self) -> int:
        """The evaluations of the objective."""
        return self._mixture().n_iter

    @property
    def _n_clusters(self) -> int:
        return self.n_components

    def _mixture(self) -> FittedMixture:
        found: FittedMixture = self._fitted()
        return found

    def _density(self) -> GaussianDensity:
        found = self._mixture()
        return GaussianDensity(found.weights, found.means, found.covariances)

    def _choose_n_frequencies(self, n_features: int) -> int:
        return choose_mixture_frequencies(n_features, self.n_components, self.covariance_type)

    def _fit_to(self, sketch: Sketch, hints: Hints | None, seed: int) -> FittedMixture:
        return fit_mixture(sketch, self.n_components, self.covariance_type, hints, self.n_init, seed)

    def _require_rows(self, count: float, weighted: bool = False) -> None:
        if count < self.n_components and not weighted:
            raise RowsError(f"n_samples={count} should be >= n_components={self.n_components}.")
