"""CompressiveKMeans: the scikit-learn face. It validates, and hands on to the operator, the sketch and the decoder."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from qckm.common.arrays import Floats
from qckm.common.random import as_seed
from qckm.decoding.decode import (
    DECODERS,
    Clustering,
    Hints,
    decode_hinted,
    hints_of,
    require_sketch,
    warn_of_clipping,
)
from qckm.errors import DecodeError, RowsError, warn
from qckm.models import Model
from qckm.models.nearest import distances, nearest
from qckm.operator.laws import LAWS, Law
from qckm.operator.signatures import SIGNATURES, Signature
from qckm.planning.pilot import Pilot, choose_pilot_size, draw_pilot
from qckm.planning.plan import Plan, decoder_seed, plan_operator
from qckm.sketch import Sketch, SketchOperator
from qckm.sketch.runs import OnBad
from qckm.sources.engine_rows import HeldRows, engine_of, open_held
from qckm.sources.rows import as_rows, require_finite, require_no_mask, undisguised

if TYPE_CHECKING:
    from sklearn.cluster import KMeans


# Rows whose distances to the centroids are worked out at a time.
_BLOCK = 1 << 16


class CompressiveKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """K-means from a sketch: one pass over the rows, none of them kept.

    A pilot of at most 5000 rows (50 a cluster, where that is more) is drawn before the pass, for the scale, and decoded
    with after it. `fit` forgets it then. `partial_fit` keeps its pilot in memory, for the centroids that are asked for
    later; it is never pickled.

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
        Law of the frequencies; "auto" is "balanced-radius", for the exponential signature and in `partial_fit`, which
        sees the first rows only, "gaussian"; "concentrated-radius" where m < 3nK, or K ≥ 50 and n ≥ 5.
    decoder : {"auto", "matched", "clompr"}, default "auto"
        "matched" models clusters with width, through all harmonics of the signature; "clompr" is the paper's algorithm
        to the letter; "auto" is "matched".
    init : {"auto", "sketch", "pilot"} or array-like of shape (K, n), default "auto"
        What is decoded with: "auto" weighs the pilot's rows so that they reproduce the sketch (`qckm.calibrate`) and
        clusters them; where they cannot, points drawn from the sketch as well. "sketch" uses no row. "pilot" uses none
        either, but starts at the k-means centroids of the pilot, and an array at these centroids.
    n_init : int, default 1
        Replicates of "clompr", of which the one with the least sketch objective is kept; for "matched", which searches
        until it is satisfied, a factor on its patience.
    bounds : pair of array-like of shape (n,), optional
        The box (lower, upper) that holds the centroids; by default what was seen in the data.
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
        The nearest centroid of each row given to `fit`.
    inertia_ : float
        Sum of squared distances of the rows to their centroids, weighted.
    sketch_ : Sketch
        All that is left of the rows.
    operator_ : SketchOperator
    objective_ : float
        What is left of the sketch, squared: by the rows or points that were clustered, or by CL-OMPR's points.
    explained_ : float
        Share of the sketch's energy that K clusters explain: Gaussians, or CL-OMPR's points.
    converged_ : bool or None
        The decoder's verdict: whether the sketch settles where the centroids are.
    inertia_estimate_, inertia_error_ : float
        `inertia_` as far as the sketch tells, without another look at the rows, and its standard error. None for
        CL-OMPR, which models points.
    remarks_ : tuple of str
        What to know before relying on the centroids: why `converged_` is False, centroids that coincide or have no
        rows, a column beside which no other counts, fewer distinct rows than clusters.
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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012, scikit-learn's own convention
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "signature": [StrOptions(set(SIGNATURES)), Signature, callable],
        "n_frequencies": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "scale": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "law": [StrOptions({"auto", *LAWS}), Law],
        "decoder": [StrOptions(set(DECODERS))],
        "init": [StrOptions({"auto", "sketch", "pilot"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "bounds": [tuple, list, np.ndarray, None],
        "compute_labels": ["boolean"],
        "random_state": ["random_state", np.random.Generator],
    }

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
        n_init: int = 1,
        bounds: Any = None,
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
        self.n_init = n_init
        self.bounds = bounds
        self.compute_labels = compute_labels
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CompressiveKMeans:
        """Sketch the rows in one pass and decode the sketch.

        Parameters
        ----------
        X : array-like of shape (rows, n)
            Or rows that an engine holds: a Dask array, data frame or bag, a Spark DataFrame, a Ray dataset. They are
            sketched where they are; `labels_` are then a Dask array, and there are none for the others.
        y : ignored
        sample_weight : array-like of shape (rows,), optional

        Returns
        -------
        self
        """
        if engine_of(X):
            return self._fit_elsewhere(X, sample_weight, first=True)
        rows = self._validate(X, reset=True)
        weights = self._validate_weights(sample_weight, rows)
        if len(rows) < self.n_clusters:
            raise RowsError(f"n_samples={len(rows)} should be >= n_clusters={self.n_clusters}.")
        operator, pilot, seed = self._prepare(
            lambda rng: self._draw_pilot(rows, weights, rng, choose_pilot_size(self.n_clusters))
        )
        sketch = operator.sketch(rows, weights)
        self._adopt(sketch, pilot, seed)
        self._decode()
        self._forget_rows()
        if self.compute_labels:
            self._label(rows, weights)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CompressiveKMeans:
        """Add a batch of rows to the sketch. Nothing is decoded until centroids are asked for.

        The first batch draws the operator, so with scale="auto" it should be like the ones to come, and hold at least
        K rows. A batch that is refused changes nothing.

        Parameters
        ----------
        X : array-like of shape (rows, n)
        y : ignored
        sample_weight : array-like of shape (rows,), optional

        Returns
        -------
        self
        """
        first = not hasattr(self, "sketch_")
        if engine_of(X):
            return self._fit_elsewhere(X, sample_weight, first, decode=False)
        rows = self._validate(X, reset=first)
        weights = self._validate_weights(sample_weight, rows)
        if first:
            if self.scale == "auto" and len(rows) < self.n_clusters:
                raise RowsError(
                    f"The first batch sets the scale: n_samples={len(rows)} should be >= n_clusters={self.n_clusters}. "
                    "Begin with a larger batch, or pass scale=."
                )
            operator, pilot, seed = self._prepare(
                lambda rng: self._draw_pilot(rows, weights, rng, choose_pilot_size(self.n_clusters)), of_all=False
            )
            self._adopt(operator.sketch(rows, weights), pilot, seed)
        else:
            self._adopt(self.sketch_ + self.operator_.sketch(rows, weights), self._pilot, self._seed)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_sketch(self, sketch: Sketch, rows: Any = None) -> CompressiveKMeans:
        """Decode a sketch made elsewhere; its operator takes the place of signature, scale, law and n_frequencies.

        Of a sketch at several scales (`octaves`), the one that suits the data is decoded.

        Parameters
        ----------
        sketch : Sketch
        rows : array-like of shape (rows, n), optional
            Some of the rows that were sketched, or rows like them, which `init="auto"` then decodes with.

        Returns
        -------
        self
        """
        require_sketch(sketch)
        if isinstance(self.init, str) and self.init == "pilot":
            raise DecodeError("A sketch has no pilot rows: use init='sketch', 'auto', or centroids of your own.")
        seed = decoder_seed(as_seed(self.random_state))
        self.n_features_in_ = sketch.operator.n_features
        self.__dict__.pop("feature_names_in_", None)
        if sketch.operator.feature_names is not None:
            self.feature_names_in_ = np.array(sketch.operator.feature_names, object)
        self._adopt(sketch, None if rows is None else hints_of(sketch.operator, rows), seed)
        self._decode()
        self._forget_rows()
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> npt.NDArray[np.int32]:
        """Fit, and return the nearest centroid of each row."""
        self.fit(X, sample_weight=sample_weight)
        return self.labels_ if self.compute_labels else self.predict(X)

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the nearest centroid of each row, (rows,): of a Dask collection as a Dask array, not computed yet."""
        check_is_fitted(self)
        if engine_of(X):
            return self._opened(X).nearest(self.to_model())  # type: ignore[no-any-return]
        rows = self._validate(X, reset=False)
        return self._nearest(rows)[0]

    def transform(self, X: Any) -> Floats:
        """Return the distance of each row to each centroid, (rows, K)."""
        check_is_fitted(self)
        if engine_of(X):
            return self._opened(X).distances(self.to_model(), self.operator_.origin)  # type: ignore[no-any-return]
        rows = self._validate(X, reset=False)
        return distances(rows, self.cluster_centers_, self.operator_.origin, self.operator_.units)

    def to_model(self) -> Model:
        """Return the centroids as a `qckm.Model`, to be saved as JSON, CSV, Parquet or .npz."""
        check_is_fitted(self)
        return Model.of(self._decode(), self.operator_)

    def to_sklearn(self) -> KMeans:
        """Return a fitted scikit-learn `KMeans` with these centroids, e.g. for ONNX by skl2onnx."""
        return self.to_model().to_sklearn()

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the sum of squared distances of the rows to their centroids, weighted."""
        check_is_fitted(self)
        if engine_of(X):
            return -self._opened(X, sample_weight).misfit(self.to_model())[0]
        rows = self._validate(X, reset=False)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, rows)
        return -self._inertia(self._nearest(rows)[1], weights)

    @property
    def cluster_centers_(self) -> Floats:
        """The centroids, (K, n), the heaviest first."""
        return self._decode().centers

    @property
    def cluster_weights_(self) -> Floats:
        """The centroids' shares of the rows, (K,)."""
        return self._decode().weights

    @property
    def objective_(self) -> float:
        """The squared distance between the sketch and the model."""
        return self._decode().objective

    @property
    def explained_(self) -> float:
        """The share of the sketch's energy that K clusters explain."""
        return self._decode().explained

    @property
    def converged_(self) -> bool | None:
        """Whether the centroids explain the sketch; None where the decoder cannot say."""
        return self._decode().converged

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
    def n_iter_(self) -> int:
        """The evaluations of the objective."""
        return self._decode().n_iter

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters

    def _validate(self, X: Any, reset: bool) -> npt.NDArray[Any]:
        # Finiteness is checked where the rows are read anyway, and there the error can say which row.
        return as_rows(validate_data(self, undisguised(X), reset=reset, dtype="numeric", ensure_all_finite=False))

    def _validate_weights(self, sample_weight: Any, rows: npt.NDArray[Any]) -> Floats | None:
        if sample_weight is None:
            return None
        require_no_mask(sample_weight)
        weights: Floats = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise RowsError("Expected some sample_weight > 0, got zeros only: there are no rows to sketch.")
        return weights

    def _fit_elsewhere(self, X: Any, sample_weight: Any, first: bool, decode: bool = True) -> CompressiveKMeans:
        """Fit to rows that an engine holds: the sketch is made where they are, and decoded here."""
        if not first:
            more = self._opened(X, sample_weight).sketch(self.operator_)
            self._adopt(self.sketch_ + more, self._pilot, self._seed)
            return self
        return self.fit_partitions(open_held(X, sample_weight=sample_weight), decode=decode)

    def fit_partitions(self, held: HeldRows, on_bad: OnBad = "error", decode: bool = True) -> CompressiveKMeans:
        """Fit to rows that an engine holds; `fit` and `partial_fit` call this for Dask, Spark and Ray.

        Parameters
        ----------
        held : HeldRows
            What `qckm.engines.open_partitions` gives.
        on_bad : {"error", "skip"}
            Rows with a null, NaN or infinity: refuse, or leave out and count in the sketch's `skipped`.
        decode : bool, default True
            Whether to decode at once, and to label the rows if that is asked for.

        Returns
        -------
        self
        """
        self.n_features_in_ = held.n_features
        self.__dict__.pop("feature_names_in_", None)
        if held.names is not None:
            self.feature_names_in_ = np.array(held.names, object)
        operator, pilot, seed = self._prepare(held.pilot)
        sketch = held.sketch(operator, on_bad)
        if sketch.count < self.n_clusters and not held.weighted:
            raise RowsError(f"n_samples={sketch.count} should be >= n_clusters={self.n_clusters}.")
        self._adopt(sketch, pilot, seed)
        if decode:
            self._decode()
            self._forget_rows()
            if self.compute_labels and held.lazy:
                self.inertia_, used = held.misfit(self.to_model())
                self.labels_ = held.nearest(self.to_model())
                self._warn_of_unused(int((used > 0).sum()))
        return self

    def _opened(self, X: Any, sample_weight: Any = None) -> HeldRows:
        """Return rows that an engine holds, if their columns are those of the fit."""
        held = open_held(X, sample_weight=sample_weight)
        held.require_columns(self.operator_)
        return held

    @staticmethod
    def _draw_pilot(rows: npt.NDArray[Any], weights: Floats | None, rng: np.random.Generator, size: int) -> Pilot:
        try:
            return draw_pilot(rows, weights, rng, size)
        except RowsError:  # the pilot holds a NaN or an infinity: name the row in the user's own numbering
            for start in range(0, len(rows), _BLOCK):
                block = rows[start : start + _BLOCK]
                require_finite(block, block.min(axis=0), block.max(axis=0), start)
            raise

    def _prepare(
        self, draw: Callable[[np.random.Generator], Pilot], of_all: bool = True
    ) -> tuple[SketchOperator, Hints | None, int]:
        """Draw the operator from a pilot, of all rows or the first; return it with its hints and the decoder's seed."""
        names = getattr(self, "feature_names_in_", None)
        plan = Plan(
            n_clusters=self.n_clusters,
            n_frequencies=None if self.n_frequencies == "auto" else self.n_frequencies,
            scale=None if self.scale == "auto" else self.scale,
            law=self.law,
            signature=self.signature,
            seed=as_seed(self.random_state),
        )
        columns = range(self.n_features_in_) if names is None else names
        planned = plan_operator([str(name) for name in columns], names, draw, plan, want_hints=True, of_all=of_all)
        return planned.operator, planned.hints, decoder_seed(plan.seed)

    def _adopt(self, sketch: Sketch, pilot: Hints | None, seed: int) -> None:
        """Take a new sketch in one go; what was decoded from the old one is void."""
        warn_of_clipping(sketch)
        for stale in ("_clustering", "labels_", "inertia_"):
            self.__dict__.pop(stale, None)
        self.sketch_, self.operator_ = sketch, sketch.operator
        self._pilot, self._seed = pilot, seed

    def _forget_rows(self) -> None:
        """Keep what the pilot told, and none of its rows."""
        self._pilot = None if self._pilot is None else self._pilot.without_rows()

    def __getstate__(self) -> dict[str, Any]:
        """Rows do not travel: where `partial_fit` keeps some to decode with, its copies decode the sketch alone."""
        state: dict[str, Any] = super().__getstate__()
        if state.get("_pilot") is not None:
            state["_pilot"] = state["_pilot"].without_rows()
        return state

    def _decode(self) -> Clustering:
        """Decode the sketch unless that is done."""
        if not hasattr(self, "sketch_"):
            raise NotFittedError(
                "This CompressiveKMeans instance is not fitted yet. Call 'fit', 'partial_fit' or 'fit_sketch' first."
            )
        if "_clustering" not in self.__dict__:
            how: dict[str, Any] = {
                "bounds": self.bounds,
                "decoder": self.decoder,
                "n_init": self.n_init,
                "random_state": self._seed,
            }
            self._clustering = decode_hinted(self.sketch_, self.n_clusters, self._pilot, self.init, **how)
        return self._clustering

    def _label(self, rows: npt.NDArray[Any], weights: Floats | None) -> None:
        self.labels_, squares = self._nearest(rows)
        self.inertia_ = self._inertia(squares, weights)
        self._warn_of_unused(np.unique(self.labels_).size)

    def _warn_of_unused(self, used: int) -> None:
        if used < self.n_clusters:
            warn(
                f"Only {used} of {self.n_clusters} centroids are the nearest of some row: fewer distinct rows than "
                "n_clusters, or a search that missed some (raise n_init or n_frequencies).",
                ConvergenceWarning,
            )

    def _nearest(self, rows: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], Floats]:
        """Return the nearest centroid of each row and the squared distance to it, in units."""
        units = self.operator_.units
        if (units == 1).all():
            return nearest(rows, self.cluster_centers_)
        return nearest(rows / units, self.cluster_centers_ / units)

    @staticmethod
    def _inertia(squares: Floats, weights: Floats | None) -> float:
        return float(squares.sum() if weights is None else weights @ squares)
