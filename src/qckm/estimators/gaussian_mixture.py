"""CompressiveGaussianMixture: a mixture of Gaussians from a sketch, with the surface of scikit-learn's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from qckm.common.arrays import Floats
from qckm.common.random import as_generator
from qckm.decoding.targets.gaussian_mixture import (
    COVARIANCE_TYPES,
    FittedMixture,
    choose_mixture_frequencies,
    fit_mixture,
)
from qckm.errors import RowsError
from qckm.estimators.base import Columns, CompressiveEstimator
from qckm.estimators.parameters import COUNT, SHARED, Expected, finite_rows, is_count, one_of
from qckm.models import Model
from qckm.models.gaussian_density import GaussianDensity
from qckm.planning.pilot import Pilot
from qckm.sources.rows import OnBad, engine_of

if TYPE_CHECKING:
    from sklearn.mixture import GaussianMixture


class CompressiveGaussianMixture(DensityMixin, CompressiveEstimator[FittedMixture]):
    """A mixture of Gaussians from a sketch: one pass over the rows.

    A pilot of at most 5000 rows is drawn before the pass, for the scale. A sample of 20 000 is kept in the pass, to
    decode with: the mixture is that of EM on its rows, weighted so that they have the sketch. `fit` forgets them then,
    `partial_fit` keeps them in memory. Rows are never pickled. `pilot=` says otherwise.

    Parameters
    ----------
    n_components : int, default 1
        K.
    covariance_type : {"full", "diag", "spherical"}, default "full"
        Any covariance, a variance for each column, or one variance.
    signature : str, Signature or callable, default "one-bit"
    n_frequencies : int or "auto", default "auto"
        m; "auto" takes six measurements per unknown, at least 100 frequencies. Fewer than two per unknown are refused.
    scale : float or "auto", default "auto"
        The kernel's length in data units; "auto" takes it from the pilot. Clusters are given a standard deviation of
        0.02 scales at least, in any direction, if no rows are decoded with: what is finer cannot be seen.
    law : str or Law, default "auto"
    init : {"auto", "sketch"}, default "auto"
        Whether the sample's rows are decoded with, where they can be weighted so that they have the sketch. "sketch"
        uses no row: weights, means and covariances are those whose sketch is nearest to the sketch.
    pilot : {"sample", "first"} or None, default "sample"
        Which rows may be kept. "sample" keeps a sample of all rows until they are decoded. "first" looks at rows, in
        `partial_fit` those of the first batch, for the scale only. None looks at no row before it is sketched: `scale`
        must be given, and phases count from 0.
    n_init : int, default 1
        A factor on the number of starts.
    device : {"auto", "cpu", "cuda", "cuda:1", …}, default "auto"
        Where rows are sketched: "auto" sketches rows where they lie, "cuda" copies rows of the host to a GPU.
    random_state : None, int or RandomState

    Attributes
    ----------
    weights_ : ndarray of shape (K,)
        Shares of the rows, the heaviest first.
    means_ : ndarray of shape (K, n)
    covariances_ : ndarray of shape (K, n, n), (K, n) or (K,)
        By covariance_type, as scikit-learn has them.
    excess_, excess_high_ : float
        How many nats per row less likely the rows are than in the mixture that EM of all rows would find: expected, and
        an upper limit; infinite where nothing is known.
    converged_ : bool
        Whether `excess_high_` is at most 0.2 nats per row.
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

    _least_sample = 20_000  # of fewer rows, covariances lose nats to those of all rows
    _parameters: ClassVar[dict[str, Expected]] = {
        **SHARED,
        "n_components": COUNT,
        "covariance_type": one_of(*COVARIANCE_TYPES),
        "n_init": COUNT,
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
        pilot: str | None = "sample",
        n_init: int = 1,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.signature = signature
        self.n_frequencies = n_frequencies
        self.scale = scale
        self.law = law
        self.init = init
        self.pilot = pilot
        self.n_init = n_init
        self.device = device
        self.random_state = random_state

    def fit_predict(
        self,
        X: object,
        y: object = None,
        sample_weight: object = None,
        *,
        columns: Columns = None,
        on_bad: OnBad = "error",
    ) -> npt.NDArray[np.int32]:
        """Fit, and return the most probable component of each row, −1 where it was left out."""
        self.fit(X, sample_weight=sample_weight, columns=columns, on_bad=on_bad)
        return self._labels_of_fitted(X, columns, self.to_model())

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the most probable component of each row, (rows,): of a Dask collection as a Dask array."""
        check_is_fitted(self)
        if engine_of(X):
            labels: npt.NDArray[np.int32] = self._held_by_engine(X).nearest(self.to_model())
            return labels
        return self._density().predict(finite_rows(self, X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each component, given a row, (rows, K)."""
        check_is_fitted(self)
        return self._density().predict_proba(finite_rows(self, X))

    def score_samples(self, X: Any) -> Floats:
        """Return the logarithm of the density at each row, (rows,): rows where it is low are anomalies."""
        check_is_fitted(self)
        return self._density().score_samples(finite_rows(self, X))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean logarithm of the density, in nats per row."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1) -> tuple[Floats, npt.NDArray[np.int32]]:
        """Draw rows (n_samples, n) from the mixture, and the component that each is of."""
        check_is_fitted(self)
        if not is_count(n_samples):
            raise RowsError(f"Expected n_samples to be a whole number >= 1, got {n_samples!r}.")
        return self._density().sample(int(n_samples), as_generator(self.random_state))

    def to_model(self) -> Model:
        """Return the mixture as a `qckm.Model`, to be saved as JSON, Parquet or .npz."""
        check_is_fitted(self)
        return Model.of_mixture(self._density(), self.operator_)

    def to_sklearn(self) -> GaussianMixture:
        """Return a fitted scikit-learn `GaussianMixture` with these weights, means and covariances."""
        return self.to_model().to_sklearn()

    @property
    def weights_(self) -> Floats:
        """The components' shares of the rows, (K,)."""
        return self._decode().weights

    @property
    def means_(self) -> Floats:
        """The components' means, (K, n)."""
        return self._decode().means

    @property
    def covariances_(self) -> Floats:
        """The components' covariances."""
        return self._decode().covariances

    @property
    def excess_(self) -> float:
        """What is expected to be lost to the best mixture, in nats per row."""
        return self._decode().excess

    @property
    def excess_high_(self) -> float:
        """An upper limit of `excess_`."""
        return self._decode().excess_high

    @property
    def explained_(self) -> float:
        """The share of the sketch's energy that the mixture explains."""
        return self._decode().explained

    def _density(self) -> GaussianDensity:
        found = self._decode()
        return GaussianDensity(found.weights, found.means, found.covariances)

    def _choose_n_frequencies(self, n_features: int) -> int:
        return choose_mixture_frequencies(n_features, self._n_clusters, self.covariance_type)

    def _decode_sketch(self, hints: Pilot | None) -> FittedMixture:
        if hints is not None and self.init == "sketch":
            hints = hints.without_rows()
        return fit_mixture(self.sketch_, self._n_clusters, self.covariance_type, hints, self.n_init, self._seed)
