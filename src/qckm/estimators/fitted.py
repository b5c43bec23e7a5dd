"""What a fitted estimator answers: centroids and weights, decoded when first asked for, labels, distances, scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from qckm.clustering.nearest import distances, nearest
from qckm.common.arrays import Floats, Rows
from qckm.decoding.decode import Clustering, Hints, decode_hinted, warn_of_clipping
from qckm.errors import QckmError, SampleLostWarning, warn
from qckm.estimators.validation import validate_rows
from qckm.kernels.placement import computing_on
from qckm.models import Model
from qckm.planning.row_sample import RowSample
from qckm.sketch import Sketch, SketchOperator
from qckm.sources.engine_rows import HeldRows, engine_of, open_held

if TYPE_CHECKING:
    from sklearn.cluster import KMeans


class FittedKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """A sketch, how it is decoded, and what its centroids say of rows."""

    n_clusters: int
    decoder: str
    init: Any
    n_init: int
    bounds: Any
    pilot: str | None
    device: str
    sketch_: Sketch
    operator_: SketchOperator
    labels_: npt.NDArray[np.int32]
    inertia_: float
    _pilot: Hints | None
    _seed: int
    _sample: RowSample | None

    def predict(self, X: object) -> npt.NDArray[np.int32]:
        """Return the nearest centroid of each row, (rows,): of a Dask collection as a Dask array, not computed yet."""
        check_is_fitted(self)
        if engine_of(X):
            labels: npt.NDArray[np.int32] = self._opened(X).nearest(self.to_model())
            return labels
        rows = validate_rows(self, X, reset=False)
        return self._nearest(rows)[0]

    def transform(self, X: object) -> Floats:
        """Return the distance of each row to each centroid, (rows, K)."""
        check_is_fitted(self)
        if engine_of(X):
            found: Floats = self._opened(X).distances(self.to_model(), self.operator_.origin)
            return found
        rows = validate_rows(self, X, reset=False)
        return distances(rows, self.cluster_centers_, self.operator_.origin, self.operator_.units)

    def to_model(self) -> Model:
        """Return the centroids as a `qckm.Model`, to be saved as JSON, CSV, Parquet or .npz."""
        check_is_fitted(self)
        return Model.of(self._decode(), self.operator_)

    def to_sklearn(self) -> KMeans:
        """Return a fitted scikit-learn `KMeans` with these centroids, e.g. for ONNX by skl2onnx."""
        return self.to_model().to_sklearn()

    def score(self, X: object, y: object = None, sample_weight: object = None) -> float:
        """Return minus the sum of squared distances of the rows to their centroids, weighted."""
        check_is_fitted(self)
        if engine_of(X):
            return -self._opened(X, sample_weight).misfit(self.to_model())[0]
        rows = validate_rows(self, X, reset=False)
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

    def _set_columns(self, n_features: int, names: tuple[str, ...] | None) -> None:
        """Note the columns, as scikit-learn does where it validates rows."""
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, object)

    def _adopt(self, sketch: Sketch, pilot: Hints | None, seed: int, sample: RowSample | None = None) -> None:
        """Take a new sketch in one go, with what a pilot tells of it, and the sample to decode with if it goes on.

        What was decoded from the old one is void.
        """
        warn_of_clipping(sketch)
        for stale in ("_clustering", "labels_", "inertia_"):
            self.__dict__.pop(stale, None)
        self.sketch_, self.operator_ = sketch, sketch.operator
        self._pilot, self._seed = pilot, seed
        self._sample = sample if self.pilot == "sample" else None

    def _forget_rows(self) -> None:
        """Keep what the pilot told, and none of its rows."""
        self._pilot = None if self._pilot is None else self._pilot.without_rows()
        self._sample = None

    def __getstate__(self) -> dict[str, Any]:
        """Rows do not travel: where `partial_fit` keeps some to decode with, its copies decode the sketch alone."""
        state: dict[str, Any] = super().__getstate__()
        if state.get("_pilot") is not None:
            state["_pilot"] = state["_pilot"].without_rows()
        if state.get("_sample") is not None:
            state["_sample"], state["_left_its_rows"] = None, True
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
            with computing_on(self.device):
                self._clustering = decode_hinted(self.sketch_, self.n_clusters, self._hints(), self.init, **how)
        return self._clustering

    def _hints(self) -> Hints | None:
        """Return what the pilot tells, with a sample of all rows so far where there is one."""
        if self.__dict__.pop("_left_its_rows", False):
            warn(
                "This copy of a CompressiveKMeans has a sketch of its rows, but not the sample that partial_fit kept: "
                "rows are not pickled. The sketch is decoded alone.",
                SampleLostWarning,
            )
        if self._sample is None or self._pilot is None:
            return self._pilot
        try:
            pilot = self._sample.pilot()
        except QckmError:  # a row whose square is no number: the sketch has clipped it, and said so
            return self._pilot.without_rows()
        return replace(self._pilot, rows=pilot.rows, weights=pilot.weights)

    def _opened(self, X: object, sample_weight: object = None) -> HeldRows:
        """Return rows that an engine holds, if their columns are those of the fit."""
        held = open_held(X, sample_weight=sample_weight)
        held.require_columns(self.operator_)
        return held

    def _label(self, rows: Rows, weights: Floats | None) -> None:
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

    def _nearest(self, rows: Rows) -> tuple[npt.NDArray[np.int32], Floats]:
        """Return the nearest centroid of each row and the squared distance to it, in units."""
        units = self.operator_.units
        if (units == 1).all():
            return nearest(rows, self.cluster_centers_)
        return nearest(rows / units, self.cluster_centers_ / units)

    @staticmethod
    def _inertia(squares: Floats, weights: Floats | None) -> float:
        return float(squares.sum() if weights is None else weights @ squares)
