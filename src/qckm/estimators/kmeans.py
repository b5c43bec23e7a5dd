"""CompressiveKMeans: k-means from a sketch, with the surface of scikit-learn's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from qckm.clustering.centroids import distances, nearest
from qckm.common.arrays import Floats, Rows, Weights
from qckm.decoding.targets.clustering import Clustering
from qckm.decoding.targets.kmeans import DECODERS, decode_hinted
from qckm.errors import warn
from qckm.estimators.base import Columns, CompressiveTransformer
from qckm.estimators.parameters import COUNT, SHARED, Expected, one_of, validate_rows, validate_weights
from qckm.models import Model
from qckm.planning.held_rows import ArrayRows, HeldRows
from qckm.planning.pilot import Pilot
from qckm.sources.rows import OnBad, engine_of

if TYPE_CHECKING:
    from sklearn.cluster import KMeans


class CompressiveKMeans(ClusterMixin, CompressiveTransformer[Clustering]):
    """K-means from a sketch: one pass over the rows, and a few of them to decode it with.

    A pilot of at most 5000 rows (50 per cluster, where that is more) is drawn before the pass, for the scale. A sample
    of four times as many, those far from the pilot's mean likelier than others, is drawn in the pass, and as many as
    the pilot has are decoded with after it. `fit` forgets them then, `partial_fit` keeps them in memory for the
    centroids that are asked for later. Rows are never pickled. `pilot=` says otherwise.

    Parameters
    ----------
    n_clusters : int, default 8
        K.
    signature : str, Signature or callable, default "one-bit"
        "one-bit" is QCKM, "exponential" CKM; see `qckm.signatures`.
    n_frequencies : int or "auto", default "auto"
        m; "auto" takes 5·n·K, at least 100; fewer, down to 2·n·K, where n·m would be more than 2²⁶.
    scale : float or "auto", default "auto"
        The kernel's length in data units; "auto" takes it from a pilot of at most 5000 rows, drawn from all rows in
        `fit`, from the first batch in `partial_fit`.
    law : str or Law, default "auto"
        Law of the frequencies; "auto" is "integer-balanced", for the exponential signature and in `partial_fit`, which
        sees the first rows only, "integer-gaussian"; "integer-concentrated" where m < 3nK, or K ≥ 50 and n ≥ 5.
    decoder : {"auto", "matched", "clompr"}, default "auto"
        "matched" models clusters with width, through all harmonics of the signature; "clompr" is the paper's algorithm
        to the letter; "auto" is "matched".
    init : {"auto", "sketch", "pilot"} or array-like of shape (K, n), default "auto"
        What is decoded with: "auto" weighs the sample's rows so that they reproduce the sketch (`qckm.calibrate`) and
        clusters them; where they cannot, points drawn from the sketch as well. "sketch" uses no row. "pilot" uses none
        either, but starts at the k-means centroids of the pilot, and an array at these centroids.
    pilot : {"sample", "first"} or None, default "sample"
        Which rows may be kept. "sample" keeps a sample of all rows until they are decoded. "first" looks at rows, in
        `partial_fit` those of the first batch, for the scale only: none of them outlasts the call, and the sketch is
        decoded alone. None looks at no row before it is sketched: `scale` must be given, and phases count from 0.
    n_init : int, default 1
        Replicates of "clompr", of which the one with the least sketch objective is kept; for "matched", which searches
        until it is satisfied, a factor on its patience.
    bounds : pair of array-like of shape (n,), optional
        The box (lower, upper) that holds the centroids; by default what was seen in the data.
    device : {"auto", "cpu", "cuda", "cuda:1", …}, default "auto"
        Where rows are sketched: "auto" sketches rows where they lie, "cuda" copies rows of the host to a GPU. Sums do
        not depend on it.
    compute_labels : bool, default True
        Whether `fit` looks at the rows a second time, for `labels_` and `inertia_`.
    random_state : None, int or RandomState
        With an int, results are the same whatever the number of threads. The operator depends on the pilot's rows, too:
        sketches of two fits do not add up. Sketch with the `operator_` of one of them instead.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (K, n)
        The centroids, the heaviest first. Decoded when first asked for after `partial_fit`.
    cluster_weights_ : ndarray of shape (K,)
        Shares of the rows, as the decoder sees them.
    labels_ : ndarray of shape (rows,)
        The nearest centroid of each row given to `fit`, −1 of a row that was left out (`on_bad="skip"`). Of rows that
        Dask holds, a Dask array; there are none of rows that Spark or Ray hold, or that are read in batches.
    inertia_ : float
        Sum of squared distances of the rows to their centroids, weighted.
    sketch_ : Sketch
        All that is left of the rows.
    operator_ : SketchOperator
    objective_ : float
        What is left of the sketch, squared: by the rows or points that were clustered, or by CL-OMPR's points.
    explained_ : float
        Share of the sketch's energy that K clusters explain: Gaussians, or CL-OMPR's points.
    excess_, excess_high_ : float
        By which share the SSE is expected to be above that of the best K centroids (0.02 is 2 %), and an upper 90 %
        limit; None for CL-OMPR.
    converged_ : bool or None
        The decoder's verdict: whether `excess_high_` is 0.2 or less.
    inertia_estimate_, inertia_error_ : float
        `inertia_` as far as the sketch tells, without another look at the rows, and its standard error. None for
        CL-OMPR, which models points.
    remarks_ : tuple of str
        What to know before relying on the centroids: centroids that coincide or have no
        rows, a column beside which no other counts, one that numbers or names rows, rows that are all the same.
    n_iter_ : int
        Evaluations of the objective.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n,)
        Where the rows had column names.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)) + 8 * rng.integers(0, 3, size=(3000, 1))
    >>> km = qckm.CompressiveKMeans(n_clusters=3, random_state=0).fit(X)
    >>> sorted(km.cluster_centers_[:, 0].round().astype(int).tolist())
    [0, 8, 16]
    >>> km.predict([[0.0, 0.0], [0.5, 0.5]]).tolist() == [km.labels_[X.sum(axis=1).argmin()]] * 2
    True
    """

    _counted = "n_clusters"
    _parameters: ClassVar[dict[str, Expected]] = {
        **SHARED,
        "n_clusters": COUNT,
        "decoder": one_of(*DECODERS),
        "init": Expected(
            "'auto', 'sketch', 'pilot' or centroids",
            lambda value: value in ("auto", "sketch", "pilot") if isinstance(value, str) else np.ndim(value) == 2,
        ),
        "n_init": COUNT,
        "compute_labels": Expected("True or False", lambda value: isinstance(value, (bool, np.bool_))),
    }
    labels_: npt.NDArray[np.int32]
    inertia_: float

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        signature: Any = "one-bit",
        n_frequencies: Any = "auto",
        scale: Any = "auto",
        law: Any = "auto",
        decoder: str = "auto",
        init: Any = "auto",
        pilot: str | None = "sample",
        n_init: int = 1,
        bounds: Any = None,
        device: str = "auto",
        compute_labels: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.signature = signature
        self.n_frequencies = n_frequencies
        self.scale = scale
        self.law = law
        self.decoder = decoder
        self.init = init
        self.pilot = pilot
        self.n_init = n_init
        self.bounds = bounds
        self.device = device
        self.compute_labels = compute_labels
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
        """Fit, and return the nearest centroid of each row, −1 where it was left out."""
        self.fit(X, sample_weight=sample_weight, columns=columns, on_bad=on_bad)
        return self.labels_ if hasattr(self, "labels_") else self._labels_of_fitted(X, columns, self.to_model())

    def predict(self, X: object) -> npt.NDArray[np.int32]:
        """Return the nearest centroid of each row, (rows,): of a Dask collection as a Dask array, not computed yet."""
        check_is_fitted(self)
        if engine_of(X):
            labels: npt.NDArray[np.int32] = self._held_by_engine(X).nearest(self.to_model())
            return labels
        return self._nearest(validate_rows(self, X, reset=False))[0]

    def transform(self, X: object) -> Floats:
        """Return the distance of each row to each centroid, (rows, K)."""
        check_is_fitted(self)
        if engine_of(X):
            found: Floats = self._held_by_engine(X).distances(self.to_model(), self.operator_.origin)
            return found
        rows = validate_rows(self, X, reset=False)
        return distances(rows, self.cluster_centers_, self.operator_.origin, self.operator_.units)

    def score(self, X: object, y: object = None, sample_weight: object = None) -> float:
        """Return minus the sum of squared distances of the rows to their centroids, weighted."""
        check_is_fitted(self)
        if engine_of(X):
            return -float(self._held_by_engine(X, sample_weight).misfit(self.to_model())[0])
        rows = validate_rows(self, X, reset=False)
        return -_inertia(self._nearest(rows)[1], validate_weights(sample_weight, rows))

    def to_model(self) -> Model:
        """Return the centroids as a `qckm.Model`, to be saved as JSON, CSV, Parquet or .npz."""
        check_is_fitted(self)
        return self._decode().to_model()

    def to_sklearn(self) -> KMeans:
        """Return a fitted scikit-learn `KMeans` with these centroids, e.g. for ONNX by skl2onnx."""
        return self.to_model().to_sklearn()

    @property
    def cluster_centers_(self) -> Floats:
        """The centroids, (K, n), the heaviest first."""
        return self._decode().centers

    @property
    def cluster_weights_(self) -> Floats:
        """The centroids' shares of the rows, (K,)."""
        return self._decode().weights

    @property
    def explained_(self) -> float:
        """The share of the sketch's energy that K clusters explain."""
        return self._decode().explained

    @property
    def excess_(self) -> float | None:
        """By which share the SSE is expected to be above that of the best K centroids."""
        return self._decode().excess

    @property
    def excess_high_(self) -> float | None:
        """The upper 90 % limit of `excess_`."""
        return self._decode().excess_high

    @property
    def inertia_estimate_(self) -> float | None:
        """The sum of squared distances of all rows to their centroids, as far as the sketch tells."""
        return self._decode().inertia

    @property
    def inertia_error_(self) -> float | None:
        """The standard error of `inertia_estimate_`."""
        return self._decode().inertia_error

    @property
    def remarks_(self) -> tuple[str, ...]:
        """What to know before relying on the centroids, in words; empty where all is well."""
        return self._decode().remarks

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters

    def _decode_sketch(self, hints: Pilot | None) -> Clustering:
        how = (self.init, self.bounds, self.decoder, self.n_init, self._seed)
        return decode_hinted(self.sketch_, self._n_clusters, hints, *how)

    def _label(self, held: HeldRows) -> None:
        """Find the nearest centroids of the rows, and warn of centroids that are no row's nearest."""
        if not self.compute_labels:
            return
        if isinstance(held, ArrayRows):
            rows, weights = held.rows, held.weights
            self.labels_ = np.full(len(rows), -1, np.int32)
            good = np.isfinite(rows).all(axis=1) if self.sketch_.skipped else slice(None)
            self.labels_[good], squares = self._nearest(rows[good])
            self.inertia_ = _inertia(squares, None if weights is None else weights[good])
            used = np.unique(self.labels_[good]).size
        elif held.lazy:
            there: Any = held  # with an engine
            self.inertia_, counts = there.misfit(self.to_model())
            self.labels_ = there.nearest(self.to_model())
            used = int((counts > 0).sum())
        else:
            return
        if used < self.n_clusters:
            warn(
                f"Only {used} of {self.n_clusters} centroids are the nearest of some row: fewer distinct rows than "
                "n_clusters, or a search that missed some (raise n_init or n_frequencies).",
                ConvergenceWarning,
            )

    def _nearest(self, rows: Rows) -> tuple[npt.NDArray[np.int32], Floats]:
        """Return the nearest centroid of each row and the squared distance to it, in units."""
        units = self.operator_.units
        if (units == 1).all():
            return nearest(rows, self.cluster_centers_)
        return nearest(rows / units, self.cluster_centers_ / units)


def _inertia(squares: Floats, weights: Weights | None) -> float:
    return float(squares.sum() if weights is None else weights @ squares)
